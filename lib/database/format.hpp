#pragma once

#include <bit>
#include <cstdint>

// The constants of the database file. docs/formats.md, chapter "Database", states the bytes; names here
// follow it.
namespace culprit::database::format {

static_assert(std::endian::native == std::endian::little, "the file is little-endian and is read in place");

inline constexpr char kMagic[8] = {'C', 'U', 'L', 'P', 'R', 'I', 'T', 'D'};
inline constexpr std::uint32_t kVersion = 1;

inline constexpr std::uint64_t kHeaderSize = 64;
inline constexpr std::uint64_t kHeaderHashed = 56;  ///< the header's own checksum covers this much
inline constexpr std::uint64_t kTableEntrySize = 32;
inline constexpr std::uint64_t kAlignment = 8;
inline constexpr std::uint32_t kMaxSections = 1024;

/// Sections by their number in the file; never renumbered, never reused.
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
  profile_index = 17,
  profile_blocks = 18,
  context_index = 19,
  context_blocks = 20,
  waits = 21,
};
inline constexpr std::uint32_t kSections = 21;

/// Whether a section's parts carry their own checksums, verified when they are read; its entry's checksum is
/// 0 then.
constexpr bool self_checked(Section section) {
  return section == Section::context_summary_data || section == Section::flat_summary_data ||
         section == Section::source_data || section == Section::profile_blocks ||
         section == Section::context_blocks;
}

inline constexpr std::uint64_t kStringEndSize = 8;
inline constexpr std::uint64_t kContextSize = 32;
inline constexpr std::uint64_t kFlatSize = 28;
inline constexpr std::uint64_t kLocationSize = 48;
inline constexpr std::uint64_t kBlameSize = 32;
inline constexpr std::uint64_t kWaitSize = 40;
inline constexpr std::uint64_t kSummaryIndexSize = 56;
inline constexpr std::uint64_t kSourceIndexSize = 40;
inline constexpr std::uint64_t kBlockIndexSize = 24;

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
    case Section::source_index:
      return kSourceIndexSize;
    case Section::profile_index:
    case Section::context_index:
      return kBlockIndexSize;
    default:
      return 1;
  }
}

/// A host's name is no longer than this, so that a reader can bound what it allocates.
inline constexpr std::uint64_t kMaxHostName = 255;

/// A source compressed further than this is stored as it is, so that a reader can bound what it allocates.
inline constexpr std::uint64_t kMaxCompression = 250;

}  // namespace culprit::database::format
