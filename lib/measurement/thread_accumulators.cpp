// What a thread adds up beside samples (docs/algorithms.md 6). Accumulators are records in the arena, in one
// list from the header, and are found by a hash of their key. Nothing allocates or locks.
#include "measurement/thread_accumulators.hpp"

#include "measurement/thread_sum.hpp"

#include <atomic>
#include <bit>

namespace culprit::measurement {

using layout::growth;

namespace {

void add_to(layout::EpochRecord& record, std::uint64_t ns) noexcept {
  add(record.total_ns, ns);
  if (ns < record.least_ns) std::atomic_ref(record.least_ns).store(ns, std::memory_order_relaxed);
  add(record.count, 1);
}

// The same, and keeps the longest as the window.
void add_length(layout::EpochRecord& record, std::uint64_t ns) noexcept {
  add_to(record, ns);
  if (ns > record.window) std::atomic_ref(record.window).store(ns, std::memory_order_relaxed);
}

void add_to(layout::EpochRecord& record, const CallValues& values) noexcept {
  add(record.count, values.calls);
  add(record.total_ns, values.sent);
  add(record.least_ns, values.received);
  if (values.messages == 0) return;
  const std::uint32_t least = record.window == 0 ? values.smallest : record.size_class;
  std::atomic_ref(record.size_class)
      .store(values.smallest < least ? values.smallest : least, std::memory_order_relaxed);
  if (values.largest > record.peers)
    std::atomic_ref(record.peers).store(values.largest, std::memory_order_relaxed);
  add(record.window, values.messages);
  add(record.order, values.bytes);
}

}  // namespace

// The record with this key, found or, while there are fewer than `most`, added; none where there is no room.
// Within a change, whose sum grows by what a new one adds.
NodeIndex ThreadAccumulators::find_record(Table& table, NodeIndex node, const EpochValues& values,
                                          std::size_t most, std::uint64_t& sum) noexcept {
  const std::uint64_t mixed =
      (values.window ^ values.peers << 17 ^ std::uint64_t{node} << 32 ^
       std::uint64_t{values.size_class} << 8 ^ static_cast<std::uint64_t>(values.kind)) *
      0x9e3779b97f4a7c15U;
  std::size_t slot = mixed >> 40;
  for (;; ++slot) {
    NodeIndex& at = table.records[slot % kEpochSlots];
    if (at == kNoNodeIndex) break;
    auto* record = arena_.at<layout::EpochRecord>(at);
    if (record->node == node && record->kind == static_cast<std::uint32_t>(values.kind) &&
        (values.kind == EpochKind::call_count || record->size_class == values.size_class) &&
        (has_order(values.kind) || (record->window == values.window && record->peers == values.peers)))
      return at;
  }
  if (table.count >= most) return kNoNodeIndex;
  const NodeIndex fresh = arena_.add_record({.next = kNoNodeIndex,
                                             .node = node,
                                             .window = values.window,
                                             .peers = values.peers,
                                             .kind = static_cast<std::uint32_t>(values.kind),
                                             .size_class = values.size_class,
                                             .count = 0,
                                             .total_ns = 0,
                                             .least_ns = values.time_ns,
                                             .order = 0},
                                            sum);
  if (fresh == kNoNodeIndex) return kNoNodeIndex;
  ++table.count;
  return table.records[slot % kEpochSlots] = fresh;
}

// Changes the accumulator with this key, where there is one or room for it.
template <typename Change>
void ThreadAccumulators::count_in(Table& table, NodeIndex node, const EpochValues& key, std::size_t most,
                                  Change change) noexcept {
  arena_.begin_change();
  std::uint64_t sum = 0;
  const NodeIndex at = find_record(table, node, key, most, sum);
  if (at != kNoNodeIndex) sum += arena_.change_record(at, change);
  arena_.end_change(sum);
}

void ThreadAccumulators::count_epoch(NodeIndex node, const EpochValues& values) noexcept {
  arena_.take_overflow();
  arena_.begin_change();
  std::uint64_t sum = 0;
  NodeIndex at = find_record(tables_.epochs, node, values, kEpochAccumulators, sum);
  if (at == kNoNodeIndex && !is_transfer(values.kind)) {
    EpochValues coarse = values;
    coarse.window = coarse.peers = 0;
    at = find_record(tables_.epochs, node, coarse, kEpochAccumulators + kCoarseAccumulators, sum);
  }
  if (at == kNoNodeIndex) {
    std::uint32_t& lost = arena_.header()->epochs_lost;
    sum += growth(*arena_.header(), lost, lost + 1);
    std::atomic_ref(lost).store(lost + 1, std::memory_order_relaxed);
  } else {
    sum += arena_.change_record(at, [&](layout::EpochRecord& record) { add_to(record, values.time_ns); });
  }
  arena_.end_change(sum);
}

void ThreadAccumulators::count_call(NodeIndex call, std::uint64_t ns) noexcept {
  count_in(tables_.stretches, call, {.kind = EpochKind::waiting_call, .time_ns = ns}, kStretchAccumulators,
           [&](layout::EpochRecord& record) { add_length(record, ns); });
}

void ThreadAccumulators::count_gap(NodeIndex from, NodeIndex to, std::uint64_t ns) noexcept {
  count_in(
      tables_.stretches, from, {.kind = EpochKind::gap, .size_class = to, .time_ns = ns},
      kStretchAccumulators, [&](layout::EpochRecord& record) {
        add_length(record, ns);
        const auto length = static_cast<double>(ns);
        const double squares = std::bit_cast<double>(record.order) + length * length;
        std::atomic_ref(record.order).store(std::bit_cast<std::uint64_t>(squares), std::memory_order_relaxed);
      });
}

// The same of MPI calls; what finds no room at its path counts at the root, which may have up to `most`.
template <typename Change>
void ThreadAccumulators::count_call_of(NodeIndex node, const EpochValues& key, std::size_t most,
                                       Change change) noexcept {
  arena_.begin_change();
  std::uint64_t sum = 0;
  NodeIndex at = find_record(tables_.calls, node, key, kCallAccumulators, sum);
  if (at == kNoNodeIndex) at = find_record(tables_.calls, layout::kRootUnit, key, most, sum);
  if (at != kNoNodeIndex) sum += arena_.change_record(at, change);
  arena_.end_change(sum);
}

void ThreadAccumulators::count_calls(NodeIndex node, const CallValues& values) noexcept {
  count_call_of(node, {.kind = EpochKind::call_count}, kCallAccumulators + 1,
                [&](layout::EpochRecord& record) { add_to(record, values); });
}

void ThreadAccumulators::count_partner(std::uint64_t communicator, std::uint32_t members, std::uint32_t rank,
                                       std::uint64_t messages, std::uint64_t bytes) noexcept {
  const EpochValues key{
      .kind = EpochKind::partner_count, .size_class = rank, .window = communicator, .peers = members};
  count_in(tables_.calls, layout::kRootUnit, key, kPartnerAccumulators, [&](layout::EpochRecord& record) {
    add(record.count, messages);
    add(record.total_ns, bytes);
  });
}

void ThreadAccumulators::count_polls_in_vain(NodeIndex node, std::uint64_t polls) noexcept {
  count_call_of(node, {.kind = EpochKind::polls_in_vain}, kCallAccumulators + 2,
                [&](layout::EpochRecord& record) { add(record.count, polls); });
}

void ThreadAccumulators::count_bytes(NodeIndex node, std::uint64_t calls, std::uint64_t read,
                                     std::uint64_t written) noexcept {
  count_call_of(node, {.kind = EpochKind::bytes_moved}, kCallAccumulators + 3,
                [&](layout::EpochRecord& record) {
                  add(record.count, calls);
                  add(record.total_ns, written);
                  add(record.least_ns, read);
                });
}

void ThreadAccumulators::add_trace_cost(std::uint64_t ns) noexcept {
  count_in(tables_.calls, layout::kRootUnit, {.kind = EpochKind::trace_cost, .time_ns = ns},
           kCallAccumulators, [&](layout::EpochRecord& record) { add_to(record, ns); });
}

// Where there is no room, the cell's stretch is taken for this one's.
std::uint64_t ThreadAccumulators::count_apart(NodeIndex node, NodeIndex stretch, std::uint64_t time_ns,
                                              std::uint64_t weight_sq) noexcept {
  std::uint64_t sum = 0;
  const EpochValues key{.kind = EpochKind::stretch_samples, .size_class = stretch, .time_ns = time_ns};
  const NodeIndex at = find_record(tables_.stretches, node, key, kStretchAccumulators, sum);
  if (at == kNoNodeIndex) return sum;
  return sum + arena_.change_record(at, [&](layout::EpochRecord& record) {
    add_to(record, time_ns);
    add(record.order, weight_sq);
  });
}

void ThreadAccumulators::count_caused(NodeIndex node, EpochKind kind, std::uint64_t ns) noexcept {
  arena_.begin_change();
  std::uint64_t sum = 0;
  NodeIndex at = find_record(tables_.caused, node, {.kind = kind, .time_ns = ns}, kCausedAccumulators, sum);
  if (at == kNoNodeIndex) {
    at = find_record(tables_.caused, layout::kRootUnit, {.kind = kind, .time_ns = ns},
                     kCausedAccumulators + kCausedAtRoot, sum);
  }
  if (at != kNoNodeIndex)
    sum += arena_.change_record(at, [&](layout::EpochRecord& record) { add_to(record, ns); });
  arena_.end_change(sum);
}

void ThreadAccumulators::add_total(ThreadTotal total, std::uint64_t ns) noexcept {
  const EpochValues values{
      .kind = EpochKind::thread_total, .size_class = static_cast<std::uint32_t>(total), .time_ns = ns};
  count_in(tables_.caused, layout::kRootUnit, values, kCausedAccumulators + kCausedAtRoot,
           [&](layout::EpochRecord& record) { add_to(record, ns); });
}

}  // namespace culprit::measurement
