#pragma once

#include "measurement/checksum.hpp"
#include "measurement/live_layout.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

// The checksum of a live thread (docs/algorithms.md 13): a sum, modulo 2^64, to which its header, every node,
// every value and every epoch record contribute, so that the handler keeps it up to date by adding to it and
// never looks at the rest. A changed bit of any of them, and any one changed word, changes it. Shared by
// writer and reader; docs/formats.md, chapter "Live measurement".
namespace culprit::measurement::layout {

/// What a node adds when it is made: its key, its parent and where it lies. Not its links and its cell: a
/// wrong one leads past nodes and values that are part of the sum.
constexpr std::uint64_t node_sum(std::uint32_t unit, const Node& node) {
  std::uint64_t mixed = node.offset * 0x9e3779b97f4a7c15U +
                        (std::uint64_t{node.place} << 32 | node.parent) * 0xc2b2ae3d27d4eb4fU;
  mixed ^= mixed >> 32;
  return mixed * 0xd6e8feb86659fd93U * (2 * std::uint64_t{unit} + 1);
}

/// What the fields of a cell that lies at `unit` add. Linear in each: of what is added to a cell it is what
/// the sum grows by.
constexpr std::uint64_t cell_sum(std::uint32_t unit, const Cell& cell) {
  const std::uint64_t fields = cell.time_ns * 0x9e3779b185ebca87U + cell.samples * 0xc2b2ae3d27d4eb4fU +
                               cell.weight_sq * 0x165667b19e3779f9U + cell.blocked * 0x85ebca77c2b2ae63U +
                               cell.cpu_ns * 0x27d4eb2f165667c5U + cell.marked_ns * 0xa0761d6478bd642fU +
                               cell.mark * 0xe7037ed1a0b428dbU + cell.stretch * 0x9fb21c651e98df25U;
  return fields * (2 * std::uint64_t{unit} + 1);
}

/// The same of its `event`th event besides REALTIME.
constexpr std::uint64_t event_sum(std::uint32_t unit, std::size_t event, const CellEvent& values) {
  const std::uint64_t fields = values.value * 0x8ebc6af09c88c6e3U + values.samples * 0x589965cc75374cc3U;
  return fields * (2 * std::uint64_t{unit} + 1) * (2 * std::uint64_t{event} + 3);
}

/// The place of a unit's first word, as word_sum() counts words.
constexpr std::uint64_t place_of_unit(std::uint32_t unit) {
  return std::uint64_t{unit} * (kUnit / sizeof(std::uint64_t));
}

/// What the schedule of a thread adds with the word behind it: 0 unless it is being written or damaged. So
/// others than the thread itself may change it, whose changes of the sum they would disturb.
inline std::uint64_t schedule_sum(const ThreadHeader& head) {
  constexpr std::size_t kBegin = offsetof(ThreadHeader, schedule);
  constexpr std::size_t kEnd = offsetof(ThreadHeader, schedule_balance) + sizeof head.schedule_balance;
  return words_sum(place_of_unit(kThreadHeaderUnit) + kBegin / sizeof(std::uint64_t), &head.schedule,
                   kEnd - kBegin);
}

/// The word behind it that makes this so.
inline std::uint64_t schedule_balance(const Schedule& schedule) {
  ThreadHeader head{};
  head.schedule = schedule;
  constexpr std::uint64_t kPlace =
      place_of_unit(kThreadHeaderUnit) + offsetof(ThreadHeader, schedule_balance) / sizeof(std::uint64_t);
  constexpr std::uint64_t kFactor = word_sum(kPlace, 1);
  std::uint64_t inverse = kFactor;  // by Newton's method, modulo 2^64: each step doubles the right bits
  for (int step = 0; step < 6; ++step) inverse *= 2 - kFactor * inverse;
  return (0 - schedule_sum(head)) * inverse;
}

/// What the thread's header adds: all of it but the sum itself, the counts of changes, and the schedule,
/// which adds nothing.
inline std::uint64_t thread_header_sum(const ThreadHeader& head) {
  ThreadHeader covered = head;
  covered.sum = 0;
  covered.changes = covered.schedule_changes = 0;
  covered.schedule = {};
  covered.schedule_balance = 0;
  return words_sum(place_of_unit(kThreadHeaderUnit), &covered, sizeof covered);
}

/// What an epoch record that lies at `unit` adds.
inline std::uint64_t epoch_sum(std::uint32_t unit, const EpochRecord& record) {
  return words_sum(place_of_unit(unit), &record, sizeof record);
}

/// What the thread's sum grows by where `field` of its header turns to `after`.
template <typename T>
std::uint64_t growth(const ThreadHeader& head, const T& field, T after) noexcept {
  const auto offset = reinterpret_cast<const std::byte*>(&field) - reinterpret_cast<const std::byte*>(&head);
  const T before = std::atomic_ref(const_cast<T&>(field)).load(std::memory_order_relaxed);
  return field_sum(place_of_unit(kThreadHeaderUnit), static_cast<std::size_t>(offset), before, after);
}

}  // namespace culprit::measurement::layout
