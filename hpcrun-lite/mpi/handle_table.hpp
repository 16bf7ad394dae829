#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <type_traits>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace culprit::mpi {

/// A handle as a number: MPICH's are integers, Open MPI's pointers.
template <typename Handle>
std::uint64_t key_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}

/// Zero-initialized: free. Held for some ten instructions at a time, never across a call of MPI, and never
/// wanted by a signal handler.
class SpinLock {
 public:
  void lock() {
    for (unsigned spins = 0; held().exchange(true, std::memory_order_acquire); ++spins) {
      if (spins > kStarving) {
        sleep();
      } else if (spins > kPatience) {
        sched_yield();
      }
    }
  }
  void unlock() { held().store(false, std::memory_order_release); }

 private:
  static constexpr unsigned kPatience = 100;  ///< the holder lost its processor by then
  /// To yield was in vain so often: the holder's priority may be lower than this thread's.
  static constexpr unsigned kStarving = 1000;
  static void sleep() {
    const timespec while_it_runs{.tv_sec = 0, .tv_nsec = 50'000};
    syscall(SYS_nanosleep, &while_it_runs, nullptr);
  }
  std::atomic_ref<bool> held() { return std::atomic_ref<bool>(held_); }

  bool held_;
};

/// A SpinLock that is taken only where several threads may be in MPI calls at once. Others make them one
/// after the other, and what one thread writes the next one sees.
class CallLock {
 public:
  /// Until MPI says how many threads may call it, any number.
  static inline std::atomic<bool> needed{true};

  void lock() {
    if (needed.load(std::memory_order_relaxed)) lock_.lock();
  }
  void unlock() {
    if (needed.load(std::memory_order_relaxed)) lock_.unlock();
  }

 private:
  SpinLock lock_;
};

/// Values by the handles of objects that live, in bounded memory: kShards times kSlots of them at most, of
/// which a page is touched when it is first needed. Several values may have one key. For as many threads as
/// `Lock` is, not for signal handlers: where more of them than that come at once, values are wrong, but every
/// search ends. Zero-initialized: empty.
template <typename Value, std::size_t kShards, std::size_t kSlots, typename Lock = SpinLock>
class HandleTable {
  static_assert(std::is_trivially_copyable_v<Value>);
  static_assert((kShards & (kShards - 1)) == 0 && (kSlots & (kSlots - 1)) == 0);

 public:
  /// Beside what has the key already. False: there is no room.
  /// `others`: whether it has some.
  bool add(std::uint64_t key, const Value& value, bool& others) {
    others = false;
    if (key == 0) return false;
    Shard& shard = shard_of(key);
    shard.lock.lock();
    const std::size_t used = shard.used();
    const bool room = used < most_used();
    if (room) {
      std::size_t at = home_of(key);
      for (std::size_t probes = 0; shard.slot[at].key != 0 && probes < kSlots; at = next(at), ++probes)
        others = others || shard.slot[at].key == key;
      shard.slot[at].key = key;
      shard.slot[at].value() = value;
      shard.use(used + 1);
    }
    shard.lock.unlock();
    return room;
  }
  bool add(std::uint64_t key, const Value& value) {
    bool others;
    return add(key, value, others);
  }

  /// The last added value of the key that `wanted` says yes to is given to `use`, which may change it and
  /// returns whether it stays. False: there is none. Both are called with the shard's lock held.
  template <typename Wanted, typename Use>
  bool visit(std::uint64_t key, Wanted wanted, Use use) {
    Shard& shard = shard_of(key);
    if (shard.used() == 0) return false;  // whoever looks for a value knows that it was added
    shard.lock.lock();
    std::size_t found = kSlots;
    std::size_t at = home_of(key);
    for (std::size_t probes = 0; shard.slot[at].key != 0 && probes < kSlots; at = next(at), ++probes) {
      if (shard.slot[at].key == key && wanted(shard.slot[at].value())) found = at;
    }
    const bool any = found != kSlots;
    if (any && !use(shard.slot[found].value())) remove(shard, found);
    shard.lock.unlock();
    return any;
  }

  bool find(std::uint64_t key, Value& value) {
    return visit(key, anything, [&](Value& found) {
      value = found;
      return true;
    });
  }
  bool take(std::uint64_t key, Value& value) {
    return visit(key, anything, [&](Value& found) {
      value = found;
      return false;
    });
  }

 private:
  /// Longer chains than at this load would cost more than a bigger table.
  static constexpr std::size_t most_used() { return kSlots - kSlots / 4; }

  /// Zero while unused, whatever a Value is made as: such tables take no room in the library's file.
  struct Slot {
    std::uint64_t key;
    alignas(Value) std::array<unsigned char, sizeof(Value)> bytes;
    Value& value() { return *reinterpret_cast<Value*>(bytes.data()); }
  };
  struct alignas(64) Shard {
    Lock lock;
    std::size_t values;
    std::array<Slot, kSlots> slot;

    [[nodiscard]] std::size_t used() { return std::atomic_ref(values).load(std::memory_order_relaxed); }
    void use(std::size_t number) { std::atomic_ref(values).store(number, std::memory_order_relaxed); }
  };

  static bool anything(const Value& /*value*/) { return true; }
  static std::uint64_t mix(std::uint64_t key) { return (key * 0x9e3779b97f4a7c15U) >> 20; }
  Shard& shard_of(std::uint64_t key) { return shard_[mix(key) & (kShards - 1)]; }
  static std::size_t home_of(std::uint64_t key) { return mix(key) / kShards & (kSlots - 1); }
  static std::size_t next(std::size_t at) { return (at + 1) & (kSlots - 1); }

  /// Moves those behind up, so that no search ends too early.
  static void remove(Shard& shard, std::size_t hole) {
    std::size_t at = next(hole);
    for (std::size_t probes = 0; shard.slot[at].key != 0 && probes < kSlots; at = next(at), ++probes) {
      const std::size_t home = home_of(shard.slot[at].key);
      const bool stays = hole < at ? hole < home && home <= at : hole < home || home <= at;
      if (stays) continue;
      shard.slot[hole] = shard.slot[at];
      hole = at;
    }
    shard.slot[hole].key = 0;
    shard.use(shard.used() - 1);
  }

  std::array<Shard, kShards> shard_;
};

}  // namespace culprit::mpi
