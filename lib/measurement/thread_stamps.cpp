// Stamps of single calls (docs/algorithms.md 6), of which a uniform choice is kept: when they are full, only
// those with one more leading zero bit of a hash stay. Each is a record in the thread's arena that a later
// one may reuse. Nothing allocates or locks.
#include "measurement/thread_stamps.hpp"

#include "measurement/live_layout.hpp"

#include <utility>

namespace culprit::measurement {

namespace {

void write(layout::EpochRecord& record, NodeIndex node, const StampValues& values) noexcept {
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

}  // namespace

// A record for one more stamp, marked as none; none where there is no room. Within a change, whose sum grows
// by what that adds.
NodeIndex ThreadStamps::fresh_record(std::uint64_t& sum) noexcept {
  while (count_ == kEpochStamps && level() < 64) thin(sum);
  if (count_ == kEpochStamps) return kNoNodeIndex;
  if (count_ < made_) return records_[count_++];
  const NodeIndex fresh = arena_.add_record({}, sum);
  if (fresh == kNoNodeIndex) return kNoNodeIndex;
  records_[made_++] = fresh;
  ++count_;
  return fresh;
}

// Lets go about half of the stamps. Within a change, likewise.
void ThreadStamps::thin(std::uint64_t& sum) noexcept {
  level_.raise_to(level() + 1);
  for (std::uint32_t i = 0; i < count_;) {
    if (level_.keeps(arena_.at<layout::EpochRecord>(records_[i])->order)) {
      ++i;
      continue;
    }
    sum += arena_.change_record(records_[i], [](layout::EpochRecord& record) {
      publish(record.kind, static_cast<std::uint32_t>(EpochKind::none));
    });
    std::swap(records_[i], records_[--count_]);
  }
}

void ThreadStamps::keep(NodeIndex node, const StampValues& values) noexcept {
  if (!level_.keeps(values.order)) return;
  arena_.take_overflow();
  arena_.begin_change();
  std::uint64_t sum = 0;
  const NodeIndex at = fresh_record(sum);
  if (at != kNoNodeIndex && !level_.keeps(values.order)) {  // making room took this one's turn away
    --count_;
  } else if (at != kNoNodeIndex) {
    sum += arena_.change_record(at, [&](layout::EpochRecord& record) { write(record, node, values); });
  }
  arena_.end_change(sum);
}

}  // namespace culprit::measurement
