#pragma once

#include "database/machine.hpp"
#include "database/trace_analyses.hpp"
#include "metrics/accumulator.hpp"
#include "metrics/wait_pattern.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

// What the run's MPI calls took and moved, from time lines (docs/algorithms.md 7), or, without them, as their
// wrappers counted it.
namespace culprit::database {

/// The calls at one call path, of all threads. Section 40; the bytes are those of the file.
struct CallTraffic {
  std::uint32_t context = 0;  ///< the call: a frontier frame, where it has one
  std::uint32_t threads = 0;  ///< that made it
  std::uint32_t busiest = 0;  ///< the location that spent most time in it
  std::uint32_t unused = 0;
  std::uint64_t calls = 0;
  std::uint64_t ns = 0;          ///< of all threads
  std::uint64_t busiest_ns = 0;  ///< of that location
  std::uint64_t longest_ns = 0;  ///< of one call; 0: not known, as not all were timed
  /// Sent by these calls or arrived in them; a process's part in a collective is one.
  std::uint64_t messages = 0;
  std::uint64_t message_bytes = 0;          ///< of those: the larger of what each gave and got
  std::uint64_t smallest = 0, largest = 0;  ///< of one of them; 0 without messages
  std::uint64_t sent_bytes = 0, received_bytes = 0;

  friend bool operator==(const CallTraffic&, const CallTraffic&) = default;
};
static_assert(sizeof(CallTraffic) == 96);

/// What some consecutive processes sent to some others by messages and one-sided operations. Section 41; the
/// bytes are those of the file.
struct PartnerTraffic {
  std::uint64_t communicator = 0;  ///< distinguished by this alone; 1: MPI_COMM_WORLD; 0: several small ones
  std::uint32_t members = 0;       ///< processes in it; 0: several
  std::int32_t from = 0, to = 0;   ///< the first ranks in MPI_COMM_WORLD
  std::uint32_t ranks = 1;         ///< that each side stands for, the same in all rows
  std::uint64_t messages = 0, bytes = 0;

  friend bool operator==(const PartnerTraffic&, const PartnerTraffic&) = default;
};
static_assert(sizeof(PartnerTraffic) == 40);

/// Without time lines partners are those of messages alone, and communicators with as many members of which
/// the first and the last are the same are one.
struct Communication {
  std::vector<CallTraffic> calls;        ///< most time first
  std::vector<PartnerTraffic> partners;  ///< by communicator, most bytes first, then ranks

  friend bool operator==(const Communication&, const Communication&) = default;
};

/// Whether all that it refers to exists.
bool is_sound(const Communication& communication, std::size_t locations, std::size_t contexts);

}  // namespace culprit::database

