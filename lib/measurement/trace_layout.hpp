#pragma once

#include "measurement/trace_operation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

// The bytes of a trace, shared by writer and reader. docs/formats.md, chapter "Trace".
namespace culprit::measurement::trace {

inline constexpr char kMagic[8] = {'C', 'U', 'L', 'P', 'R', 'I', 'T', 'T'};
inline constexpr std::uint32_t kVersion = 5,
                               kOldestVersion = 3;  // 3: without waits of threads; 4: without holders
/// Of a block with its header. Small enough that four of them per thread cost little, large enough that a
/// new block's fresh start costs less than a percent.
inline constexpr std::uint32_t kSlot = 32768;
inline constexpr std::uint32_t kBlockMagic = 0x42525443;  // "CTRB"
inline constexpr std::uint32_t kProcessStream = 0xffffffff;

inline constexpr std::uint32_t kLimitReached = 1;
inline constexpr std::uint32_t kWriteFailed = 2;
inline constexpr std::uint32_t kAllWritten = 4;  // what lies behind the slots is the index

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_size;
  std::uint32_t slot;
  std::uint32_t flags;
  std::uint64_t pid;
  std::uint64_t start_ns;
  std::uint64_t stopped_ns;
  std::uint64_t error;
  std::uint64_t limit;
  std::uint64_t dropped;
  std::uint64_t end_ns;
  std::uint32_t end_reason;
  std::uint32_t index_entries;
  std::uint64_t index_offset;
  std::uint64_t index_checksum;
  std::int64_t start_realtime_ns;
  std::uint64_t key;    // the measurement's
  std::uint32_t slots;  // up to the last that was written when this was
  std::uint32_t unused;
  std::uint64_t checksum;  // XXH64 of all before it
};
static_assert(sizeof(Header) == 136 && offsetof(Header, checksum) == 128);

inline constexpr std::uint32_t kBlockComplete = 1;

struct BlockHeader {
  std::uint32_t magic;
  std::uint32_t flags;
  std::uint32_t stream;
  std::uint32_t sequence;
  std::uint32_t used;
  std::uint32_t unused1;
  std::uint64_t base_ns;
  std::uint64_t last_ns;
  std::uint64_t checksum;  // of the used bytes
  std::uint64_t unused2;
  std::uint64_t header_checksum;  // XXH64 of all before it
};
static_assert(sizeof(BlockHeader) == 64 && offsetof(BlockHeader, checksum) == 40);

inline constexpr std::uint32_t kPayload = kSlot - sizeof(BlockHeader);

struct IndexEntry {
  std::uint32_t stream;
  std::uint32_t sequence;
  std::uint32_t used;
  std::uint32_t unused;
  std::uint64_t base_ns;
  std::uint64_t last_ns;
};
static_assert(sizeof(IndexEntry) == 32);

inline constexpr unsigned kDefinition = 1;
inline constexpr unsigned kClockPair = 2;

// The first byte of a record.
inline constexpr unsigned kRecordMask = 3;
inline constexpr unsigned kThreadWait = 0;  // 0 as a whole is no record
inline constexpr unsigned kSample = 1;
inline constexpr unsigned kCall = 2;
inline constexpr unsigned kContinuation = 3;
inline constexpr unsigned kSampleWaitShift = 2;
inline constexpr unsigned kSampleWaitMask = 7;
inline constexpr unsigned kSampleWeight = 32;
/// A sample that is a reading: it has an event in place of a wait, and a value in place of a weight.
inline constexpr unsigned kReading = 64;
/// A wait of a thread that is many short ones: with a count, and without a kind.
inline constexpr unsigned kShortWaits = 32;
/// A wait of a thread with a kind, of which it is known for whom it was.
inline constexpr unsigned kWaitHolder = 32;
/// A region in place of a wait: with a node, and in place of a kind, whether it is a parallel one.
inline constexpr unsigned kRegion = 64;
inline constexpr unsigned kParallelRegion = 68;
inline constexpr unsigned kCallNode = 4;
inline constexpr unsigned kCallOperations = 8;
inline constexpr unsigned kCallAny = 16;
/// Samples are recorded to 64 ns: their own uncertainty is larger, and a byte less is a sixth.
inline constexpr unsigned kSampleTimeShift = 6;

// The first byte of an operation.
inline constexpr unsigned kOperationKind = 1;
inline constexpr unsigned kOperationContext = 2;
inline constexpr unsigned kOperationPeer = 4;
inline constexpr unsigned kOperationTag = 8;
inline constexpr unsigned kOperationBytes = 16;
inline constexpr unsigned kOperationId = 32;
inline constexpr unsigned kOperationRest = 64;
inline constexpr unsigned kOperationMore = 128;

/// What one call may hold: far above any program's MPI_Waitall, and 75 MB for a reader.
inline constexpr std::uint32_t kMaxOperations = std::uint32_t{1} << 20;

/// What coding and decoding a block remember.
struct BlockState {
  static constexpr unsigned kPlaceBits = 6;
  struct Place {
    std::uint32_t node = 0;
    Operation operation;
  };

  std::uint64_t time = 0;
  std::uint64_t weight = 0;
  std::uint64_t unit = 0;  // of weights
  std::uint64_t last_id = 0;
  std::uint32_t sampled_node = 0;
  std::array<std::uint64_t, kSampleWaitMask + 1> values = {};  // of readings, by event
  std::array<Place, std::size_t{1} << kPlaceBits> places;

  void start(std::uint64_t base_ns) {
    time = base_ns;
    weight = 0;
    unit = 0;
    last_id = 0;
    sampled_node = 0;
    values.fill(0);
    places.fill(Place{});
  }
  static constexpr unsigned place_of(std::uint32_t node) { return node * 2654435761u >> (32 - kPlaceBits); }
};

constexpr unsigned flags_of(const Operation& operation) {
  return (operation.begins ? 1u : 0u) | (operation.completes ? 2u : 0u) | (operation.cancelled ? 4u : 0u) |
         (operation.exclusive ? 8u : 0u) | (operation.no_precede ? 16u : 0u) |
         (operation.no_succeed ? 32u : 0u) | (operation.no_check ? 64u : 0u);
}
constexpr void set_flags(Operation& operation, unsigned flags) {
  operation.begins = (flags & 1) != 0;
  operation.completes = (flags & 2) != 0;
  operation.cancelled = (flags & 4) != 0;
  operation.exclusive = (flags & 8) != 0;
  operation.no_precede = (flags & 16) != 0;
  operation.no_succeed = (flags & 32) != 0;
  operation.no_check = (flags & 64) != 0;
}

}  // namespace culprit::measurement::trace
