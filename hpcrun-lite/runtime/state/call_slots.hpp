#pragma once

#include "runtime/api.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

// Where calls of one path are counted, in a thread's table (CulpritCallTable).
namespace culprit::runtime {

/// What stands for the call path of a call whose node in the tree is not known: where it returns to, how deep
/// the stack is, and which function it is, as a loader's stub or an interpreter calls several from one place.
inline std::uint64_t key_of_place(const void* site, const void* stack, const void* function) {
  const auto number = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  return (number(site) ^ number(function) << 20) * 0x9e3779b97f4a7c15U ^ number(stack);
}

/// The slot of the calls with this key, which is not 0: of a power of two of them, and one for all that find
/// no room.
template <std::size_t Size>
CulpritCallCount& slot_of(CulpritCallCount (&slots)[Size], std::uint64_t key) {
  constexpr std::size_t kSlots = Size - 1;
  static_assert(std::has_single_bit(kSlots));
  const std::size_t at = key * 0x9e3779b97f4a7c15U >> (64 - std::countr_zero(kSlots));
  for (std::size_t probe = 0; probe < CulpritCallTable::kPathProbes; ++probe) {
    CulpritCallCount& slot = slots[(at + probe) % kSlots];
    if (slot.key == key) [[likely]]
      return slot;
    if (slot.key != 0) continue;
    slot.key = key;
    slot.smallest = ~std::uint64_t{0};
    return slot;
  }
  CulpritCallCount& others = slots[kSlots];
  if (others.key == 0) others.smallest = ~std::uint64_t{0};
  others.key = ~std::uint64_t{0};
  return others;
}

}  // namespace culprit::runtime