// The experiment database in memory: what merge hands to the writer and what the reader maps. docs/formats.md
// states the bytes of the file.
namespace culprit::database {

using ContextId =
    std::uint32_t;             ///< pre-order number in the canonical tree; the descendants of x are (x, end)
using FlatId = std::uint32_t;  ///< pre-order number in the flat tree
using StringId = std::uint32_t;  ///< index into the string table; 0 is the empty string
inline constexpr std::uint32_t kNone = 0xffffffff;

enum class ContextKind : std::uint8_t {
  root,
  thread_root,
  partial,
  module,
  file,
  procedure,
  inlined,
  loop,
  call,
  statement,
  region,
};
// `<program root>` is a `root` below the super-root (also `root`). The calling context tree holds root,
// thread_root, partial, procedure, inlined, loop, call, statement and region (what the program marked;
// between a call and the procedure that began it); the flat tree root, module, file, procedure, inlined, loop
// and statement.

/// The module of Python functions.
inline constexpr std::string_view kPythonModule = "<python>";

/// What a context is to idleness (docs/algorithms.md 5); bits.
enum ContextFlags : std::uint8_t {
  kFrontier = 1,  ///< outermost communication or wait frame of its path
  kInWait = 2,    ///< at or below a frontier frame: never tested for balance
  kMoves = 4,     ///< below a frontier, in code that moves data or computes: work, never idleness
  kRunTime = 8,  ///< in a language's run-time library, not in code that the user wrote or chose: never blamed
  /// Frames of the C library and the linker that only lead to main or to a thread's start routine, and what
  /// they do themselves; of an interpreter those that lead to the outermost Python function. Set when a
  /// database is written (lookup_tables.hpp).
  kStartUp = 0x80,
};

/// The flags of several contexts taken together: frontier if any is, the others only if all are. Start from
/// kNoContextYet.
inline constexpr std::uint8_t kNoContextYet = static_cast<std::uint8_t>(~kFrontier);
constexpr std::uint8_t merge_flags(std::uint8_t a, std::uint8_t b) {
  const unsigned any = (a | b) & kFrontier;
  const unsigned all = a & b & ~static_cast<unsigned>(kFrontier);
  return static_cast<std::uint8_t>(any | all);
}

/// One scope of the calling context tree.
struct Context {
  ContextId parent = kNone;
  ContextId end = 0;
  StringId name =
      0;  ///< procedure or inlined procedure name; `<program root>` and the like; empty for loop, call…
  StringId file = 0;  ///< source file (full path, after prefix replacement); empty where unknown
  std::uint32_t line = 0;
  StringId module = 0;  ///< load module path (of the procedure; inherited by what is inside it)
  FlatId flat = kNone;  ///< the flat scope that this one is an instance of (procedure … statement; kNone for
                        ///< call, roots)
  ContextKind kind = ContextKind::root;
  std::uint8_t flags = 0;
  std::uint8_t wait_kind = 0;  ///< measurement::WaitKind of a frontier frame
};

/// One scope of the flat tree: load module → file → procedure → loop → statement.
struct FlatScope {
  FlatId parent = kNone;
  FlatId end = 0;
  StringId name = 0;
  StringId file = 0;
  std::uint32_t line = 0;
  StringId module = 0;
  ContextKind kind = ContextKind::root;
  std::uint8_t flags = 0;  ///< of its instances, merged; set when a database is written
};

/// Contexts from `first` up to `end`: a subtree, or some of one.
struct ContextRange {
  ContextId first = 0, end = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend constexpr auto operator<=>(const ContextRange&, const ContextRange&) = default;
};

/// A metric with per-thread values, or (summary_only) one that exists only as a summary.
struct Metric {
  std::string name;         ///< REALTIME, idleness, communication, CPU, samples, an event's name, imbalance
  std::string unit;         ///< "ns" (shown as seconds), or the event's own
  std::string description;  ///< one or two sentences for the user
  bool summary_only = false;
};

/// A measured thread. Sorted: ranks first by rank, then processes that are no rank by host and pid; then by
/// ordinal.
struct Location {
  std::int32_t rank = -1;  ///< -1: the process is no rank
  std::uint32_t thread = 0;
  std::uint32_t role = 0;
  std::uint64_t pid = 0;
  std::string host;
  std::uint64_t start_ns = 0, end_ns = 0;
  bool cut_short = false;
  bool left = false;  ///< one of several ranks, which ended without MPI_Finalize
};

struct Role {
  std::string name;           ///< "main", or the workers' start routine
  std::uint32_t threads = 0;  ///< T
};

enum class Balance : std::uint8_t {
  untested = 0,  ///< no time here, or at or below a frontier frame, or passed over (blame/blame.hpp)
  balanced,
  imbalanced,
  undecided,  ///< too few samples to decide
};

/// Blame in ns: idleness summed over the threads of a role, and its variants on minimum and maximum idleness.
struct BlameSums {
  std::uint64_t sum = 0, min = 0, max = 0;

  void add(const BlameSums& other) {
    sum += other.sum;
    min += other.min;
    max += other.max;
  }
};

/// Blame at one context of one role: idleness whose deepest balanced ancestor it is (B_E;
/// docs/algorithms.md 5.3), in ns. Inclusive blame is the sum over the subtree.
struct BlameRow {
  ContextId context = 0;
  std::uint64_t sum = 0, min = 0, max = 0;
};

/// How sure it is that a suspect is to blame (docs/blame.md), and what is in doubt.
enum class Confidence : std::uint8_t { hint, likely, sure };
enum class Doubt : std::uint8_t {
  none,
  sampling,  ///< its excess is not far above its sampling error: a longer run would show
  rivals,    ///< without other code the balanced scope would be about as even: a trace would show
  varying,   ///< most of the blame is left unexplained: a trace would show
  pools,     ///< who does not run it may serve other work, and nothing would show: no saving is stated
};

/// Idleness below one balanced scope that a suspect explains.
struct Explained {
  ContextId balanced = 0;
  std::uint64_t ns = 0;

