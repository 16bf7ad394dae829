// Queues of locks (docs/algorithms.md 12). With n waiters since the times s_i the wait at time t is n · t -
// Σ s_i: a count and a sum say it all. Who gives the lock back takes that and sets all s_i to t; a waiter
// that leaves takes its own part out, from the last charge on, or from when it came if that was later. A
// slot serves one lock as long as somebody waits for it; then another may have it. Cost: two
// compare-and-swaps of 16 bytes for each wait and one for each lock that is given back while others want it.
#include "runtime/teams/lock_queue.hpp"

#include <algorithm>
#include <cstddef>

namespace culprit::runtime::locks {
namespace {

/// A queue: from the lowest bit the number of waiters (14 bits), the sum of their times (56: more than a year
/// of waits that nobody is charged with yet), the time of the last charge (58).
class Queue {
 public:
  constexpr explicit Queue(Wide word) : word_(word) {}
  constexpr Queue(std::uint64_t waiters, std::uint64_t sum, std::uint64_t charged)
      : word_(Wide{charged} << (kWaiterBits + kSumBits) | Wide{sum & kSumMask} << kWaiterBits |
              (waiters & kWaiterMask)) {}

  [[nodiscard]] constexpr Wide word() const { return word_; }
  [[nodiscard]] constexpr std::uint64_t waiters() const {
    return static_cast<std::uint64_t>(word_) & kWaiterMask;
  }
  [[nodiscard]] constexpr std::uint64_t sum() const {
    return static_cast<std::uint64_t>(word_ >> kWaiterBits) & kSumMask;
  }
  [[nodiscard]] constexpr std::uint64_t charged() const {
    return static_cast<std::uint64_t>(word_ >> (kWaiterBits + kSumBits));
  }
  /// What is waited up to `time` and nobody is charged with yet. A change that is late leaves a little less
  /// than nothing.
  [[nodiscard]] constexpr std::uint64_t owed(std::uint64_t time) const {
    const std::uint64_t owed = (waiters() * time - sum()) & kSumMask;
    return (owed & kSumSign) != 0 ? 0 : owed;
  }

 private:
  static constexpr unsigned kWaiterBits = 14, kSumBits = 56;
  static constexpr std::uint64_t kWaiterMask = (std::uint64_t{1} << kWaiterBits) - 1;
  static constexpr std::uint64_t kSumMask = (std::uint64_t{1} << kSumBits) - 1;
  static constexpr std::uint64_t kSumSign = std::uint64_t{1} << (kSumBits - 1);

  Wide word_;
};

constexpr std::size_t kSlots = 4096, kProbes = 8, kWanted = 65536;  // some KiB more, and few locks meet

struct alignas(64) Slot {
  alignas(16) Wide queue;
  std::atomic<std::uintptr_t> lock;
  std::atomic<std::uint64_t> left;  // of charges, for those who still hold the lock
};

/// Who gave the slot's lock back last, written by who holds it. Of readers, who may do so at once, one may
/// get lost.
struct LatestReleases {
  struct One {
    std::atomic<std::uint64_t> time;
    std::atomic<const void*> by;
  };
  std::atomic<std::uint32_t> count;  // of all since the slot serves the lock
  One of[Releases::kMost];

