// Begin and end of a process's measurement, and its forks. The constructor sets everything up before it
// unblocks the signal. At the end recording stops in all threads before what they hold back is added, and the
// file is sealed last. A forked child forgets all that belongs to its parent (file, timers, counters, flusher
// thread) and begins with a file of its own.
#include "runtime/life/process_life.hpp"

#include "measurement/file_space.hpp"
#include "runtime/life/process_end.hpp"
#include "runtime/life/thread_life.hpp"
#include "runtime/modules/call_slots.hpp"
#include "runtime/modules/map_snapshot.hpp"
#include "runtime/modules/modules.hpp"
#include "runtime/process/identity.hpp"
#include "runtime/process/processors.hpp"
#include "runtime/process/scheduling.hpp"
#include "runtime/process/wanted.hpp"
#include "runtime/recording/file_names.hpp"
#include "runtime/recording/flusher.hpp"
#include "runtime/recording/published_calls.hpp"
#include "runtime/recording/python_frames.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/refusals.hpp"
#include "runtime/recording/regions.hpp"
#include "runtime/recording/tracing.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/handler.hpp"
#include "runtime/sampling/papi_sampling.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/sampling/program_signals.hpp"
#include "runtime/sampling/run_cost.hpp"
#include "runtime/sampling/start_stop.hpp"
#include "runtime/sampling/timers.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/c_library.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"
#include "runtime/system/text.hpp"
#include "runtime/system/tick_clock.hpp"
#include "runtime/teams/account.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

namespace culprit::runtime {

namespace {

bool set(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && value[0] != '\0' && strcmp(value, "0") != 0;
}

bool read_settings() {
  const char* launched = getenv("CULPRIT_LAUNCHED");
  process.launched = launched != nullptr && strtol(launched, nullptr, 10) == process.pid;
  process.one_of_ranks = process.launched && started_as_one_of_ranks();
  process.quiet = set("CULPRIT_QUIET");
  process.verbose = set("CULPRIT_VERBOSE");
  process.empty_handler = set("CULPRIT_EMPTY_HANDLER");
  if (set("CULPRIT_TREE_BYTES")) process.tree_bytes = strtoull(getenv("CULPRIT_TREE_BYTES"), nullptr, 10);
  if (set("CULPRIT_ADDED_COST")) process.added_cost = strtoull(getenv("CULPRIT_ADDED_COST"), nullptr, 10);
  process.names_files = set("CULPRIT_FILES");
  process.traced = set("CULPRIT_TRACE");
  process.trace_limit = measurement::kMostTraceBytes;
  if (set("CULPRIT_TRACE_LIMIT")) process.trace_limit = strtoull(getenv("CULPRIT_TRACE_LIMIT"), nullptr, 10);
  const char* const least_wait_us = getenv("CULPRIT_TRACE_THREADS_ABOVE");  // 0: all of them
  if (least_wait_us != nullptr && least_wait_us[0] != '\0')
    process.least_traced_wait = strtoull(least_wait_us, nullptr, 10) * 1000;
  process.no_find_object = set("CULPRIT_NO_DL_FIND_OBJECT");
  process.no_shared_mapping = set("CULPRIT_NO_SHARED_MAPPING");
  const char* where = nullptr;
  std::size_t length = 0;
  if (parse_events(getenv("CULPRIT_EVENTS"), process.events, where, length) != EventError::none) return false;
  for (std::size_t i = 0; i < process.events.count; ++i) {
    const KernelEvent* kernel = process.events.events[i].kernel;
    if (kernel == nullptr) continue;
    process.samples_kernel_events = true;
    process.samples_switches |= kernel->config == PERF_COUNT_SW_CONTEXT_SWITCHES;
  }
  return true;
}

/// The main thread's stack ends above everything the kernel put on it, of which AT_RANDOM's bytes lie near
/// the top; it may grow as far down as its limit allows.
void begin_main_thread() {
  Thread* thread = allocate_thread();
  if (thread == nullptr) return;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t high = (getauxval(AT_RANDOM) + page) / page * page;
  constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 36;
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  const std::uint64_t size = limit.rlim_cur < kUnlimited ? limit.rlim_cur : kUnlimited;
  thread->main = true;
  begin_thread(thread, high - size, high);
  watch_end_of_thread(thread);
}

bool sends_by_descriptor() {
  return process.samples_kernel_events || process.events.find(EventSource::papi) != nullptr;
}

/// quick_exit runs no destructors, and its way to _exit cannot be interposed. Registered before the program's
/// own, it is called after them.
void finish_quickly() {
  if (own_process()) end_process(measurement::EndReason::quick_exit);
}

/// What exit was called with, or main returned.
int asked_status = kNoExitStatus;

void keep_exit_status(int status, void* /*unused*/) {
  asked_status = status;
}

__attribute__((constructor)) void start_process(int /*argc*/, char** argv, char** /*envp*/) {
  bind_to_c_library();
  find_all_next();
  note_modules_of_start();
  remember_standard_error();
  process.pid = process_id();
  if (!prepare_identity() || !read_settings() || !to_be_measured()) return;
  become_wrapped(argv);
  process.start_ns = now();
  process.start_realtime_ns = static_cast<std::int64_t>(read_clock(CLOCK_REALTIME));
  process.arguments = argv;
  begin_schedules();
  prepare_modules();
  errno = 0;
  if (!install_handler()) {
    handler_refused(errno);
    return;
  }
  const char* signal_ns = getenv("CULPRIT_SIGNAL_NS");  // tests and benchmarks: as if a signal cost so much
  start_brake(signal_ns == nullptr ? measure_signal_cost() : strtoull(signal_ns, nullptr, 10));
  if (process.names_files) name_files();
  record_crashes();
  find_python();
  if (set("CULPRIT_DELAY")) delay_sampling(process.start_ns);
  if (sends_by_descriptor()) guard_against_full_queue();
  assign_duties(flusher_duties());
  prepare_papi();
  follow_forks();
  at_quick_exit(finish_quickly);
  mark_memory();
  redirect_calls_of_start();
  process.active = true;
  update_tracing();
  begin_main_thread();
  set_blocked_by_program(change_mask(SIG_UNBLOCK, process.mask) & process.mask);
}

__attribute__((destructor)) void finish_process() {
  if (!own_process()) return;
  end_process(measurement::EndReason::exit, asked_status);
}

}  // namespace

void await_exit_status() {
  on_exit(keep_exit_status, nullptr);
}

namespace {

// All of the thread's own; the process has one at a time.
bool separate = false;          // it has a table of descriptors of its own
bool hold_measurement = false;  // the file is yet to be kept open there
bool hold_trace = false;        // and so is the trace
std::uint64_t waited_ns = 0;    // for a processor, up to the last turn
int standstills = 0;            // that were noted
std::uint64_t full_noted = 0;   // the process whose measurement says that it does not grow any more

void note_no_space(int error) {
  const auto id = static_cast<std::uint64_t>(process.pid);
  if (error == 0 || full_noted == id) return;
  full_noted = id;
  Text<256> line;
  line.add(measurement::is_passing(error) ? "the measurement could not be written for a while: "
                                          : "no further space for the measurement: ");
  line.add(strerrordesc_np(error));
  file.note(line.c_str());
}

void begin(bool own_descriptors) {
  separate = own_descriptors;
  hold_measurement = separate;
  hold_trace = separate && process.traced;
  waited_ns = 0;
  standstills = 0;
}

void take_turn() {
  waited_ns = waited_for_processor_ns();
  if (teams::active()) tick_clock.calibrate();  // who counts threads reads it (sampling/blame.cpp)
  if (file_is_wanted()) ensure_file();
  if (!file.open()) return;
  if (hold_measurement) hold_measurement = file.hold() != 0;
  note_schedules(now());
  look_at_owners();
  note_no_space(file.maintain(now()));
  if (hold_trace) hold_trace = trace_file.hold() != 0;
  maintain_trace();
}

/// The flusher thread hardly ever sleeps much longer than it wants to: it lacks a processor then, of which
/// the kernel keeps account, or all threads are stopped.
void look_for_standstill(std::uint64_t overslept) {
  constexpr std::uint64_t kStandstill = 3'000'000'000;
  constexpr int kMostNoted = 4;
  if (overslept < kStandstill || standstills == kMostNoted) return;
  const std::uint64_t waited = waited_for_processor_ns();
  const std::uint64_t lacked = waited - std::min(waited, waited_ns);
  if (overslept < kStandstill + lacked) return;
  note_standstill(overslept - lacked);
  ++standstills;
}

}  // namespace

FlusherDuties flusher_duties() {
  return {
      .begin = begin, .turn = take_turn, .look = look_at_parked_threads, .overslept = look_for_standstill};
}

}  // namespace culprit::runtime

