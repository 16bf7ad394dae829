// Finds where the synchronization interval of each wait begins (docs/algorithms.md 8): the last moment before
// it at which waiter and delayer synchronized. First each wait is reported to the time line that caused it,
// unless all members of its collective synchronized there. Then each time line is gone along once, with its
// own waits, the waits that it ended, and the collectives in which all synchronized;
// synchronization_points.cpp keeps the latest per partner. Cost: one message per wait of another rank's,
// linear otherwise.
#include "waits/matching/interval_starts.hpp"

#include "waits/matching/synchronization_points.hpp"

#include <cstddef>
#include <tuple>
#include <vector>

namespace culprit::waits {

namespace {

/// What ended others' waits on one time line, in the order of calls.
class AwaitedInOrder {
 public:
  explicit AwaitedInOrder(ByCall<Awaited>& all) : all_(all) {}

  /// The next one; nullptr: none.
  const Awaited* next() {
    for (; at_ == items_.size(); at_ = 0) {
      if (part_ == all_.parts()) return nullptr;
      all_.take(part_++, items_, [](const Awaited& a, const Awaited& b) {
        return std::tuple(a.by_its_end, a.waiter) < std::tuple(b.by_its_end, b.waiter);
      });
    }
    return &items_[at_];
  }
  void advance() { ++at_; }

 private:
  ByCall<Awaited>& all_;
  std::size_t part_ = 0, at_ = 0;
  std::vector<Awaited> items_;
};

/// The collectives that one time line took part in, in the order of calls.
class InstancesInOrder {
 public:
  explicit InstancesInOrder(const storage::Sequence<CollectiveInstance>& all) : all_(all) { read(); }

  /// The next one; nullptr: none.
  [[nodiscard]] const CollectiveInstance* next() const { return at_ == all_.size() ? nullptr : &next_; }
  void advance() {
    ++at_;
    read();
  }
  /// Whether all members synchronized in the call, so that nobody need be told. Calls come in order.
  bool synchronized_by_all(std::uint32_t call) {
    while (at_ != all_.size() && next_.event < call) advance();
    return at_ != all_.size() && next_.event == call && next_.synchronized;
  }

 private:
  void read() {
    if (at_ != all_.size()) next_ = all_[at_];
  }

  const storage::Sequence<CollectiveInstance>& all_;
  std::size_t at_ = 0;
  CollectiveInstance next_;
};

}  // namespace

void IntervalStarts::tell(const TimeLine& line) {
  InstancesInOrder instances(line.collectives);
  for (std::size_t i = 0; i < line.waits.size(); ++i) {
    const Wait wait = line.waits[i];
    if (!is_wait(wait.pattern) || instances.synchronized_by_all(wait.event)) continue;
    exchange_.send(rank_map_.holder_of(wait.cause.location),
                   AwaitedNotice{wait.cause, {line.location, wait.event}, wait.cause_ends});
  }
}

void IntervalStarts::receive(const AwaitedNotice& notice) {
  store_.line(notice.cause.location)
      .awaited.add({.event = notice.cause.index, .by_its_end = notice.by_its_end, .waiter = notice.waiter});
}

/// Backwards through the time lines: those that were told of last are still in memory.
void IntervalStarts::find() {
  std::vector<TimeLine>& lines = store_.lines();
  for (std::size_t i = lines.size(); i-- > 0;) find(lines[i]);
}

void IntervalStarts::find(TimeLine& line) {
  SynchronizationPoints last(contexts_, rank_map_);
  AwaitedInOrder awaited(line.awaited);
  InstancesInOrder instances(line.collectives);
  for (std::size_t i = 0; i < line.waits.size(); ++i) {
    const Wait wait = line.waits[i];
    if (!is_wait(wait.pattern)) continue;
    for (const Awaited* one = awaited.next(); one != nullptr; one = awaited.next()) {
      // Who was waited for when it entered the call had synchronized with the waiter before it waits in it.
      if (one->event > wait.event || (one->event == wait.event && one->by_its_end)) break;
      last.add(*one);
      awaited.advance();
    }
    for (; instances.next() != nullptr && instances.next()->event < wait.event; instances.advance()) {
      if (instances.next()->synchronized) last.add(*instances.next());
    }
    line.waits.change(i).set_start(last.synchronize(wait));
  }
  line.awaited.clear();
}

}  // namespace culprit::waits