  friend constexpr bool operator==(const Explained&, const Explained&) = default;
};

/// A suspect (docs/algorithms.md 5.4). Times in ns.
struct Suspect {
  std::uint32_t role = 0;
  ContextId balanced = 0;                ///< of the scopes around it, the one with most that it explains
  ContextId suspect = 0;                 ///< the one of `scopes` on which the culprits work most
  std::vector<std::uint32_t> locations;  ///< culprits, indices of locations
  std::uint64_t excess_ns = 0, explains_ns = 0, save_balanced_ns = 0, save_removed_ns = 0;
  ContextId named = 0;  ///< the scope at or above `suspect` that it is named by
  Confidence confidence = Confidence::hint;
  Doubt doubt = Doubt::none;
  std::vector<ContextId> scopes;     ///< the same code by all its call sites, ascending
  std::vector<Explained> explained;  ///< explains_ns by balanced scope, most first
};

// Numbers as in the file.
using metrics::kWaitPatterns;
using metrics::WaitPattern;

/// Waiting of one thread at one context by one pattern. Sub-patterns (late_sender_wrong_order, late_complete,
/// early_fence) are contained in their parents.
struct Wait {
  WaitPattern pattern = WaitPattern::late_sender;
  std::uint32_t location = 0;
  ContextId context = 0;
  std::uint32_t cause_location = kNone;  ///< who made it wait; kNone: not known
  ContextId cause_context = kNone;
  bool exact = false;  ///< from time stamps, not approximated
  std::uint64_t ns = 0;
  std::uint64_t count = 0;  ///< calls; 0: not known
  /// Of ns: whose delayer did not itself wait before; the rest is indirect. Not known of approximations,
  /// parts and completions, and in databases of older writers.
  std::optional<std::uint64_t> direct_ns = {};
};

/// A value of a metric at a context or of a context for a profile. Sorted by (index, metric); never zero.
struct Value {
  std::uint32_t index = 0;  ///< ContextId in a profile's list, location index in a context's list
  std::uint32_t metric = 0;
  std::uint64_t value = 0;
};

/// Summary accumulators of one metric in one role: sparse, ascending by scope; no entry means no observer.
struct SummaryEntry {
  std::uint32_t scope = 0;  ///< ContextId or FlatId
  metrics::Accumulator inclusive, exclusive;
};
struct Summary {
  std::uint32_t role = 0, metric = 0;
  std::vector<SummaryEntry> entries;
};

struct SourceFile {
  StringId path = 0;
  std::string text;
};

struct Quality {
  std::uint64_t samples = 0, partial = 0, partial_ns = 0, unresolved = 0, dropped = 0, full = 0,
                handler_ns = 0, clock_violations = 0, cut_short = 0, unreadable = 0;
  std::uint64_t bridged = 0;  ///< samples with a frame whose caller was not found by call-frame information
  std::uint64_t slowed = 0;   ///< threads whose sampling rate was halved because the handler took too long
  std::uint64_t most_halvings = 0;         ///< of them
  std::uint64_t epochs_lost = 0;           ///< calls of one-sided communication without an accumulator
  std::uint64_t unclassified_wait_ns = 0;  ///< idleness in one-sided calls that no pattern explains
  std::uint64_t excess_wait_ns = 0;  ///< estimated waits that were not sampled as idle; not in the waits
  std::uint64_t clock_violations_left = 0;  ///< receives that precede their sends even after pushing forward
  std::uint64_t tracing_ns = 0;             ///< what recording calls for time lines took, estimated
  /// By how much a host's clock may differ from the first rank's, as far as comparing them shows; 0: one
  /// clock.
  std::uint64_t clock_error_ns = 0;
};
/// Of Quality::clock_error_ns: hosts did not compare their clocks, the time of day replaces that.
inline constexpr std::uint64_t kClocksNotCompared = ~std::uint64_t{0};

/// Before a note that says which ranks ran which program, where they ran several.
inline constexpr std::string_view kNoteOfPrograms = "programs: ";
/// Before a note that says how many processes have a trace, whether that can be read or not.
inline constexpr std::string_view kNoteOfTraces = "time lines were recorded in ";

/// How and what was run.
struct Run {
  std::string run_id, mpi, program, directory;
  std::vector<std::string> command;
  std::int64_t start_realtime_ns = 0;
  std::uint64_t duration_ns = 0;  ///< latest end − earliest start, over the processes
  std::uint32_t ranks = 0;        ///< ranks measured
  std::uint32_t world_size = 0;
  std::uint64_t period_ns = 0;  ///< REALTIME's nominal period
  std::vector<std::string> hosts;
  std::vector<std::string> events;             ///< "REALTIME@5000"
  std::vector<std::string> notes;              ///< from the processes and from merging, each once
  std::map<std::uint64_t, std::string> names;  ///< given by the program, of communicators and windows
  // Options that the analysis used, so that a viewer can show them.
  std::string balance = "noise-aware";
  double alpha = 1.1, tau = 0.01, epsilon = 0.01;
};

struct ModuleInfo {
  std::string path, build_id;
  std::uint64_t samples = 0;
  std::vector<std::string> notes;
  std::uint64_t bridged = 0;  ///< samples with frames of it whose callers call-frame information did not say
  std::uint64_t partial = 0;  ///< partial unwinds that ended in it
  bool no_unwind = false;     ///< it has no call-frame information
};

/// Gaps between two waiting MPI calls whose lengths vary from one to the next, where that explains waiting
/// which lasting differences between threads do not (docs/algorithms.md 5.8). Section 39; the bytes are those
/// of the file.
struct VaryingGap {
  std::uint32_t role = 0;
  std::uint32_t context = 0;  ///< the call that ends it: a frontier frame
  std::uint32_t after = 0;    ///< the call before, likewise; kNone: the thread's start
  std::uint32_t threads = 0;  ///< that had it
  std::uint64_t count = 0;    ///< of all of them
  std::uint64_t mean_ns = 0;
  std::uint64_t deviation_ns = 0;    ///< standard deviation within a thread
  std::uint64_t idle_ns = 0;         ///< of all threads, in the call
  std::uint64_t unexplained_ns = 0;  ///< what lasting differences do not explain, there and in later calls

