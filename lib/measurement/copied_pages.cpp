// Brings a measurement that cannot be mapped up to date: every page of the anonymous memory that stands for
// the file is summed up, and written where its sum changed, the file's last page first, because links lead
// from older pages to newer ones. Cost: one checksum per page and turn.
#include "measurement/copied_pages.hpp"

#include "measurement/checksum.hpp"
#include "measurement/file_space.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/raw_memory.hpp"

#include <cerrno>

namespace culprit::measurement {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = layout::kGranule / kPage;
// 1 GiB of measurement per process; their table takes 2.4 MB of addresses, and of memory what is in use.
constexpr std::uint32_t kMaxGranules = 16384;

}  // namespace

struct CopiedPages::Granule {
  std::atomic<std::byte*> address;  // stored last
  std::uint64_t offset;
  std::uint64_t written[kPages];  // checksums of the pages as they are in the file
};

int CopiedPages::add(std::byte* address, std::uint64_t size, std::uint64_t offset) noexcept {
  Granule* table = granules_.load(std::memory_order_acquire);
  if (table == nullptr) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* memory = raw_map(nullptr, kMaxGranules * sizeof(Granule), PROT_READ | PROT_WRITE, flags);
    if (memory == MAP_FAILED) return errno;
    if (granules_.compare_exchange_strong(table, static_cast<Granule*>(memory), std::memory_order_acq_rel)) {
      table = static_cast<Granule*>(memory);
    } else {
      raw_unmap(memory, kMaxGranules * sizeof(Granule));  // another thread was faster
    }
  }
  const auto granules = static_cast<std::uint32_t>(size / layout::kGranule);
  std::uint32_t first = count_.load(std::memory_order_relaxed);
  do {
    if (granules > kMaxGranules - first) return ENOBUFS;
  } while (!count_.compare_exchange_weak(first, first + granules, std::memory_order_acq_rel));
  for (std::uint32_t i = 0; i < granules; ++i) {
    Granule& granule = table[first + i];
    granule.offset = offset + std::uint64_t{i} * layout::kGranule;
    granule.address.store(address + std::size_t{i} * layout::kGranule, std::memory_order_release);
  }
  return 0;
}

// A page that changes between its checksum and its copy is written again the next time.
int CopiedPages::write_granule(int fd, Granule& granule) noexcept {
  const std::byte* from = granule.address.load(std::memory_order_acquire);
  if (from == nullptr) return 0;  // being registered at this moment
  for (std::size_t i = kPages; i > 0; --i) {
    const std::byte* page = from + (i - 1) * kPage;
    const std::uint64_t sum =
        XXH64(page, kPage, 1);  // a seed that gives no page the sum 0 of "never written"
    if (sum == granule.written[i - 1]) continue;
    if (const int error = write_all(fd, page, kPage, granule.offset + (i - 1) * kPage); error != 0)
      return error;
    granule.written[i - 1] = sum;
  }
  return 0;
}

int CopiedPages::write_out(int fd) noexcept {
  Granule* table = granules_.load(std::memory_order_acquire);
  int error = 0;
  for (std::uint32_t i = count_.load(std::memory_order_acquire); i > 0; --i) {
    const int failed = write_granule(fd, table[i - 1]);
    if (error == 0) error = failed;
  }
  return error;
}

void CopiedPages::release() noexcept {
  Granule* table = granules_.exchange(nullptr, std::memory_order_acq_rel);
  if (table != nullptr) raw_unmap(table, kMaxGranules * sizeof(Granule));
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace culprit::measurement
