// What a thread's tree keeps beside samples (docs/algorithms.md 6): accumulators of one-sided calls, of the
// lengths of waiting calls and gaps, and stamps of single calls. All are records in the arena, in one list
// from the header. Accumulators are found by a hash of their key. Of stamps a uniform choice is kept: when
// they are full, only those with one more leading zero bit of a hash stay. Nothing allocates or locks.
#include "measurement/thread_sum.hpp"
#include "measurement/thread_tree.hpp"

#include <bit>
#include <utility>

namespace culprit::measurement {

using layout::growth;

// The record with this key, found or, while there are fewer than `most`, added; none where there is no room.
// Within a change, whose sum grows by what a new one adds.
NodeIndex ThreadTree::find_record(RecordTable& table, NodeIndex node, const EpochValues& values,
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
  const NodeIndex fresh = allocate_record(sum);
  if (fresh == kNoNodeIndex) return kNoNodeIndex;
  ++table.count;
  auto* record = arena_.at<layout::EpochRecord>(fresh);
  *record = {.next = header()->first_epoch,
             .node = node,
             .window = values.window,
             .peers = values.peers,
             .kind = static_cast<std::uint32_t>(values.kind),
             .size_class = values.size_class,
             .count = 0,
             .total_ns = 0,
             .least_ns = values.time_ns,
             .order = 0};
  sum += layout::epoch_sum(fresh, *record) + growth(*header(), header()->first_epoch, fresh);
  publish(header()->first_epoch, fresh);
  return table.records[slot % kEpochSlots] = fresh;
}

// Within a change, whose sum grows by what the allocation adds.
NodeIndex ThreadTree::allocate_record(std::uint64_t& sum) noexcept {
  const std::uint32_t used = header()->used;
  const NodeIndex fresh = allocate(2);
  sum += growth_since(used);
  return fresh;
}

// Within a change: returns what it adds to the sum.
template <typename Change>
std::uint64_t ThreadTree::change_record(NodeIndex at, Change change) noexcept {
  auto& record = *arena_.at<layout::EpochRecord>(at);
  const std::uint64_t before = layout::epoch_sum(at, record);
  change(record);
  return layout::epoch_sum(at, record) - before;
}

// Changes the accumulator with this key, where there is one or room for it.
template <typename Change>
void ThreadTree::count_in(RecordTable& table, NodeIndex node, const EpochValues& key, std::size_t most,
                          Change change) noexcept {
  begin_change();
  std::uint64_t sum = 0;
  const NodeIndex at = find_record(table, node, key, most, sum);
  if (at != kNoNodeIndex) sum += change_record(at, change);
  end_change(sum);
}

void ThreadTree::count_epoch(NodeIndex node, const EpochValues& values) noexcept {
  overflowed_ = false;
  begin_change();
  std::uint64_t sum = 0;
  NodeIndex at = find_record(epochs_, node, values, kEpochAccumulators, sum);
  if (at == kNoNodeIndex && !is_transfer(values.kind)) {
    EpochValues coarse = values;
    coarse.window = coarse.peers = 0;
    at = find_record(epochs_, node, coarse, kEpochAccumulators + kCoarseAccumulators, sum);
  }
  if (at == kNoNodeIndex) {
    std::uint32_t& lost = header()->epochs_lost;
    sum += growth(*header(), lost, lost + 1);
    std::atomic_ref(lost).store(lost + 1, std::memory_order_relaxed);
  } else {
    sum += change_record(at, [&](layout::EpochRecord& record) { add_to(record, values.time_ns); });
  }
  end_change(sum);
}

void ThreadTree::add_to(layout::EpochRecord& record, std::uint64_t ns) noexcept {
  add(record.total_ns, ns);
  if (ns < record.least_ns) std::atomic_ref(record.least_ns).store(ns, std::memory_order_relaxed);
  add(record.count, 1);
}

void ThreadTree::add_length(layout::EpochRecord& record, std::uint64_t ns) noexcept {
  add_to(record, ns);
  if (ns > record.window) std::atomic_ref(record.window).store(ns, std::memory_order_relaxed);
}

void ThreadTree::count_call(NodeIndex call, std::uint64_t ns) noexcept {
  count_in(stretches_, call, {.kind = EpochKind::waiting_call, .time_ns = ns}, kStretchAccumulators,
           [&](layout::EpochRecord& record) { add_length(record, ns); });
}

void ThreadTree::count_gap(NodeIndex from, NodeIndex to, std::uint64_t ns) noexcept {
  count_in(
      stretches_, from, {.kind = EpochKind::gap, .size_class = to, .time_ns = ns}, kStretchAccumulators,
      [&](layout::EpochRecord& record) {
        add_length(record, ns);
        const auto length = static_cast<double>(ns);
        const double squares = std::bit_cast<double>(record.order) + length * length;
        std::atomic_ref(record.order).store(std::bit_cast<std::uint64_t>(squares), std::memory_order_relaxed);
      });
}

// The same of MPI calls; what finds no room at its path counts at the root, which may have up to `most`.
template <typename Change>
void ThreadTree::count_call_of(NodeIndex node, const EpochValues& key, std::size_t most,
                               Change change) noexcept {
  begin_change();
  std::uint64_t sum = 0;
  NodeIndex at = find_record(calls_, node, key, kCallAccumulators, sum);
  if (at == kNoNodeIndex) at = find_record(calls_, root(), key, most, sum);
  if (at != kNoNodeIndex) sum += change_record(at, change);
  end_change(sum);
}

void ThreadTree::count_calls(NodeIndex node, const CallValues& values) noexcept {
  count_call_of(node, {.kind = EpochKind::call_count}, kCallAccumulators + 1,
                [&](layout::EpochRecord& record) { add_to(record, values); });
}

void ThreadTree::add_to(layout::EpochRecord& record, const CallValues& values) noexcept {
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

void ThreadTree::count_partner(std::uint64_t communicator, std::uint32_t members, std::uint32_t rank,
                               std::uint64_t messages, std::uint64_t bytes) noexcept {
  const EpochValues key{
      .kind = EpochKind::partner_count, .size_class = rank, .window = communicator, .peers = members};
  count_in(calls_, root(), key, kPartnerAccumulators, [&](layout::EpochRecord& record) {
    add(record.count, messages);
    add(record.total_ns, bytes);
  });
}

void ThreadTree::count_polls_in_vain(NodeIndex node, std::uint64_t polls) noexcept {
  count_call_of(node, {.kind = EpochKind::polls_in_vain}, kCallAccumulators + 2,
                [&](layout::EpochRecord& record) { add(record.count, polls); });
}

void ThreadTree::count_bytes(NodeIndex node, std::uint64_t calls, std::uint64_t read,
                             std::uint64_t written) noexcept {
  count_call_of(node, {.kind = EpochKind::bytes_moved}, kCallAccumulators + 3,
                [&](layout::EpochRecord& record) {
                  add(record.count, calls);
                  add(record.total_ns, written);
                  add(record.least_ns, read);
                });
}

void ThreadTree::add_trace_cost(std::uint64_t ns) noexcept {
  count_in(calls_, root(), {.kind = EpochKind::trace_cost, .time_ns = ns}, kCallAccumulators,
           [&](layout::EpochRecord& record) { add_to(record, ns); });
}

// A sample in another stretch than the one that its cell names. Within a change: returns what it adds to the
// sum. Where there is no room, the cell's stretch is taken for this one's.
std::uint64_t ThreadTree::count_apart(NodeIndex node, const SampleValues& values) noexcept {
  std::uint64_t sum = 0;
  const NodeIndex at = find_record(
      stretches_, node,
      {.kind = EpochKind::stretch_samples, .size_class = values.stretch, .time_ns = values.time_ns},
      kStretchAccumulators, sum);
  if (at == kNoNodeIndex) return sum;
  return sum + change_record(at, [&](layout::EpochRecord& record) {
           add_to(record, values.time_ns);
           if (!values.blocked) add(record.order, values.weight * values.weight);
         });
}

void ThreadTree::count_caused(NodeIndex node, EpochKind kind, std::uint64_t ns) noexcept {
  begin_change();
  std::uint64_t sum = 0;
  NodeIndex at = find_record(caused_, node, {.kind = kind, .time_ns = ns}, kCausedAccumulators, sum);
  if (at == kNoNodeIndex) {
    at =
        find_record(caused_, root(), {.kind = kind, .time_ns = ns}, kCausedAccumulators + kCausedAtRoot, sum);
  }
  if (at != kNoNodeIndex) sum += change_record(at, [&](layout::EpochRecord& record) { add_to(record, ns); });
  end_change(sum);
}

void ThreadTree::add_total(ThreadTotal total, std::uint64_t ns) noexcept {
  const EpochValues values{
      .kind = EpochKind::thread_total, .size_class = static_cast<std::uint32_t>(total), .time_ns = ns};
  count_in(caused_, root(), values, kCausedAccumulators + kCausedAtRoot,
           [&](layout::EpochRecord& record) { add_to(record, ns); });
}

// A record for one more stamp, marked as none; none where there is no room. Within a change, whose sum grows
// by what that adds.
NodeIndex ThreadTree::stamp_record(std::uint64_t& sum) noexcept {
  while (stamp_count_ == kEpochStamps && stamp_level() < 64) thin_stamps(sum);
  if (stamp_count_ == kEpochStamps) return kNoNodeIndex;
  if (stamp_count_ < stamp_records_) return stamps_[stamp_count_++];
  const NodeIndex fresh = allocate_record(sum);
  if (fresh == kNoNodeIndex) return kNoNodeIndex;
  auto* record = arena_.at<layout::EpochRecord>(fresh);
  *record = {};
  record->next = header()->first_epoch;
  sum += layout::epoch_sum(fresh, *record) + growth(*header(), header()->first_epoch, fresh);
  publish(header()->first_epoch, fresh);
  stamps_[stamp_records_++] = fresh;
  ++stamp_count_;
  return fresh;
}

// Lets go about half of the stamps. Within a change, likewise.
void ThreadTree::thin_stamps(std::uint64_t& sum) noexcept {
  stamp_level_.raise_to(stamp_level() + 1);
  for (std::uint32_t i = 0; i < stamp_count_;) {
    if (stamp_level_.keeps(arena_.at<layout::EpochRecord>(stamps_[i])->order)) {
      ++i;
      continue;
    }
    sum += change_record(stamps_[i], [](layout::EpochRecord& record) {
      publish(record.kind, static_cast<std::uint32_t>(EpochKind::none));
    });
    std::swap(stamps_[i], stamps_[--stamp_count_]);
  }
}

void ThreadTree::keep_stamp(NodeIndex node, const StampValues& values) noexcept {
  if (!stamp_level_.keeps(values.order)) return;
  overflowed_ = false;
  begin_change();
  std::uint64_t sum = 0;
  const NodeIndex at = stamp_record(sum);
  if (at != kNoNodeIndex && !stamp_level_.keeps(values.order)) {  // making room took this one's turn away
    --stamp_count_;
  } else if (at != kNoNodeIndex) {
    sum += change_record(at, [&](layout::EpochRecord& record) { write_stamp(record, node, values); });
  }
  end_change(sum);
}

void ThreadTree::write_stamp(layout::EpochRecord& record, NodeIndex node,
                             const StampValues& values) noexcept {
  record.node = node;
  record.size_class = values.instance;
  record.window = values.window;
  record.peers = std::uint64_t{values.members} << 32 | values.peer;
  record.order = values.order;
  record.count = values.enter_ns;
  record.total_ns = values.exit_ns;
  record.least_ns = values.last_ns;
  publish(record.kind, static_cast<std::uint32_t>(values.kind));
}

}  // namespace culprit::measurement
