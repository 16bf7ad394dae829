// Writes blocks of streams into slots of a trace's file, which threads claim by counting up. Of a block first
// the new data are written, then its header with the checksums, so that a reader finds what the header says
// at any moment. A thread waits a second at most for another one that is writing: a slow file system costs
// records, not the program's time.
#include "measurement/trace_file.hpp"

#include "measurement/checksum.hpp"
#include "measurement/file_space.hpp"
#include "measurement/raw_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/syscall.h>
#include <unistd.h>

namespace culprit::measurement {

using trace::BlockHeader;
using trace::kSlot;

namespace {

constexpr long kMoment = 20'000;  // ns between two looks
constexpr int kMoments = 50'000;  // looks at most

}  // namespace

bool claim(std::atomic<bool>& flag, bool wait) noexcept {
  for (int moments = 0; flag.exchange(true, std::memory_order_acquire); ++moments) {
    if (!wait || moments == kMoments) return false;
    const timespec moment{.tv_sec = 0, .tv_nsec = kMoment};
    syscall(SYS_nanosleep, &moment, nullptr);
  }
  return true;
}

int TraceFile::create(const char* path, const TraceDescription& description) noexcept {
  if (const int error = file_.create(path, true); error != 0) return error;
  limit_ = std::clamp(description.limit, kLeastTraceBytes, kMostTraceBytes);
  most_slots_ = static_cast<std::uint32_t>(limit_ / kSlot);
  next_slot_.store(1, std::memory_order_relaxed);
  slots_.store(1, std::memory_order_relaxed);
  stopped_.store(0, std::memory_order_relaxed);
  stopped_ns_.store(0, std::memory_order_relaxed);
  error_.store(0, std::memory_order_relaxed);
  dropped_.store(0, std::memory_order_relaxed);
  all_written_ = false;
  header_ = {.magic = {},
             .version = trace::kVersion,
             .header_size = sizeof header_,
             .slot = kSlot,
             .flags = 0,
             .pid = description.pid,
             .start_ns = description.start_ns,
             .stopped_ns = 0,
             .error = 0,
             .limit = limit_,
             .dropped = 0,
             .end_ns = 0,
             .end_reason = 0,
             .index_entries = 0,
             .index_offset = 0,
             .index_checksum = 0,
             .start_realtime_ns = description.start_realtime_ns,
             .key = description.key,
             .slots = 1,
             .unused = 0,
             .checksum = 0};
  std::memcpy(header_.magic, trace::kMagic, sizeof header_.magic);
  void* index = raw_map(nullptr, most_slots_ * sizeof(trace::IndexEntry), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  index_ = index == MAP_FAILED ? nullptr : static_cast<trace::IndexEntry*>(index);
  int error = index_ == nullptr ? ENOMEM : 0;
  if (error == 0) error = write_header();
  if (error == 0) return 0;
  remove();
  forget();
  return error;
}

void TraceFile::forget() noexcept {
  close();
  if (index_ != nullptr) raw_unmap(index_, most_slots_ * sizeof(trace::IndexEntry));
  index_ = nullptr;
}

std::uint32_t TraceFile::claim_slot() noexcept {
  if (stopped()) return 0;
  const std::uint32_t slot = next_slot_.fetch_add(1, std::memory_order_relaxed);
  if (slot < most_slots_) return slot;
  next_slot_.fetch_sub(1, std::memory_order_relaxed);
  stop(trace::kLimitReached, 0);
  return 0;
}

void TraceFile::stop(std::uint32_t why, int error) noexcept {
  std::uint32_t running = 0;
  if (!stopped_.compare_exchange_strong(running, why, std::memory_order_acq_rel)) return;
  error_.store(error, std::memory_order_relaxed);
  stopped_ns_.store(monotonic_ns(), std::memory_order_release);
}

int TraceFile::write_block(const BlockFile::Use& use, const BlockHeader& block, std::uint32_t slot,
                           std::uint32_t& written, bool complete) noexcept {
  // The writer goes on counting in it.
  auto& header = const_cast<BlockHeader&>(block);
  const std::uint32_t used = std::atomic_ref(header.used).load(std::memory_order_acquire);
  const std::uint64_t offset = std::uint64_t{slot} * kSlot;
  const auto* data = reinterpret_cast<const unsigned char*>(&block + 1);
  if (used == written && !complete) return 0;
  if (used > written) {
    const std::uint64_t at = offset + sizeof block + written;
    if (!size_allowed(at + used - written)) return EFBIG;
    const int error = write_all(use.fd(), data + written, used - written, at);
    if (error != 0) return error;
  }
  // Member by member: the stream goes on counting in the two that are read as atomic ones.
  BlockHeader copy = {.magic = block.magic,
                      .flags = complete ? trace::kBlockComplete : 0,
                      .stream = block.stream,
                      .sequence = block.sequence,
                      .used = used,
                      .unused1 = 0,
                      .base_ns = block.base_ns,
                      .last_ns = std::atomic_ref(header.last_ns).load(std::memory_order_relaxed),
                      .checksum = XXH64(data, used, 0),
                      .unused2 = 0,
                      .header_checksum = 0};
  copy.header_checksum = XXH64(&copy, offsetof(BlockHeader, header_checksum), 0);
  if (const int error = write_all(use.fd(), &copy, sizeof copy, offset); error != 0) return error;
  index_[slot - 1] = {.stream = copy.stream,
                      .sequence = copy.sequence,
                      .used = used,
                      .unused = 0,
                      .base_ns = copy.base_ns,
                      .last_ns = copy.last_ns};
  written = used;
  std::uint32_t slots = slots_.load(std::memory_order_relaxed);
  while (slots <= slot && !slots_.compare_exchange_weak(slots, slot + 1, std::memory_order_release)) {
  }
  return 0;
}

int TraceFile::write_header() noexcept {
  const BlockFile::Use use(file_);
  if (use.fd() < 0) return -use.fd();
  header_.stopped_ns = stopped_ns_.load(std::memory_order_acquire);
  header_.flags = (header_.stopped_ns == 0 ? 0 : stopped_.load(std::memory_order_relaxed)) |
                  (all_written_ ? trace::kAllWritten : 0);
  header_.error = static_cast<std::uint64_t>(error());
  header_.dropped = dropped();
  header_.slots = slots_.load(std::memory_order_acquire);
  header_.checksum = XXH64(&header_, offsetof(trace::Header, checksum), 0);
  return write_all(use.fd(), &header_, sizeof header_, 0);
}

void TraceFile::update() noexcept {
  const bool news = header_.dropped != dropped() ||
                    header_.stopped_ns != stopped_ns_.load(std::memory_order_acquire) ||
                    header_.slots != slots_.load(std::memory_order_acquire);
  if (news) write_header();
}

int TraceFile::write_index() noexcept {
  const BlockFile::Use use(file_);
  if (use.fd() < 0) return -use.fd();
  const std::uint32_t slots = next_slot_.load(std::memory_order_relaxed);
  const std::uint64_t offset = std::uint64_t{slots} * kSlot;
  const std::size_t size = (slots - 1) * sizeof(trace::IndexEntry);
  if (!size_allowed(offset + size)) return EFBIG;
  all_written_ = true;
  if (const int error = write_header(); error != 0) return error;
  if (const int error = write_all(use.fd(), index_, size, offset); error != 0) return error;
  header_.index_entries = slots - 1;
  header_.index_offset = offset;
  header_.index_checksum = XXH64(index_, size, 0);
  return 0;
}

void TraceFile::end(EndReason reason, std::uint64_t end_ns, bool complete) noexcept {
  if (complete) write_index();
  header_.end_ns = end_ns;
  header_.end_reason = static_cast<std::uint32_t>(reason);
  write_header();
}

void TraceFile::resume() noexcept {
  header_.end_ns = 0;
  header_.end_reason = 0;
  write_header();
}

}  // namespace culprit::measurement
