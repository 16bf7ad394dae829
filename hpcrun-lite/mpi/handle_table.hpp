#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sched.h>

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
      if (spins > kPatience) sched_yield();
    }
  }
  void unlock() { held().store(false, std::memory_order_release); }

 private:
  static constexpr unsigned kPatience = 100;  ///< the holder lost its processor by then
  std::atomic_ref<bool> held() { return std::atomic_ref<bool>(held_); }

  bool held_;
};

/// Values by the handles of objects that live, in bounded memory: kShards times kSlots of them at most, of
/// which a page is touched when it is first needed. Several values may have one key. For any number of
/// threads, not for signal handlers. Zero-initialized: empty.
template <typename Value, std::size_t kShards, std::size_t kSlots>
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
    const bool room = shard.used < most_used();
    if (room) {
      std::size_t at = home_of(key);
      for (; shard.slot[at].key != 0; at = next(at)) others = others || shard.slot[at].key == key;
      shard.slot[at].key = key;
      shard.slot[at].value() = value;
      ++shard.used;
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
    shard.lock.lock();
    std::size_t found = kSlots;
    for (std::size_t at = home_of(key); shard.slot[at].key != 0; at = next(at)) {
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
    SpinLock lock;
    std::size_t used;
    std::array<Slot, kSlots> slot;
  };

  static bool anything(const Value& /*value*/) { return true; }
  static std::uint64_t mix(std::uint64_t key) { return (key * 0x9e3779b97f4a7c15U) >> 20; }
  Shard& shard_of(std::uint64_t key) { return shard_[mix(key) & (kShards - 1)]; }
  static std::size_t home_of(std::uint64_t key) { return mix(key) / kShards & (kSlots - 1); }
  static std::size_t next(std::size_t at) { return (at + 1) & (kSlots - 1); }

  /// Moves those behind up, so that no search ends too early.
  static void remove(Shard& shard, std::size_t hole) {
    for (std::size_t at = next(hole); shard.slot[at].key != 0; at = next(at)) {
      const std::size_t home = home_of(shard.slot[at].key);
      const bool stays = hole < at ? hole < home && home <= at : hole < home || home <= at;
      if (stays) continue;
      shard.slot[hole] = shard.slot[at];
      hole = at;
    }
    shard.slot[hole].key = 0;
    --shard.used;
  }

  std::array<Shard, kShards> shard_;
};

}  // namespace culprit::mpi
