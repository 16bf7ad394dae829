#pragma once

#include "measurement/checksum.hpp"
#include "measurement/live_layout.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

// The checksum of a live measurement's header, which several threads may change at the same time: a sum of
// its words, to which each adds what its change adds. Before and after it counts; where the two counts
// differ, the process was killed in between and the sum need not be right. Shared by writer and reader;
// docs/formats.md, chapter "Live measurement".
namespace culprit::measurement::layout {

/// The sum that belongs to what the header holds: all of it but the magic, the sum itself, the counts of
/// changes and the notes, which have checksums of their own.
inline std::uint64_t header_sum(const Header& header) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  constexpr std::size_t kAfterSum = offsetof(Header, file_bytes);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&header);
  const auto part = [bytes](std::size_t from, std::size_t to) {
    return words_sum(from / kWord, bytes + from, to - from);
  };
  return part(offsetof(Header, version), offsetof(Header, checksum.sum)) +
         part(kAfterSum, offsetof(Header, note)) + part(offsetof(Header, arguments), sizeof header);
}

/// Stores `after` in a field of a header that readers may see. Async-signal-safe; any thread.
template <typename Field>
void set_field(Header& header, Field& field, Field after) noexcept {
  const auto offset = reinterpret_cast<std::byte*>(&field) - reinterpret_cast<std::byte*>(&header);
  std::atomic_ref(header.checksum.changes_begun).fetch_add(1, std::memory_order_relaxed);
  const Field before = std::atomic_ref(field).exchange(after, std::memory_order_acq_rel);
  std::atomic_ref(header.checksum.sum)
      .fetch_add(field_sum(0, static_cast<std::size_t>(offset), before, after), std::memory_order_relaxed);
  std::atomic_ref(header.checksum.changes_done).fetch_add(1, std::memory_order_release);
}

/// Stores `least` in a field that holds less, likewise.
template <typename Field>
void grow_field(Header& header, Field& field, Field least) noexcept {
  Field before = std::atomic_ref(field).load(std::memory_order_relaxed);
  if (before >= least) return;
  const auto offset = reinterpret_cast<std::byte*>(&field) - reinterpret_cast<std::byte*>(&header);
  std::atomic_ref(header.checksum.changes_begun).fetch_add(1, std::memory_order_relaxed);
  while (before < least &&
         !std::atomic_ref(field).compare_exchange_weak(before, least, std::memory_order_acq_rel))
    continue;
  if (before < least) {
    std::atomic_ref(header.checksum.sum)
        .fetch_add(field_sum(0, static_cast<std::size_t>(offset), before, least), std::memory_order_relaxed);
  }
  std::atomic_ref(header.checksum.changes_done).fetch_add(1, std::memory_order_release);
}

/// Adds to a field, likewise, and returns what it was before.
inline std::uint32_t count_field(Header& header, std::uint32_t& field, std::uint32_t added = 1) noexcept {
  const auto offset = reinterpret_cast<std::byte*>(&field) - reinterpret_cast<std::byte*>(&header);
  std::atomic_ref(header.checksum.changes_begun).fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t before = std::atomic_ref(field).fetch_add(added, std::memory_order_acq_rel);
  std::atomic_ref(header.checksum.sum)
      .fetch_add(field_sum(0, static_cast<std::size_t>(offset), before, before + added),
                 std::memory_order_relaxed);
  std::atomic_ref(header.checksum.changes_done).fetch_add(1, std::memory_order_release);
  return before;
}

/// Lets `write` fill `bytes` bytes of the header from `first` on. One thread at a time may change these.
template <typename Write>
void set_bytes(Header& header, void* first, std::size_t bytes, Write write) noexcept {
  const auto offset = static_cast<std::byte*>(first) - reinterpret_cast<std::byte*>(&header);
  const std::uint64_t place = static_cast<std::size_t>(offset) / sizeof(std::uint64_t);
  std::atomic_ref(header.checksum.changes_begun).fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t before = words_sum(place, first, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  write();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::atomic_ref(header.checksum.sum)
      .fetch_add(words_sum(place, first, bytes) - before, std::memory_order_relaxed);
  std::atomic_ref(header.checksum.changes_done).fetch_add(1, std::memory_order_release);
}

/// Never 0, which a note that is not written to its end has.
inline std::uint64_t note_checksum(const Note& note) {
  return XXH64(note.text, sizeof note.text, 1) | 1;
}

}  // namespace culprit::measurement::layout
