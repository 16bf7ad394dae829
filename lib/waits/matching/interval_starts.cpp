// Finds where the synchronization interval of each wait begins (docs/algorithms.md 8): the last moment before
// it at which waiter and delayer synchronized. First each wait is reported to the time line that caused it,
// unless all members of its collective synchronized there. Then each time line is gone along once, with its
// own waits, the waits that it ended, and the collectives in which all synchronized: by partner the last wait
// of either for the other, and by communicator the last instance are kept, and the later of both counts.
// Cost: one notice and a hash look-up per wait, and the communicators used since.
#include "waits/matching/interval_starts.hpp"

#include "storage/hash.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include <tsl/robin_map.h>

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
  /// Whether all members synchronized in the call, so that nothing need be sent. Calls come in order.
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

/// The last synchronization points of a time line with each other one, while one goes along it.
class SynchronizationPoints {
 public:
  SynchronizationPoints(const Contexts& contexts, const RankMap& rank_map)
      : contexts_(contexts), rank_map_(rank_map) {}

  /// What lies before the next wait, each in the order of calls.
  void add(const Awaited& awaited);
  void add(const CollectiveInstance& instance);
  /// The next wait, with whose end the two synchronize again: where its synchronization interval begins.
  IntervalStart synchronize(const Wait& wait);

 private:
  struct LastInstance {
    CollectiveInstance last;
    std::uint32_t context = View::kUnknown;
  };
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return storage::hash_of(key); }
  };
  const Contexts& contexts_;
  const RankMap& rank_map_;
  tsl::robin_map<Location, IntervalStart, Hash> last_;
  std::vector<LastInstance> instances_;  // by communicator or window, the latest first
};

void SynchronizationPoints::add(const Awaited& awaited) {
  last_[awaited.waiter.location] = {.own = awaited.event,
                                    .other = awaited.waiter.index,
                                    .own_as = awaited.by_its_end ? SyncedAs::leaving : SyncedAs::entering,
                                    .other_as = SyncedAs::waiter};
}

void SynchronizationPoints::add(const CollectiveInstance& instance) {
  auto place = std::find_if(instances_.begin(), instances_.end(), [&instance](const LastInstance& one) {
    return one.last.context == instance.context;
  });
  if (place == instances_.end()) {
    instances_.push_back({.last = {}, .context = contexts_.find(instance.context).value_or(View::kUnknown)});
    place = instances_.end() - 1;
  }
  std::rotate(instances_.begin(), place, place + 1);
  instances_.front().last = instance;
}

IntervalStart SynchronizationPoints::synchronize(const Wait& wait) {
  IntervalStart& last = last_[wait.cause.location];
  IntervalStart start;
  // Only clocks that contradict each other have a point after the cause.
  if (last.other < wait.cause.index) start = last;
  last = {.own = wait.event,
          .other = wait.cause.index,
          .own_as = SyncedAs::waiter,
          .other_as = wait.cause_ends ? SyncedAs::leaving : SyncedAs::entering};
  const std::int32_t rank = rank_map_.rank_of(wait.cause.location);
  for (const LastInstance& one : instances_) {
    if (start.own != IntervalStart::kBeginning && one.last.event <= start.own) break;
    if (one.context == View::kUnknown || !contexts_.shared(one.context).members.contains(rank)) continue;
    return {.context = one.last.context, .own = one.last.event, .other = one.last.instance};
  }
  return start;
}

}  // namespace

void IntervalStarts::send(const TimeLine& line) {
  InstancesInOrder instances(line.collectives);
  for (std::size_t i = 0; i < line.waits.size(); ++i) {
    const Wait wait = line.waits[i];
    if (!is_whole_wait(wait.pattern) || instances.synchronized_by_all(wait.event)) continue;
    exchange_.send(rank_map_.holder_of(wait.cause.location),
                   AwaitedNotice{wait.cause, {line.location, wait.event}, wait.cause_ends});
  }
}

void IntervalStarts::receive(const AwaitedNotice& notice) {
  store_.line(notice.cause.location)
      .awaited.add({.event = notice.cause.index, .by_its_end = notice.by_its_end, .waiter = notice.waiter});
}

/// Backwards through the time lines: those that arrived last are still in memory.
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
    if (!is_whole_wait(wait.pattern)) continue;
    for (const Awaited* one = awaited.next(); one != nullptr; one = awaited.next()) {
      // Who was waited for when it entered the call had synchronized with the waiter before it waits in it.
      if (one->event > wait.event || (one->event == wait.event && one->by_its_end)) break;
      last.add(*one);
      awaited.advance();
    }
    for (; instances.next() != nullptr && instances.next()->event < wait.event; instances.advance()) {
      if (instances.next()->synchronized) last.add(*instances.next());
    }
    IntervalStart start = last.synchronize(wait);
    // The holder's critical section bears a wait for a lock, not what it did before.
    if (wait.contended) start = {.other = wait.other, .other_as = SyncedAs::entering};
    line.waits.change(i).set_start(start);
  }
  line.awaited.clear();
}

}  // namespace culprit::waits
