// The measurement's file in the process: created by the first sample that needs it, in the handler. If the
// program has no descriptor left, or a network file system fails, the flusher thread tries again. The file is
// renamed when the process has its rank, and discarded if the rank is not wanted. The cost of recording MPI
// calls is timed for some calls, and compared with the samples that fall into it; the larger one counts.
#include "runtime/recording/recording.hpp"

#include "measurement/file_space.hpp"
#include "measurement/runtime_notes.hpp"
#include "runtime/modules/modules.hpp"
#include "runtime/process/identity.hpp"
#include "runtime/process/scheduling.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/file_names.hpp"
#include "runtime/recording/flusher.hpp"
#include "runtime/recording/published_calls.hpp"
#include "runtime/recording/refusals.hpp"
#include "runtime/recording/regions.hpp"
#include "runtime/recording/tracing.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/backoff.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"
#include "runtime/system/text.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace culprit::runtime {

namespace {

using cct::FrameKey;
using cct::FrameKind;

std::atomic<bool> file_lock{false};  // creating, renaming or discarding the file
bool file_refused = false;           // it could not be created, or is not wanted
// The program has used up its descriptors: the flusher thread, which has its own, is to create the file.
std::atomic<bool> file_wanted{false};
// A server refused it: so is the flusher thread, for a while, since programs must not wait for each try.
std::atomic<bool> file_later{false};
std::uint64_t refused_since = 0;
int last_error = 0;
constexpr std::uint64_t kPatience = 10 * kSecond;
int known_rank = -1;
bool rank_is_parents = false;  // it was that of the process that this one was forked from
std::uint32_t known_ranks = 0;
bool world_is_whole = false;  // every rank of it is to leave a measurement
char known_mpi[128];
RankFrom rank_from = RankFrom::world;
std::atomic<std::uint64_t> lost{0};
std::atomic<std::uint64_t> threads_lost{0};

bool try_lock_file() {
  return !file_lock.exchange(true, std::memory_order_acquire);
}
void lock_file() {
  Backoff backoff;
  while (!try_lock_file()) backoff.pause();
}
void unlock_file() {
  file_lock.store(false, std::memory_order_release);
}

bool short_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

void explain(const char* path, int error) {
  Text<4400> line;
  line.add("hpcrun-lite: create measurement: ").add(path).add(": ");
  const char* reason = strerrordesc_np(error);
  if (reason != nullptr) {
    line.add(reason);
  } else {
    line.add("error ").number(static_cast<std::uint64_t>(error));
  }
  line.add(" (this process is not measured; choose another directory with -o)");
  say(line);
}

/// A number that the files of no other process have. Where the kernel has no random numbers yet, as early as
/// at the boot, it is formed from the time and the process's number.
std::uint64_t draw_key() {
  std::uint64_t key = 0;
  constexpr long kNonBlocking = 1;
  if (system_call(SYS_getrandom, word(&key), sizeof key, kNonBlocking) != sizeof key || key == 0)
    key = (now() ^ static_cast<std::uint64_t>(process.pid) << 40) * 0x9e3779b97f4a7c15U | 1;
  return key;
}

int create_file(const PathText& path) {
  const std::uint64_t key = draw_key();
  const bool traced = create_trace(path.c_str(), key);
  static_assert(EventList::kMax == measurement::kMaxEvents + 1);
  measurement::ProcessDescription::Event events[EventList::kMax];
  for (std::size_t i = 0; i < process.events.count; ++i) {
    const Event& event = process.events.events[i];
    events[i] = {.name = event.name, .unit = event.time() ? "ns" : "count", .period = event.period};
  }
  const measurement::ProcessDescription description{.program = program_path(),
                                                    .arguments = process.arguments,
                                                    .directory = start_directory(),
                                                    .host = host(),
                                                    .run_id = run_id(),
                                                    .pid = static_cast<std::uint64_t>(process.pid),
                                                    .start_ns = process.start_ns,
                                                    .start_realtime_ns = process.start_realtime_ns,
                                                    .key = key,
                                                    .forked = rank_is_parents,
                                                    .events = events,
                                                    .event_count = process.events.count,
                                                    .has_realtime = process.events.has_realtime(),
                                                    .tree_bytes = process.tree_bytes,
                                                    .traced = traced,
                                                    .copied = process.no_shared_mapping};
  const int error = file.create(path.c_str(), description);
  if (error != 0) discard_trace(true);
  return error;
}

/// Whether the server that failed is to be tried once more. A directory that another host has just made may
/// not be seen yet.
bool worth_another_try(int error) {
  if (!measurement::is_passing(error) && error != ENOENT) return false;
  if (refused_since == 0) refused_since = now();
  return now() - refused_since < kPatience;
}

int create_files() {
  PathText path;
  int error = ENAMETOOLONG;
  if (measurement_path(path, known_rank)) {
    if (file_later) unlink(path.c_str());  // of the try before, if the server lost its end only
    error = make_run_directory();
    if (error == 0) error = make_directories(path.c_str());
    if (error == 0) error = create_file(path);
  }
  file_later = worth_another_try(error);
  last_error = error;
  if (error != 0 && !file_later && !short_of_descriptors(error)) explain(path.c_str(), error);
  return error;
}

/// What a reader should know of a file that is not mapped.
void note_copying() {
  if (!file.copied()) return;
  file.note(
      "the file system of the measurement serves no shared mappings, or not safely: the measurement is a "
      "copy, "
      "written twice a second; what a killed process did after its last copy is missing");
  if (process.verbose) {
    Text<256> line;
    line.add(
        "hpcrun-lite: the file system of the measurement serves no shared mappings, or not safely: it is ");
    line.add("copied twice a second, and a killed process lacks what came after its last copy");
    say(line);
  }
}

}  // namespace

