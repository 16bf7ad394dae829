#include "measurement/arena.hpp"

#include "measurement/live_layout.hpp"
#include "measurement/raw_memory.hpp"
#include "measurement/record_checksums.hpp"

#include <cerrno>

#include <sys/resource.h>

namespace culprit::measurement {
namespace {

// Of a limited address space the program keeps nearly all: one arena, of which each thread has one, takes no
// more than this part.
constexpr std::uint64_t kAddressSpaceShare = 512;

std::uint64_t round_up(std::uint64_t bytes) noexcept {
  return (bytes + layout::kGranule - 1) / layout::kGranule * layout::kGranule;
}

}  // namespace

int Arena::reserve(std::uint64_t bytes, std::uint64_t least) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::uint64_t share = limit.rlim_cur / kAddressSpaceShare;
    if (bytes > share) bytes = share > least ? share : least;
  }
  for (bytes = round_up(bytes); bytes >= least; bytes = round_up(bytes / 2)) {
    void* range = raw_map(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    if (range != MAP_FAILED) {
      base_ = static_cast<std::byte*>(range);
      reserved_ = bytes;
      sequence_ = 0;
      exhausted_.store(false, std::memory_order_relaxed);
      limit_.store(0, std::memory_order_release);
      return 0;
    }
    if (bytes == layout::kGranule) break;
  }
  return errno != 0 ? errno : ENOMEM;
}

int Arena::grow(BlockFile& file, std::uint32_t type, std::uint32_t index, std::uint64_t bytes,
                std::uint64_t present) noexcept {
  const std::uint32_t mapped = limit();
  const std::uint64_t start = static_cast<std::uint64_t>(mapped) * layout::kUnit;
  bytes = round_up(bytes);
  if (bytes > reserved_ - start) bytes = reserved_ - start;
  if (bytes == 0) {
    exhausted_.store(true, std::memory_order_relaxed);
    return ENOBUFS;
  }
  if (const int error = file.map(base_ + start, bytes, present); error != 0) return error;
  auto* header = reinterpret_cast<layout::BlockHeader*>(base_ + start);
  header->type = type;
  header->index = index;
  header->sequence = sequence_++;
  header->size = bytes;
  header->checksum = layout::block_checksum(*header);
  std::atomic_ref(header->magic).store(layout::kBlockMagic, std::memory_order_release);
  limit_.store(static_cast<std::uint32_t>((start + bytes) / layout::kUnit), std::memory_order_release);
  return 0;
}

void Arena::release() noexcept {
  if (base_ == nullptr) return;
  raw_unmap(base_, reserved_);
  base_ = nullptr;
  reserved_ = 0;
  limit_.store(0, std::memory_order_release);
}

std::uint32_t Arena::place(std::uint32_t next, std::uint32_t units) noexcept {
  const std::uint32_t within = next % layout::kGranuleUnits;
  if (within < layout::kReservedUnits) return next - within + layout::kReservedUnits;
  if (within + units > layout::kGranuleUnits)
    return next - within + layout::kGranuleUnits + layout::kReservedUnits;
  return next;
}

}  // namespace culprit::measurement
