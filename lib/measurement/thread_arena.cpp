#include "measurement/thread_arena.hpp"

namespace culprit::measurement {

namespace {

constexpr auto kType = static_cast<std::uint32_t>(layout::BlockType::thread);
/// At least; an eighth of what there is if that is more.
constexpr std::uint64_t kGrowth = 2 * layout::kGranule;
constexpr std::uint64_t kMaxGrowth = std::uint64_t{4} << 20;
/// What is in memory of the first block of a thread beyond kPopulatedThreads: its header and some paths.
constexpr std::uint64_t kFirstPaths = 4096;

}  // namespace

int ThreadArena::create(BlockFile& file, std::uint32_t index, std::uint64_t first_block,
                        std::uint64_t bytes) noexcept {
  const std::uint64_t limit = bytes < first_block ? first_block : bytes;
  if (const int error = arena_.reserve(limit, first_block); error != 0) return error;
  const std::uint64_t present = index < kPopulatedThreads ? first_block : kFirstPaths;
  const int error = arena_.grow(file, kType, index, first_block, present);
  if (error != 0) arena_.release();
  return error;
}

int ThreadArena::grow_ahead(BlockFile& file, std::uint32_t index) noexcept {
  if (arena_.exhausted() || free_units() >= kLowUnits) return 0;
  const std::uint32_t limit = arena_.limit();
  std::uint64_t bytes = static_cast<std::uint64_t>(limit) * layout::kUnit / 8;
  if (bytes < kGrowth) bytes = kGrowth;
  if (bytes > kMaxGrowth) bytes = kMaxGrowth;
  const int error = arena_.grow(file, kType, index, bytes);
  growth_refused_.store(error != 0, std::memory_order_relaxed);
  return arena_.exhausted() ? 0 : error;
}

// Cells begin at even units, so that the fixed part of each is one cache line; what that leaves over serves
// the next node.
NodeIndex ThreadArena::allocate(std::uint32_t units) noexcept {
  if (units == 1 && spare_ != 0) return std::exchange(spare_, 0);
  std::uint32_t& used = header()->used;
  const std::uint32_t next = units == 1 ? used : used + (used & 1);
  const std::uint32_t at = Arena::place(next, units);
  if (at + units > arena_.limit()) return kNoNodeIndex;
  if (next != used && at == next) spare_ = used;
  std::atomic_ref(used).store(at + units, std::memory_order_relaxed);
  return at;
}

NodeIndex ThreadArena::add_record(layout::EpochRecord values, std::uint64_t& sum) noexcept {
  layout::ThreadHeader& head = *header();
  const std::uint32_t used = head.used;
  const NodeIndex fresh = allocate(2);
  sum += growth_since(used);
  if (fresh == kNoNodeIndex) return kNoNodeIndex;
  auto* record = at<layout::EpochRecord>(fresh);
  values.next = head.first_epoch;
  *record = values;
  sum += layout::epoch_sum(fresh, *record) + layout::growth(head, head.first_epoch, fresh);
  publish(head.first_epoch, fresh);
  return fresh;
}

}  // namespace culprit::measurement
