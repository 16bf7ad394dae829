// When processes of a window gave locks back or opened their memory, in shared memory (docs/algorithms.md 6).
#include "mpi/window_releases.hpp"

#include "mpi/members.hpp"
#include "mpi/occurrence.hpp"
#include "runtime/system/system_calls.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace culprit::mpi {
namespace {

using runtime::system_call;
using runtime::word;

constexpr std::size_t kNameSize = 48;
constexpr std::size_t kPathSize = 96;

void write_name(char (&name)[kNameSize], std::uint64_t number) {
  snprintf(name, sizeof name, "culprit-window-%016" PRIx64, number);
}

/// Whether a path in /proc is that table: the process may be another one, on another host or in another
/// container.
bool leads_to(const char* path, std::uint64_t number) {
  char name[kNameSize];
  char wanted[kPathSize];
  char found[kPathSize] = "";
  write_name(name, number);
  snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
  if (readlink(path, found, sizeof found - 1) < 0) return false;
  return strcmp(found, wanted) == 0;
}

}  // namespace

bool WindowReleases::map(int descriptor, std::uint32_t size) {
  const long at = system_call(SYS_mmap, 0, static_cast<long>(bytes(size)), PROT_READ | PROT_WRITE, MAP_SHARED,
                              descriptor, 0);
  if (at < 0) return false;
  table_ = reinterpret_cast<Table*>(at);
  return true;
}

WindowReleases::Invitation WindowReleases::make(std::uint32_t size) {
  if (size < 2 || size > kMostProcesses) return {};
  const auto process = static_cast<std::uint64_t>(getpid());
  const std::uint64_t number =
      mixed(mixed(process, monotonic_time()), reinterpret_cast<std::uintptr_t>(this));
  char name[kNameSize];
  write_name(name, number);
  const int descriptor = static_cast<int>(system_call(SYS_memfd_create, word(name), MFD_CLOEXEC));
  if (descriptor < 0) return {};
  if (ftruncate(descriptor, static_cast<off_t>(bytes(size))) != 0 || !map(descriptor, size)) {
    ::close(descriptor);
    return {};
  }
  descriptor_ = descriptor + 1;
  table_->size = size;
  table_->joined.store(1, std::memory_order_relaxed);
  return {.process = process, .descriptor = static_cast<std::uint64_t>(descriptor), .name = number};
}

void WindowReleases::join(const Invitation& invitation, std::uint32_t size) {
  if (invitation.process == 0) return;
  char path[kPathSize];
  snprintf(path, sizeof path, "/proc/%" PRIu64 "/fd/%" PRIu64, invitation.process, invitation.descriptor);
  if (!leads_to(path, invitation.name)) return;
  const int descriptor = open(path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status {};
  if (fstat(descriptor, &status) == 0 && status.st_size == static_cast<off_t>(bytes(size)) &&
      map(descriptor, size))
    table_->joined.fetch_add(1, std::memory_order_relaxed);
  ::close(descriptor);
}

void WindowReleases::close() {
  if (descriptor_ != 0) ::close(descriptor_ - 1);
  descriptor_ = 0;
}

void WindowReleases::leave() {
  close();
  if (table_ != nullptr)
    system_call(SYS_munmap, static_cast<long>(reinterpret_cast<std::uintptr_t>(table_)),
                static_cast<long>(bytes(table_->size)));
  table_ = nullptr;
}

void WindowReleases::add(Releases& releases, const Release& release) {
  const std::uint32_t slot = releases.count.fetch_add(1, std::memory_order_relaxed) % kRemembered;
  releases.by[slot].store(release.by, std::memory_order_relaxed);
  releases.at_ns[slot].store(release.at_ns, std::memory_order_release);
}

void WindowReleases::find_last(const Releases& releases, std::uint64_t after_ns, std::uint64_t before_ns,
                               Release& last) {
  for (std::uint32_t i = 0; i < kRemembered; ++i) {
    const std::uint64_t at = releases.at_ns[i].load(std::memory_order_acquire);
    if (at > after_ns && at < before_ns && at > last.at_ns)
      last = {.at_ns = at, .by = releases.by[i].load(std::memory_order_relaxed)};
  }
}

void WindowReleases::lock_released(int target, bool exclusive, const Release& release) {
  Target& there = (*table_)[target];
  add(exclusive ? there.exclusive : there.shared, release);
}

Release WindowReleases::last_lock(int target, bool exclusive, std::uint64_t after_ns,
                                  std::uint64_t before_ns) const {
  Release last{};
  const Target& there = (*table_)[target];
  find_last(there.exclusive, after_ns, before_ns, last);
  if (exclusive) find_last(there.shared, after_ns, before_ns, last);
  return last;
}

void WindowReleases::posted(int target, const Release& release) {
  add((*table_)[target].posts, release);
}

Release WindowReleases::last_post(int target, std::uint64_t after_ns, std::uint64_t before_ns) const {
  Release last{};
  find_last((*table_)[target].posts, after_ns, before_ns, last);
  return last;
}

}  // namespace culprit::mpi
