#include "runtime/events/perf_descriptors.hpp"

#include "runtime/system/system_calls.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>

namespace culprit::runtime {
namespace {

bool is_inherited_perf_event(long directory, const char* name, int number) {
  constexpr char kTarget[] = "anon_inode:[perf_event]";
  char target[sizeof kTarget] = "";
  if (system_call(SYS_readlinkat, directory, word(name), word(target), sizeof target) != sizeof kTarget - 1)
    return false;
  return memcmp(target, kTarget, sizeof kTarget - 1) == 0 &&
         (system_call(SYS_fcntl, number, F_GETFD) & FD_CLOEXEC) == 0;
}

}  // namespace

bool PerfDescriptors::has(int number) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (numbers[i] == number) return true;
  }
  return false;
}

void find_perf_descriptors(PerfDescriptors& found) {
  found.count = 0;
  const long directory =
      system_call(SYS_openat, AT_FDCWD, word("/proc/self/fd"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  alignas(dirent64) char block[4096];
  long size = 0;
  while ((size = system_call(SYS_getdents64, directory, word(block), sizeof block)) > 0) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(block + at);
      at += entry->d_reclen;
      char* end = nullptr;
      const int number = static_cast<int>(strtol(entry->d_name, &end, 10));
      if (end == entry->d_name || found.count == PerfDescriptors::kMax) continue;
      if (is_inherited_perf_event(directory, entry->d_name, number)) found.numbers[found.count++] = number;
    }
  }
  system_call(SYS_close, directory);
}

void close_on_exec(const PerfDescriptors& before, PerfDescriptors& after) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < after.count; ++i) {
    if (before.has(after.numbers[i])) continue;
    system_call(SYS_fcntl, after.numbers[i], F_SETFD, FD_CLOEXEC);
    after.numbers[kept++] = after.numbers[i];
  }
  after.count = kept;
}

void silence(const PerfDescriptors& events) {
  for (std::size_t i = 0; i < events.count; ++i)
    system_call(SYS_ioctl, events.numbers[i], PERF_EVENT_IOC_DISABLE, 0);
}

void resume(const PerfDescriptors& events) {
  constexpr long kOneSignal = 1;
  for (std::size_t i = 0; i < events.count; ++i)
    system_call(SYS_ioctl, events.numbers[i], PERF_EVENT_IOC_REFRESH, kOneSignal);
}

}  // namespace culprit::runtime
