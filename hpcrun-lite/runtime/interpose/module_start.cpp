// The first code of a module that runs is _init of crti.o, before its constructors. It calls __gmon_start__
// where somebody defines that; only profiled programs (-pg) do, and theirs comes before ours then. So we hear
// of every library when it is relocated and before it calls anything, without standing in the way of dlopen,
// which looks at who calls it.
#include "runtime/modules/call_slots.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/export.hpp"

#include <cerrno>

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that crti.o calls
CULPRIT_EXPORT void __gmon_start__() {
  const int error = errno;
  culprit::runtime::note_modules_of_start();
  if (culprit::runtime::process.active) culprit::runtime::redirect_calls_of(__builtin_return_address(0));
  errno = error;
}
