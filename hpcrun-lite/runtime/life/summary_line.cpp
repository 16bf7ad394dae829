#include "runtime/life/summary_line.hpp"

#include "measurement/limits.hpp"
#include "measurement/runtime_notes.hpp"
#include "runtime/modules/modules.hpp"
#include "runtime/process/identity.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/refusals.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/text.hpp"

#include <cstring>

#include <unistd.h>

namespace culprit::runtime {

namespace {

using Line = Text<8192>;

bool closed = false;
int rank_here = -1;
int ranks_here = 0;

/// The measurement directory as the user can type it from where the program was started.
const char* shown_directory() {
  const char* directory = output_directory();
  const std::size_t length = strlen(start_directory());
  if (strncmp(directory, start_directory(), length) == 0 && directory[length] == '/')
    return directory + length + 1;
  return directory;
}

void add_count(Line& line, std::uint64_t count, const char* one, const char* many) {
  line.number(count).add(" ").add(count == 1 ? one : many);
}

void add_stopped(Line& line, std::uint64_t count, const char* why) {
  if (count == 0) return;
  line.add("; the trace stopped ").add(why);
  if (ranks_here > 0) {
    line.add(" on ").number(count).add(" of ").number(static_cast<std::uint64_t>(ranks_here)).add(" ranks");
  }
}

void add_stopped_traces(Line& line, const CulpritTotals& totals) {
  add_stopped(line, totals.traces_limited, "at its limit (--trace-limit)");
  add_stopped(line, totals.traces_failed, "because it could not be written");
}

void add_ranks(Line& line, std::uint64_t processes) {
  if (ranks_here == 0 && rank_here == 0) line.add(" on rank 0");
  if (processes >= static_cast<std::uint64_t>(ranks_here)) return;
  line.add(" on ").number(processes).add(" of ").number(static_cast<std::uint64_t>(ranks_here)).add(" ranks");
}

void add_next(Line& line) {
  line.add("; next: viewer-cli ").shell_path(shown_directory());
}

/// Threads that the kernel gave no timer; with the reason where it was refused in this process.
void add_unsampled(Line& line, const CulpritTotals& totals) {
  add_count(line, totals.unsampled_threads, "thread", "threads");
  line.add(" got no timer");
  if (first_refusal() != nullptr) line.add(" (").add(first_refusal()).add(")");
}

/// Threads that the measurement had no room for.
void add_lost_threads(Line& line, const CulpritTotals& totals) {
  add_count(line, totals.threads_lost, "thread was", "threads were");
  line.add(" not measured: no room (a full disk, or more than ").number(measurement::kMaxThreads);
  line.add(" threads at one time)");
}

/// What tracing added, of the time: at least that, since calls of the program's own that it slows are not
/// seen.
void add_tracing(Line& line, const CulpritTotals& totals) {
  if (totals.lived_ns < 1000) return;
  line.add("; tracing took ");
  if (totals.tracing_ns >= totals.lived_ns / 1000) line.add("at least ");
  line.percent(totals.tracing_ns, totals.lived_ns).add(" of the time");
}

void add_samples(Line& line, const CulpritTotals& totals) {
  add_count(line, totals.samples, "sample", "samples");
  line.add(", ");
  add_count(line, totals.partial, "partial unwind", "partial unwinds");
  line.add(", ").number(totals.dropped).add(" dropped");
  add_ranks(line, totals.processes);
  line.add(" in ").add(shown_directory());
  add_tracing(line, totals);
  if (rank_here < 0 && mpi_was_sampled())
    line.add("; MPI calls were not seen: ranks and waits were not recorded");
  else if (rank_here < 0 && process.one_of_ranks)
    line.add("; ").add(measurement::kRankWithoutMpi);
  if (totals.unsampled_threads != 0) {
    line.add("; ");
    add_unsampled(line, totals);
  }
  if (totals.threads_lost != 0) {
    line.add("; ");
    add_lost_threads(line, totals);
  }
  add_stopped_traces(line, totals);
  add_next(line);
}

void add_cause(Line& line, const CulpritTotals& totals) {
  if (totals.unsampled_threads != 0) return add_unsampled(line, totals);
  if (totals.threads_lost != 0) return add_lost_threads(line, totals);
  line.add("the program ran for ").number((now() - process.start_ns) / 1'000'000);
  line.add(" ms, too short to be sampled, or never used its processor time");
}

/// MPI calls are in time lines however short the program.
void add_time_lines(Line& line, const CulpritTotals& totals) {
  line.add("no samples: ");
  add_cause(line, totals);
  line.add("; time lines of its calls");
  add_ranks(line, totals.time_lines);
  line.add(" in ").add(shown_directory());
  add_stopped_traces(line, totals);
  add_next(line);
}

/// Why there is nothing to look at.
void add_why_none(Line& line, const CulpritTotals& totals) {
  line.add("no samples: ");
  if (ranks_here > 0 && !any_rank_wanted(ranks_here)) {
    line.add("--ranks names none of the ").number(static_cast<std::uint64_t>(ranks_here)).add(" ranks");
  } else if (totals.delayed > 0) {
    line.add("--delay was given, and the program never called culprit_start() or MPI_Pcontrol(1)");
  } else {
    add_cause(line, totals);
  }
  line.add(" (nothing was recorded in ").add(shown_directory()).add(")");
}

}  // namespace

void closing_rank(int rank, int ranks) {
  rank_here = rank;
  ranks_here = ranks;
}

void close_run(const CulpritTotals& totals) {
  if (closed || process.quiet) return;
  closed = true;
  Line line;
  line.add("hpcrun-lite: ");
  if (totals.samples == 0 && totals.time_lines != 0) {
    add_time_lines(line, totals);
  } else if (totals.samples == 0) {
    add_why_none(line, totals);
  } else {
    add_samples(line, totals);
  }
  say(line);
}

void close_process() {
  if (!process.launched || rank_here > 0 || recording_refused()) return;
  close_run(count_totals());
}

}  // namespace culprit::runtime