namespace culprit::runtime {
namespace {

__attribute__((tls_model("initial-exec"))) __thread bool blocked_before_fork;

/// A fork that signals keep interrupting starts over each time; a child must not begin inside the handler.
void before_fork() {
  unpark();
  blocked_before_fork = (change_mask(SIG_BLOCK, process.mask) & process.mask) != 0;
  hold_papi();
}

void after_fork_in_parent() {
  release_papi();
  if (!blocked_before_fork) change_mask(SIG_UNBLOCK, process.mask);
}

void after_fork_in_child() {
  release_papi();
  process.pid = process_id();
  mark_memory();
  process.launched = process.one_of_ranks = false;
  process.in_mpi.store(false, std::memory_order_relaxed);
  culprit_rt_thread.aborts_below = 0;
  process.start_ns = now();
  process.start_realtime_ns = static_cast<std::int64_t>(read_clock(CLOCK_REALTIME));
  process.stopped.store(false, std::memory_order_relaxed);
  process.ended.store(false, std::memory_order_relaxed);
  process.dying.store(0, std::memory_order_relaxed);
  reset_control_after_fork();
  start_brake_of_child(process.brake.signal_ns());
  restart_regions_after_fork();
  forget_python_modules();
  forget_flusher();
  forget_refusals();
  forget_file();
  forget_snapshot();
  forget_unloading();
  redirect_bound_slots_no_more();
  // What a shell forks only starts something else; what a rank forks that is not wanted is not wanted either.
  process.active = !is_shell() && !control.off.load(std::memory_order_relaxed);
  if (process.active) {
    begin_schedules_of_child();
    restart_after_fork();
  } else {
    culprit_rt_thread.state = nullptr;
  }
  update_tracing();
  after_fork_in_parent();
}

}  // namespace

void follow_forks() {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace culprit::runtime

/// fork without the handlers that libraries registered, ours among them.
// NOLINTNEXTLINE(bugprone-reserved-identifier): its name in the C library
CULPRIT_EXPORT pid_t _Fork() noexcept {
  static CULPRIT_REAL culprit::runtime::Real<pid_t()> real{"_Fork"};
  if (!culprit::runtime::own_process()) return real();
  culprit::runtime::before_fork();
  const pid_t child = real();
  if (child == 0) {
    culprit::runtime::after_fork_in_child();
  } else {
    culprit::runtime::after_fork_in_parent();
  }
  return child;
}
