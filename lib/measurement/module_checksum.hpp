#pragma once

#include "measurement/checksum.hpp"
#include "measurement/live_layout.hpp"

#include <cstddef>
#include <cstdint>

// Checksums of a module's record in a live measurement, of what is known at once and of what is looked up
// later. Shared by writer and reader; docs/formats.md, chapter "Live measurement".
namespace culprit::measurement::layout {

/// Of all but size and modification time. `text`: build-id and path, which follow the record.
inline std::uint64_t module_checksum(const ModuleRecord& record, const std::byte* text) {
  struct {
    std::uint64_t load_address;
    std::uint32_t flags;
    std::uint16_t path_size;
    std::uint16_t build_id_size;
    std::uint64_t counters;
  } const head = {record.load_address, record.flags, record.path_size, record.build_id_size, record.counters};
  const std::size_t size = std::size_t{record.build_id_size} + record.path_size;
  return XXH64(text, size, XXH64(&head, sizeof head, 0));
}

/// Of size and modification time; never 0.
inline std::uint32_t stat_checksum(const ModuleRecord& record) {
  const struct {
    std::uint64_t size;
    std::int64_t mtime_ns;
  } words = {record.size, record.mtime_ns};
  return static_cast<std::uint32_t>(XXH64(&words, sizeof words, 0)) | 1;
}

}  // namespace culprit::measurement::layout
