#pragma once

#include "bytes/varint.hpp"
#include "measurement/limits.hpp"

#include <cstddef>
#include <cstdint>

// The bytes of a sealed measurement, shared by writer and reader. docs/formats.md, chapter "Sealed
// measurement".
namespace culprit::measurement::sealed {

inline constexpr char kMagic[8] = {'C', 'U', 'L', 'P', 'R', 'I', 'T', 'M'};
inline constexpr std::uint32_t kVersion = 1;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_size;
  std::uint64_t file_size;
  std::uint32_t section_count;
  std::uint32_t entry_size;
  std::uint64_t table_checksum;
  std::uint64_t header_checksum;  // of all bytes before it
};
static_assert(sizeof(Header) == 48);

enum class SectionType : std::uint32_t {
  process = 1,
  modules = 2,
  threads = 3,
  tree = 4,
  epochs = 5,
  units = 6,
  stretches = 7
};

// What a node's samples are in, as a number: an unknown stretch, an MPI call that waits, or the gap after the
// call whose node has the number less kFirstStretch.
inline constexpr std::uint32_t kNoStretch = 0;
inline constexpr std::uint32_t kInCall = 1;
inline constexpr std::uint32_t kFirstStretch = 2;

struct SectionEntry {
  std::uint32_t type;
  std::uint32_t index;
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t checksum;
};
static_assert(sizeof(SectionEntry) == 32);

// The tag of a node: frame kind in the low bits, then these, then how far to climb.
inline constexpr unsigned kNodeKindMask = 7;
inline constexpr unsigned kNodeHasCell = 8;
inline constexpr unsigned kNodeParentsModule = 16;
inline constexpr unsigned kNodeUpShift = 5;
inline constexpr unsigned kNodeUpMore = 7;  // a varint with the rest follows

// The tag of a cell: which fields follow; the wait mark in the high bits.
inline constexpr unsigned kCellWeightSq = 1;
inline constexpr unsigned kCellBlocked = 2;
inline constexpr unsigned kCellCpu = 4;
inline constexpr unsigned kCellMarked = 8;
inline constexpr unsigned kCellMarkedWhole = 16;
inline constexpr unsigned kCellMarkShift = 5;

using bytes::zigzag;

}  // namespace culprit::measurement::sealed
