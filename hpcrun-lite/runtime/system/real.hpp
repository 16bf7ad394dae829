#pragma once

#include "runtime/system/found_function.hpp"

#include <atomic>

namespace culprit::runtime {

/// The name of an interposed function, and where the function that it stands before was found.
struct NextFunction {
  const char* name;
  std::atomic<void*> address;

  /// The next definition of the name: null where there is none (yet), and then looked for again. Takes the
  /// loader's lock where it is not known.
  void* find();
};

/// Every Real is declared with this mark, by which find_all_next() knows it.
#define CULPRIT_REAL __attribute__((section("culprit_real")))

/// Looks all of them up, at the start of the process. Later may be too late: the constructor of a library
/// that is being loaded may wait for a thread, and that thread's first call of a function of ours would wait
/// for the loader; a signal handler may have interrupted the loader.
void find_all_next();

/// The function that an interposed function stands before.
template <typename Signature>
using Real = FoundFunction<NextFunction, Signature>;

}  // namespace culprit::runtime
