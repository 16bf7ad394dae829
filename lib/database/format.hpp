#pragma once

#include <bit>
#include <cstdint>

// The constants of the database file. docs/formats.md, chapter "Database", states the bytes; names here
// follow it.
namespace culprit::database::format {

static_assert(std::endian::native == std::endian::little, "the file is little-endian and is read in place");

inline constexpr char kMagic[8] = {'C', 'U', 'L', 'P', 'R', 'I', 'T', 'D'};
inline constexpr std::uint32_t kVersion = 2;

inline constexpr std::uint64_t kHeaderSize = 64;
inline constexpr std::uint64_t kHeaderHashed = 56;  ///< the header's own checksum covers this much
inline constexpr std::uint64_t kTableEntrySize = 32;
inline constexpr std::uint64_t kAlignment = 8;
inline constexpr std::uint32_t kMaxSections = 1024;

/// A checksum covers this many bytes of a part: what looking at one number costs is reading this much.
inline constexpr std::uint64_t kChunk = 16384;

/// Sections by their number in the file; never renumbered, never reused (17 to 20 were of version 1).
enum class Section : std::uint32_t {
  meta = 1,
  string_ends = 2,
  string_bytes = 3,
  modules = 4,
  contexts = 5,
  flat = 6,
  locations = 7,
  context_summary_index = 8,
  context_summary_data = 9,
  flat_summary_index = 10,
  flat_summary_data = 11,
  balance = 12,
  blame = 13,
  suspects = 14,
  source_index = 15,
  source_data = 16,
  waits = 21,
  tile_index = 22,
  flat_instance_ends = 23,
  flat_instances = 24,
  flat_blame = 25,
  procedure_of_context = 26,
  procedures = 27,
  procedure_instances = 28,
  trace_summary = 29,
  causes = 30,
  critical_path = 31,
  hotspots = 32,
  variation = 33,
  time_map = 34,
  segment_metrics = 35,
  schedules = 36,
  machine = 37,
  direct_waits = 38,
  varying_gaps = 39,
  call_traffic = 40,
  partner_traffic = 41,
};
inline constexpr std::uint32_t kLastSection = 41;

/// Those from here on may be missing: files of older writers, of version 2 too, have none.
inline constexpr std::uint32_t kFirstOptional = 29;

constexpr bool is_known(std::uint32_t number) {
  return number >= 1 && number <= kLastSection && (number <= 16 || number >= 21);
}

inline constexpr std::uint64_t kStringEndSize = 8;
inline constexpr std::uint64_t kContextSize = 32;
inline constexpr std::uint64_t kFlatSize = 28;
inline constexpr std::uint64_t kLocationSize = 48;
/// How the process of a location ended, where not in order.
inline constexpr std::uint8_t kCutShort = 1, kLeft = 2;
inline constexpr std::uint64_t kBlameSize = 32;
inline constexpr std::uint64_t kWaitSize = 40;
inline constexpr std::uint64_t kDirectWaitSize = 8;
inline constexpr std::uint64_t kCauseSize = 32;
inline constexpr std::uint64_t kHotspotSize = 24;
inline constexpr std::uint64_t kSummaryIndexSize = 48;
inline constexpr std::uint64_t kSourceIndexSize = 32;
inline constexpr std::uint64_t kTileIndexSize = 32;
inline constexpr std::uint64_t kFlatBlameSize = 56;
inline constexpr std::uint64_t kProcedureSize = 16;
inline constexpr std::uint64_t kNumberSize = 4;
inline constexpr std::uint64_t kScheduleSize = 160;

inline constexpr std::uint64_t kTileHeaderSize = 24;
inline constexpr std::uint64_t kTileEntrySize = 12;
/// A tile's flag: behind those of contexts its directory has entries of files and load modules.
inline constexpr std::uint32_t kTileHasScopes = 1;

/// Reading a list costs about as much as this many of its values, whatever it holds.
inline constexpr std::uint64_t kListCost = 8;
/// Inclusive values are stored where adding them up would cost this many times what reading them does: the
/// more, the smaller the file; 16 lists of 100 000 values are added up in some milliseconds.
inline constexpr std::uint64_t kMaxCost = 16;

/// The size of a section's elements; 1 where it is no array.
constexpr std::uint64_t stride(Section section) {
  switch (section) {
    case Section::string_ends:
      return kStringEndSize;
    case Section::contexts:
      return kContextSize;
    case Section::flat:
      return kFlatSize;
    case Section::locations:
      return kLocationSize;
    case Section::context_summary_index:
    case Section::flat_summary_index:
      return kSummaryIndexSize;
    case Section::blame:
      return kBlameSize;
    case Section::waits:
      return kWaitSize;
    case Section::direct_waits:
      return kDirectWaitSize;
    case Section::causes:
      return kCauseSize;
    case Section::hotspots:
      return kHotspotSize;
    case Section::source_index:
      return kSourceIndexSize;
    case Section::tile_index:
      return kTileIndexSize;
    case Section::flat_blame:
      return kFlatBlameSize;
    case Section::procedures:
      return kProcedureSize;
    case Section::schedules:
      return kScheduleSize;
    case Section::flat_instance_ends:
    case Section::flat_instances:
    case Section::procedure_of_context:
    case Section::procedure_instances:
      return kNumberSize;
    default:
      return 1;
  }
}

/// Of a wait of which it is not known how much of it is direct.
inline constexpr std::uint64_t kDirectNotKnown = 0xffffffffffffffff;

/// A host's name is no longer than this, so that a reader can bound what it allocates.
inline constexpr std::uint64_t kMaxHostName = 255;

/// A source compressed further than this is stored as it is, so that a reader can bound what it allocates.
inline constexpr std::uint64_t kMaxCompression = 250;

}  // namespace culprit::database::format
