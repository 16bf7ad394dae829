#pragma once

#include "cct/frame.hpp"
#include "measurement/limits.hpp"
#include "measurement/schedule.hpp"

#include <cstddef>
#include <cstdint>

// The bytes of a live measurement, shared by writer and reader. docs/formats.md, chapter "Live measurement".
namespace culprit::measurement::layout {

inline constexpr char kLiveMagic[8] = {'C', 'U', 'L', 'P', 'R', 'I', 'T', 'A'};
inline constexpr std::uint32_t kLiveVersion = 2;
inline constexpr std::uint32_t kGranule = 65536;
inline constexpr std::uint32_t kUnit = 32;
inline constexpr std::uint32_t kGranuleUnits = kGranule / kUnit;
inline constexpr std::uint32_t kReservedUnits =
    2;  // at the start of every granule; the block header lies there
inline constexpr std::uint32_t kBlockMagic = 0x4b4c4243;  // "CBLK"

inline constexpr std::size_t kMaxNotes = 32;
inline constexpr std::size_t kMaxBuildId = 64;
inline constexpr std::size_t kMaxPath = 4096;
inline constexpr std::size_t kArgumentBytes = 45056;

inline constexpr std::uint32_t kFlagRealtime = 1;
inline constexpr std::uint32_t kFlagTraced = 2;
inline constexpr std::uint32_t kFlagCopied = 4;
inline constexpr std::uint32_t kFlagForked = 8;  // its rank is that of the process which it was forked from
inline constexpr std::uint32_t kFlagWholeWorld = 16;  // every rank of the world was to be measured
inline constexpr std::uint32_t kFlagMainThread = 1;
inline constexpr std::uint32_t kFlagSummed = 2;

struct EventField {
  char name[128];
  char unit[16];
  std::uint64_t period;
  std::uint64_t unused;
};

/// The checksum is stored last: without it the process was killed while it wrote the note.
struct Note {
  char text[248];
  std::uint64_t checksum;
};
static_assert(sizeof(Note) == 256);

/// The sizes that addresses in the file follow from, in bytes but for the last.
struct Geometry {
  std::uint32_t header_size;
  std::uint32_t granule;
  std::uint32_t unit;
  std::uint32_t cell_units;  // of a cell, in units
};

/// What of time sampling was stopped.
struct Stops {
  std::uint64_t total;  // ns of all stops of sampling that are over
  std::uint64_t since;  // of the present stop, 0 while sampling goes on
};

/// When the process ran; CLOCK_MONOTONIC but where it says otherwise.
struct Clocks {
  std::uint64_t start_ns;
  std::int64_t start_realtime_ns;  // CLOCK_REALTIME at start_ns
  std::uint64_t end_ns;            // 0: it runs, or was killed
  std::uint64_t heartbeat_ns;
};

/// The place in MPI_COMM_WORLD.
struct World {
  std::int32_t rank;
  std::uint32_t rank_set;
  std::uint32_t size;
};

/// How many there are, and how many found no room.
struct Counts {
  std::uint32_t threads_lost;
  std::uint32_t notes;
  std::uint32_t argument_bytes;
  std::uint32_t argument_count;
  std::uint32_t modules_lost;
};

/// Of the header, by header_sum.hpp.
struct HeaderChecksum {
  std::uint64_t sum;            // of all words but the magic, these and the notes
  std::uint32_t changes_begun;  // of words that the sum is of: while these differ, it need not be right
  std::uint32_t changes_done;
};

struct Names {
  char host[256];
  char run_id[64];
  char mpi[256];
};

/// Granule 0 of the file.
struct Header {
  char magic[8];
  std::uint32_t version;
  Geometry geometry;
  std::uint32_t event_count;  // REALTIME included
  std::uint32_t flags;
  std::uint32_t end_reason;
  std::uint64_t pid;
  Clocks clocks;
  World world;
  Counts counts;
  Stops stops;
  std::uint64_t iterations;  // that the program marked
  std::uint64_t key;         // drawn at random for this file and its trace
  HeaderChecksum checksum;
  std::uint64_t file_bytes;    // how large the file was when this was stored
  std::uint32_t threads;       // arenas of threads that are in use
  std::uint32_t samples_lost;  // of threads that found no room
  std::byte unused1[512 - 176];
  EventField events[kMaxEvents + 1];
  std::byte unused2[2048 - 512 - sizeof(EventField) * (kMaxEvents + 1)];
  Names names;
  HostLoad host_load;
  std::byte unused3[4096 - 2624 - sizeof(HostLoad)];
  char program[kMaxPath];
  char directory[kMaxPath];
  Note note[kMaxNotes];
  char arguments[kArgumentBytes];
};
static_assert(sizeof(Header) == kGranule);
static_assert(offsetof(Header, end_reason) == 36 && offsetof(Header, clocks) == 48);
static_assert(offsetof(Header, world) == 80 && offsetof(Header, counts.modules_lost) == 108);
static_assert(offsetof(Header, events) == 512 && offsetof(Header, names) == 2048);
static_assert(offsetof(Header, program) == 4096 && offsetof(Header, note) == 12288);
static_assert(offsetof(Header, arguments) == 20480);
static_assert(offsetof(Header, checksum) == 144 && offsetof(Header, threads) == 168);
static_assert(offsetof(Header, host_load) == 2624);

/// The clock of waits at `time`: CLOCK_MONOTONIC that stands still while sampling is stopped.
constexpr std::uint64_t sampling_time(const Header& header, std::uint64_t time) {
  const std::uint64_t since = header.stops.since;
  const std::uint64_t running = since != 0 && since < time ? since : time;
  return running > header.stops.total ? running - header.stops.total : 0;
}

enum class BlockType : std::uint32_t { modules = 1, thread = 2, calls = 3 };

struct BlockHeader {
  std::uint32_t magic;
  std::uint32_t type;
  std::uint32_t index;
  std::uint32_t sequence;
  std::uint64_t size;
  std::uint64_t checksum;  // XXH64 of the four fields between magic and this
  std::byte unused[32];
};
static_assert(offsetof(BlockHeader, checksum) == 24);
static_assert(sizeof(BlockHeader) == kReservedUnits * kUnit);

/// Units 2 to 9 of a thread's arena.
struct ThreadHeader {
  std::uint64_t tid;
  std::uint32_t ordinal;
  std::uint32_t flags;
  std::uint64_t start_offset;
  std::uint32_t start_module;
  std::uint32_t start_kind;
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t samples;
  std::uint64_t partial;
  std::uint64_t partial_ns;
  std::uint64_t unused1;
  std::uint64_t full;
  std::uint64_t handler_ns;
  std::uint32_t used;
  std::uint32_t wait_sequence;
  std::uint32_t wait_node;
  std::uint32_t wait_mark;
  std::uint64_t wait_enter_ns;
  std::uint64_t bridged;
  std::uint32_t first_epoch;       // the newest record of one-sided communication, 0 for none
  std::uint32_t epochs_lost;       // calls that found no room for theirs
  std::uint64_t halvings;          // how often the sampling rate was halved because the handler took too long
  std::uint64_t most_halvings;     // of one thread: its rate was the nominal one / 2^most_halvings at last
  std::uint64_t sum;               // of the thread: thread_sum.hpp, where kFlagSummed is set
  std::uint32_t changes;           // odd while anything that the sum is of changes
  std::uint32_t schedule_changes;  // odd while the schedule is being written, by whichever thread
  Schedule schedule;
  std::uint64_t schedule_balance;  // brings what these eight words add to the thread sum to 0
  std::uint64_t life_start_ns;     // of the last thread that used the tree
  std::uint64_t lived_ns;          // those before it: the sum of their lives
  std::uint32_t lives;             // how many threads used the tree
  std::uint32_t unused2;
};
static_assert(offsetof(ThreadHeader, sum) == 152 && offsetof(ThreadHeader, changes) == 160);
static_assert(offsetof(ThreadHeader, schedule) == 168 && offsetof(ThreadHeader, schedule_balance) == 224);
static_assert(sizeof(ThreadHeader) == 8 * kUnit && offsetof(ThreadHeader, life_start_ns) == 232);

/// The sum of the lives of a tree's threads; the last one ends, or is seen, at `end_ns`.
constexpr std::uint64_t lived(const ThreadHeader& head, std::uint64_t end_ns) {
  return head.lived_ns + (end_ns > head.life_start_ns ? end_ns - head.life_start_ns : 0);
}

inline constexpr NodeIndex kThreadHeaderUnit = kReservedUnits;
inline constexpr NodeIndex kRootUnit = 10;
inline constexpr NodeIndex kProgramRootUnit = 11;
inline constexpr NodeIndex kThreadRootUnit = 12;
inline constexpr NodeIndex kPartialUnit = 13;
inline constexpr NodeIndex kFirstFreeUnit = 14;

/// A node of the tree; `place` is module and frame kind.
struct Node {
  std::uint64_t offset;
  std::uint32_t place;
  std::uint32_t parent;
  std::uint32_t left;
  std::uint32_t right;
  std::uint32_t first_child;
  std::uint32_t cell;
};
static_assert(sizeof(Node) == kUnit);

/// One accumulator of one-sided communication, or one stamp, where the words from size_class on are instance,
/// enter, exit, last and order, and peers holds members and peer; the records of a thread form a list. Of a
/// waiting call and a gap, window is the longest; of a gap, order the bits of a double, the sum of their
/// squares in ns²; of stretch_samples, order is the sum of the squares of their weights. Of call_count, count
/// is the calls, window the messages, total_ns and least_ns bytes sent and received, order the messages'
/// bytes, size_class and peers those of the smallest and of the largest message. Of bytes_moved, total_ns is
/// what was written, least_ns what was read.
struct EpochRecord {
  std::uint32_t next;
  std::uint32_t node;
  std::uint64_t window;
  std::uint64_t peers;
  std::uint32_t kind;
  std::uint32_t size_class;
  std::uint64_t count;
  std::uint64_t total_ns;
  std::uint64_t least_ns;
  std::uint64_t order;
};
static_assert(sizeof(EpochRecord) == 2 * kUnit);

inline constexpr std::uint32_t kPlaceNoModule = 0xffffff;

constexpr std::uint32_t place_of(cct::FrameKey key) {
  return (key.module & 0xffffff) | static_cast<std::uint32_t>(key.kind) << 24;
}
constexpr std::uint32_t module_of(std::uint32_t place) {
  const std::uint32_t module = place & 0xffffff;
  return module == kPlaceNoModule ? cct::kNoModule : module;
}
constexpr std::uint32_t kind_of(std::uint32_t place) {
  return place >> 24;
}

/// The fixed part of a cell; EventField values follow, two to a unit.
struct Cell {
  std::uint64_t time_ns;
  std::uint64_t samples;
  std::uint64_t weight_sq;
  std::uint64_t blocked;
  std::uint64_t cpu_ns;
  std::uint64_t marked_ns;
  std::uint64_t mark;
  std::uint64_t
      stretch;  // of its first sample: kInWaitingCall, kUnknownStretch or the unit of a node; 0: none yet
};
static_assert(sizeof(Cell) == 2 * kUnit);

struct CellEvent {
  std::uint64_t value;
  std::uint64_t samples;
};

constexpr std::uint32_t cell_units(std::size_t events_besides_realtime) {
  return static_cast<std::uint32_t>(2 + (events_besides_realtime + 1) / 2);
}

/// Units 2 to 513 of the module arena.
inline constexpr std::uint32_t kSlotUnit = kReservedUnits;
inline constexpr std::uint32_t kFirstModuleUnit = kSlotUnit + kMaxModules * 4 / kUnit;

inline constexpr std::uint32_t kModuleOwn = 1;
inline constexpr std::uint32_t kModuleExecutable = 2;
inline constexpr std::uint32_t kModuleVdso = 4;
inline constexpr std::uint32_t kModuleNoUnwind = 8;
inline constexpr std::uint32_t kModuleRegion = 16;

struct ModuleRecord {
  std::uint64_t load_address;
  std::uint64_t size;
  std::int64_t mtime_ns;
  std::uint32_t flags;
  std::uint32_t stated;  // 0 before size and modification time were looked up; then their checksum
  std::uint16_t path_size;
  std::uint16_t build_id_size;
  std::uint32_t counters;  // the unit of its ModuleCounters; 0: it has none
  std::uint64_t checksum;  // of all but size, modification time and stated: record_checksums.hpp
  // build-id, then path
};
static_assert(sizeof(ModuleRecord) == 48);

/// What walks could not do by a module's call-frame information.
struct ModuleCounters {
  std::uint64_t bridged;  // as checked_count() has it
  std::uint64_t partial;  // likewise
  std::uint64_t unused[2];
};
static_assert(sizeof(ModuleCounters) == kUnit);

}  // namespace culprit::measurement::layout