bool ensure_file() {
  if (file.open()) return true;
  if (!try_lock_file()) return false;
  bool open = file.open();
  if (!open && !file_refused) {
    begin_host_load();
    const int error = create_files();
    open = error == 0;
    file_wanted = file_later || short_of_descriptors(error);
    file_refused = !open && !file_wanted;
    if (open && known_rank >= 0) file.set_rank(known_rank, known_ranks, run_id(), known_mpi, world_is_whole);
    if (open) {
      file.set_stopped(control.stopped_total.load(std::memory_order_relaxed), 0);
      note_event_problems();
      note_copying();
      note_trace();
    }
    if (!file_refused) start_flusher();
  }
  unlock_file();
  return open;
}

bool file_is_wanted() {
  return file_wanted && !file.open();
}

namespace {

/// On the handler's stack: names of files take kilobytes.
void make_tree(void* argument) {
  auto* const thread = static_cast<Thread*>(argument);
  if (file_later || !ensure_file()) {
    thread->tree_refused = file_refused;
    return;
  }
  const FrameKey role =
      thread->main ? FrameKey{} : key_of_address(thread->routine.address, FrameKind::sample);
  bool again = false;
  thread->tree =
      file.add_thread(static_cast<std::uint64_t>(thread->tid), thread->main, role, thread->start_ns, again);
  if (thread->tree != nullptr) thread->trace = trace_of(*thread->tree);
  if (again) ring_flusher();  // it has descriptors of its own
  thread->tree_refused = thread->tree == nullptr && !again;
  if (thread->tree_refused) threads_lost.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

bool ensure_tree(Thread* thread) {
  if (thread->tree == nullptr && !thread->tree_refused) on_handler_stack(thread, make_tree, thread);
  return thread->tree != nullptr;
}

void count_lost(std::uint64_t expirations) {
  lost.fetch_add(expirations, std::memory_order_relaxed);
  file.count_lost(expirations);
}

bool recording_refused() {
  return file_refused;
}

std::uint64_t recording_cost(std::uint64_t exit_ns) {
  // A path through code without call-frame information takes some 10 us for each of its frames.
  constexpr std::uint64_t kMost = 200'000;
  const std::uint64_t time = now();
  const std::uint64_t look = now() - time;
  const std::uint64_t cost = time - exit_ns + 2 * look;
  return time < exit_ns || cost > kMost ? 0 : cost;
}

[[gnu::cold, gnu::noinline]] void time_recorded(Thread* thread) {
  thread->calls.cost.timed_ns += recording_cost(thread->calls.cost.exit_ns) * kCallsPerTimed;
  record_call_cost(thread);
}

// Timed calls know what comes after each call, however little that is. Samples know all that is in our code,
// where they are many; a few are of the program's start.
void record_call_cost(Thread* thread) {
  constexpr std::uint64_t kEnough = 16;
  CallCost& cost = thread->calls.cost;
  const std::uint64_t all = std::max(cost.timed_ns, cost.samples >= kEnough ? cost.sampled_ns : 0);
  if (all <= cost.recorded_ns) return;
  thread->tree->accumulators().add_trace_cost(all - cost.recorded_ns);
  if (process.traced) count_trace_cost(all - cost.recorded_ns);
  cost.recorded_ns = all;
}

CulpritTotals count_totals() {
  CulpritTotals totals{.samples = 0,
                       .partial = 0,
                       .dropped = lost.load(std::memory_order_relaxed),
                       .processes = 0,
                       .time_lines = trace_file.recorded() ? 1u : 0u,
                       .delayed = 0,
                       .unsampled_threads = unsampled_threads(),
                       .threads_lost = threads_lost.load(std::memory_order_relaxed),
                       .traces_limited = trace_file.limit_reached() ? 1u : 0u,
                       .traces_failed = trace_file.stopped() && !trace_file.limit_reached() ? 1u : 0u,
                       .tracing_ns = trace_cost(),
                       .lived_ns = process.traced ? now() - process.start_ns : 0};
  for (std::size_t i = 0; i < file.thread_count(); ++i) {
    const measurement::ThreadTree* tree = file.thread(i);
    if (tree == nullptr) continue;
    const auto& counters = tree->header();
    totals.samples += counters.samples;
    totals.partial += counters.partial;
    totals.dropped += counters.full;
  }
  totals.processes = totals.samples != 0 ? 1 : 0;
  totals.delayed = control.delayed.load(std::memory_order_relaxed) && !file_refused ? 1 : 0;
  return totals;
}

void join_run(int rank, int ranks, const char* mpi, RankFrom from, bool whole) {
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  lock_file();
  const bool named = rank == known_rank;  // by a session, before MPI_Init
  rank_from = from;
  world_is_whole = whole;
  known_rank = rank;
  rank_is_parents = false;
  known_ranks = static_cast<std::uint32_t>(ranks);
  strncpy(known_mpi, mpi, sizeof known_mpi - 1);
  if (file.open()) {
    file.set_rank(rank, known_ranks, run_id(), known_mpi, whole);
    PathText path;
    int error = 0;
    if (!named) error = measurement_path(path, rank) ? make_directories(path.c_str()) : ENAMETOOLONG;
    if (!named && error == 0) error = file.rename(path.c_str());
    if (!named && error == 0) error = rename_trace(path.c_str());
    if (error != 0) file.note("the file could not be renamed after its rank");
  }
  unlock_file();
  change_mask(SIG_SETMASK, before);
}

void note_end() {
  if (PathText path; file_later && !file.open() && measurement_path(path, known_rank))
    explain(path.c_str(), last_error);
  note_regions();
  note_file_names();
  note_unsampled_threads();
  if (rank_from == RankFrom::session && file.open()) {
    file.note(
        "MPI was begun by a session, without MPI_Init: waiting is recorded, but time lines hold no MPI "
        "calls, "
        "and windows are not matched between the ranks");
  }
  if (mpi_was_sampled() && known_rank < 0 && file.open()) {
    file.note(
        "MPI was used, but its calls were not seen: rank and waiting were not recorded (start each rank with "
        "hpcrun-lite; functions that a program looks up with dlsym or holds itself stay unseen)");
  } else if (process.one_of_ranks && known_rank < 0 && file.open()) {
    file.note(measurement::kRankWithoutMpi);
  }
}

namespace {

/// `rank 3` or, of a process that is none, `a process`, one note for many, and `text` behind it.
Text<160> note_of_process(const char* text) {
  Text<160> note;
  if (known_rank >= 0 && !rank_is_parents) {
    note.add("rank ").number(static_cast<std::uint64_t>(known_rank));
  } else {
    note.add("a process");
  }
  return note.add(text);
}

}  // namespace

void note_abort() {
  if (file.open()) file.note(note_of_process(measurement::kEndedBy).add(measurement::kAbort).c_str());
}

void note_signal(int signal) {
  if (!file.open()) return;
  Text<160> note = note_of_process(measurement::kEndedBy);
  note.add("SIG").add(sigabbrev_np(signal)).add(" (").add(sigdescr_np(signal)).add(")");
  file.note(note.c_str());
}

void note_exit_status(int status) {
  if (!file.open() || known_rank < 0) return;
  constexpr unsigned kSeenByParents = 0xff;
  Text<160> note = note_of_process(measurement::kExitStatus);
  note.number(static_cast<unsigned>(status) & kSeenByParents).add(", without MPI_Finalize");
  file.note(note.c_str());
}

void note_standstill(std::uint64_t ns) {
  if (!file.open()) return;
  constexpr std::uint64_t kTenth = 100'000'000;
  const std::uint64_t tenths = ns / kTenth;
  Text<160> note;
  if (known_rank >= 0) {
    note.add("rank ").number(static_cast<std::uint64_t>(known_rank));
  } else {
    note.add("process ").number(static_cast<std::uint64_t>(process.pid));
  }
  note.add(measurement::kStoodStill).number(tenths / 10).add(".").number(tenths % 10).add(" s, ");
  file.note(note.add("as when SIGSTOP or a debugger stops it, or its machine is suspended").c_str());
}

void note_partitioned_messages() {
  static std::atomic<bool> noted{false};
  if (noted.load(std::memory_order_relaxed) || !file.open() || noted.exchange(true)) return;
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  lock_file();
  file.note(measurement::kPartitionedMessages);
  unlock_file();
  change_mask(SIG_SETMASK, before);
}

void note_name(std::uint64_t number, const char* name) {
  constexpr std::uint32_t kMostNames = 16;
  static std::atomic<std::uint32_t> noted{0};
  if (!file.open() || noted.load(std::memory_order_relaxed) >= kMostNames) return;
  noted.fetch_add(1, std::memory_order_relaxed);
  Text<160> note;
  note.add(measurement::kNamed).number(number).add(measurement::kIsCalled);
  for (; *name != '\0'; ++name) {
    const char c = static_cast<unsigned char>(*name) < ' ' ? ' ' : *name;  // notes are lines
    note.add(&c, 1);
  }
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  lock_file();
  file.note(note.c_str());
  unlock_file();
  change_mask(SIG_SETMASK, before);
}

void change_run_id(const char* id) {
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  lock_file();
  set_run_id(id);
  if (file.open()) {
    file.set_rank(known_rank, known_ranks, run_id(), known_mpi, world_is_whole);
    file.note("this process was started under another run id than rank 0");
  }
  unlock_file();
  change_mask(SIG_SETMASK, before);
}

void discard_file() {
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  forget_published_calls(true);
  const bool unused = stop_recording();
  hold_flusher();
  lock_file();
  file_refused = true;
  if (file.open()) unlink(file.path());
  discard_trace(unused);
  if (unused) file.forget();
  unlock_file();
  release_flusher();
  change_mask(SIG_SETMASK, before);
}

void forget_file() {
  forget_published_calls(false);
  forget_trace();
  file.forget();
  rank_is_parents = known_rank >= 0;
  file_refused = false;
  file_wanted = false;
  file_later = false;
  refused_since = 0;
  file_lock.store(false, std::memory_order_relaxed);
  lost.store(0, std::memory_order_relaxed);
  threads_lost.store(0, std::memory_order_relaxed);
}

}  // namespace culprit::runtime
