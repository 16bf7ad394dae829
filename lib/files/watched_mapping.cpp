#include "files/watched_mapping.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <system_error>
#include <utility>

#include <sys/mman.h>

namespace culprit::files {
namespace {

/// A handler of signals goes through them. Of more at one time, the last are not watched.
std::array<std::atomic<const WatchedMapping*>, 128> mappings;
static_assert(std::atomic<const WatchedMapping*>::is_always_lock_free);

void replace(const WatchedMapping* old, const WatchedMapping* by) noexcept {
  for (auto& slot : mappings) {
    const WatchedMapping* expected = old;
    if (slot.compare_exchange_strong(expected, by)) return;
  }
}

}  // namespace

WatchedMapping::WatchedMapping(const std::filesystem::path& path, Descriptor descriptor, bool growing)
    : path_(path.string()), descriptor_(std::move(descriptor)), growing_(growing) {
  const auto fail = [&] { throw std::system_error(errno, std::generic_category(), path_); };
  if (::fstat(descriptor_.get(), &status_) != 0) fail();
  const auto size = static_cast<std::size_t>(status_.st_size);
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_.get(), 0);
  if (address == MAP_FAILED) fail();
  bytes_ = {static_cast<const std::byte*>(address), size};
  replace(nullptr, this);
}

WatchedMapping::~WatchedMapping() {
  replace(this, nullptr);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

bool WatchedMapping::changed() const noexcept {
  if (growing_) return false;
  struct stat now {};
  if (::fstat(descriptor_.get(), &now) != 0)
    return false;  // a server that does not answer has changed nothing
  return now.st_size != status_.st_size || now.st_mtim.tv_sec != status_.st_mtim.tv_sec ||
         now.st_mtim.tv_nsec != status_.st_mtim.tv_nsec;
}

const WatchedMapping* WatchedMapping::find_broken(const void* address) noexcept {
  const auto* const at = static_cast<const std::byte*>(address);
  for (const auto& slot : mappings) {
    const WatchedMapping* const mapping = slot.load();
    if (mapping == nullptr) continue;
    const std::less<> before;
    const std::span<const std::byte> bytes = mapping->bytes_;
    const bool within = !before(at, bytes.data()) && before(at, bytes.data() + bytes.size());
    if (within || mapping->changed()) return mapping;
  }
  return nullptr;
}

}  // namespace culprit::files