  [[nodiscard]] One& at(std::uint32_t number) { return of[number % Releases::kMost]; }
};

constinit Slot slots[kSlots] = {};
constinit LatestReleases latest_releases[kSlots] = {};
constinit std::atomic<std::uint32_t> waiting{0};
constinit std::atomic<std::uint32_t> wanted[kWanted] = {};

std::size_t hash(std::uintptr_t lock) {
  return static_cast<std::size_t>((lock >> 2) * 0x9e3779b97f4a7c15U >> 40);
}

/// Changes a slot's queue to `next(before)`; returns what it was.
template <typename Next>
Queue change(Slot& slot, Next next) {
  Wide word = load_wide(slot.queue);
  while (!exchange_wide(slot.queue, word, next(Queue(word)).word())) {
  }
  return Queue(word);
}

Slot* find(std::uintptr_t lock) {
  for (std::size_t i = 0; i < kProbes; ++i) {
    Slot& slot = slots[(hash(lock) + i) % kSlots];
    if (slot.lock.load(std::memory_order_acquire) == lock) return &slot;
  }
  return nullptr;
}

/// The lock's slot, or one that serves no lock at present. Two threads may get two for one lock: then only
/// the first is found.
Slot* claim(std::uintptr_t lock) {
  if (Slot* found = find(lock)) return found;
  for (std::size_t i = 0; i < kProbes; ++i) {
    Slot& slot = slots[(hash(lock) + i) % kSlots];
    std::uintptr_t other = slot.lock.load(std::memory_order_relaxed);
    if (Queue(load_wide(slot.queue)).waiters() != 0) continue;
    if (slot.lock.compare_exchange_strong(other, lock, std::memory_order_acq_rel)) {
      slot.left.store(0, std::memory_order_relaxed);
      latest_releases[&slot - slots].count.store(0, std::memory_order_relaxed);
      Slot* first = find(lock);  // another thread may have been faster
      return first != nullptr ? first : &slot;
    }
    if (other == lock) return &slot;
  }
  return nullptr;
}

Queue with(Queue before, std::uint64_t time) {
  if (before.waiters() == 0) return {1, time, time};
  return {before.waiters() + 1, before.sum() + time, before.charged()};
}

void note(LatestReleases& releases, std::uint64_t time, const void* by) {
  std::uint32_t count = releases.count.load(std::memory_order_relaxed);
  if (count == 0 || by == nullptr || releases.at(count - 1).by.load(std::memory_order_relaxed) != by) ++count;
  releases.at(count - 1).time.store(time, std::memory_order_relaxed);
  releases.at(count - 1).by.store(by, std::memory_order_relaxed);
  releases.count.store(count, std::memory_order_relaxed);
}

}  // namespace

bool anybody_waits() {
  return waiting.load(std::memory_order_relaxed) != 0;
}

bool is_awaited(const void* lock) {
  return find(reinterpret_cast<std::uintptr_t>(lock)) != nullptr;
}

Waiter enter(const void* lock, std::uint64_t time) {
  const auto address = reinterpret_cast<std::uintptr_t>(lock);
  Slot* slot = claim(address);
  if (slot == nullptr) return {.since = time};
  waiting.fetch_add(1, std::memory_order_relaxed);
  change(*slot, [&](Queue before) { return with(before, time); });
  const Waiter waiter{.slot = static_cast<std::uint16_t>(slot - slots), .queued = true, .since = time};
  if (slot->lock.load(std::memory_order_seq_cst) == address) return waiter;
  leave(waiter, time, true);  // it was given to another lock just before
  return {.since = time};
}

std::uint64_t leave(const Waiter& waiter, std::uint64_t time, bool acquired) {
  if (!waiter.queued) return time > waiter.since ? time - waiter.since : 0;
  const auto own = [&](Queue queue) {
    const std::uint64_t from = queue.charged() > waiter.since ? queue.charged() : waiter.since;
    return from < time ? from : time;
  };
  const Queue before = change(slots[waiter.slot], [&](Queue queue) {
    if (queue.waiters() == 1) return Queue(0, 0, queue.charged());
    return Queue(queue.waiters() - 1, queue.sum() - (acquired ? own(queue) : time), queue.charged());
  });
  waiting.fetch_sub(1, std::memory_order_relaxed);
  // Nobody is reminded of the last one: it takes along what those left that gave up before.
  if (before.waiters() == 1) return std::max(before.owed(time), time - own(before));
  return acquired ? time - own(before) : 0;
}

std::uint64_t charge(const void* lock, std::uint64_t time, std::uint64_t holders, const void* by) {
  Slot* slot = find(reinterpret_cast<std::uintptr_t>(lock));
  if (slot == nullptr) return 0;
  note(latest_releases[slot - slots], time, by);
  const Queue before = change(*slot, [&](Queue queue) {
    const std::uint64_t owed = queue.owed(time);
    return owed == 0 ? queue : Queue(queue.waiters(), queue.sum() + owed, time);
  });
  const std::uint64_t owed = before.owed(time) + slot->left.exchange(0, std::memory_order_relaxed);
  const std::uint64_t own = holders > 1 ? owed / holders : owed;
  if (own != owed) slot->left.fetch_add(owed - own, std::memory_order_relaxed);
  return own;
}

Releases releases_since(const Waiter& waiter) {
  Releases found;
  if (!waiter.queued) return found;
  LatestReleases& latest = latest_releases[waiter.slot];
  const std::uint32_t count = latest.count.load(std::memory_order_relaxed);
  const bool all = count <= Releases::kMost;
  for (std::uint32_t i = all ? 0 : count - Releases::kMost; i != count; ++i) {
    const LatestReleases::One& one = latest.at(i);
    const Release release{.time = one.time.load(std::memory_order_relaxed),
                          .by = one.by.load(std::memory_order_relaxed)};
    if (release.time > waiter.since) found.of[found.count++] = release;
  }
  // Of the first one it is unknown since when it held the lock.
  if (!all && found.count == Releases::kMost) found.of[0].by = nullptr;
  return found;
}

std::uint32_t want(const void* lock) {
  return wanted[hash(reinterpret_cast<std::uintptr_t>(lock)) % kWanted].fetch_add(1,
                                                                                  std::memory_order_relaxed);
}

void unwant(const void* lock) {
  auto& count = wanted[hash(reinterpret_cast<std::uintptr_t>(lock)) % kWanted];
  // It was taken before threads were counted.
  if (count.fetch_sub(1, std::memory_order_relaxed) == 0) count.fetch_add(1, std::memory_order_relaxed);
}

// What was never touched stays so: a child that forks often is not to copy it each time.
void forget() {
  for (Slot& slot : slots) {
    if (slot.lock.load(std::memory_order_relaxed) == 0) continue;
    slot.queue = 0;
    slot.lock.store(0, std::memory_order_relaxed);
    slot.left.store(0, std::memory_order_relaxed);
    latest_releases[&slot - slots].count.store(0, std::memory_order_relaxed);
  }
  for (auto& count : wanted) {
    if (count.load(std::memory_order_relaxed) != 0) count.store(0, std::memory_order_relaxed);
  }
  waiting.store(0, std::memory_order_relaxed);
}

}  // namespace culprit::runtime::locks