  friend bool operator==(const VaryingGap&, const VaryingGap&) = default;
};
static_assert(sizeof(VaryingGap) == 56);

/// Whether all that they refer to exists.
bool is_sound(std::span<const VaryingGap> gaps, std::size_t roles, std::size_t contexts);

/// Everything but the per-thread values; lives on rank 0 while merging.
struct Experiment {
  Run run;
  Quality quality;
  std::vector<std::string> strings;  ///< strings[0] is empty; sorted, unique
  std::vector<ModuleInfo> modules;
  std::vector<Context> contexts;
  std::vector<FlatScope> flat;
  std::vector<Metric> metrics;
  std::vector<Role> roles;
  std::vector<Location> locations;
  std::vector<Summary> context_summaries;     ///< by (role, metric)
  std::vector<Summary> flat_summaries;        ///< by (role, metric)
  std::vector<std::vector<Balance>> balance;  ///< [role][context]
  std::vector<std::vector<BlameRow>> blame;   ///< [role], ascending by context
  std::vector<Suspect> suspects;              ///< largest explains first
  std::vector<Wait> waits;                    ///< longest first
  TraceAnalyses trace;
  Machine machine;
  std::vector<VaryingGap> varying_gaps;  ///< most unexplained first
  Communication communication;
  std::vector<SourceFile> sources;  ///< ascending by path
};

}  // namespace culprit::database

namespace culprit::database {

/// Calls `visit` for each of some locations, in their order; may be called again. For those that are too many
/// to be held in memory at once.
using EachLocation = std::function<void(const std::function<void(const Location&)>& visit)>;

}  // namespace culprit::database
