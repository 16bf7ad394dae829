#pragma once

#include "cct/message.hpp"
#include "cct/tree.hpp"
#include "measurement/measurement.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace culprit::merge {

/// What processes of one launch on one host have in common, kept once for all of them.
struct Launch {
  std::string host, run_id, mpi, program, directory;
  std::vector<std::string> arguments;
  std::uint32_t world_size = 0;
  bool whole_world = false;  ///< measurement::ProcessInfo's
  std::vector<measurement::EventInfo> events;
  bool has_realtime = true;
  std::vector<std::string> notes;
  cct::ModuleKey executable;

  friend bool operator==(const Launch&, const Launch&) = default;
};

/// A frame near the root of a thread's tree.
struct EntryFrame {
  std::shared_ptr<const cct::ModuleKey> module;
  std::uint64_t offset = 0;
  std::uint32_t caller = 0;  ///< its number among them, plus one; 0: the root
};
/// How many of them are kept: std::thread's and std::async's own are up to ten.
inline constexpr std::size_t kEntryFrames = 24;

/// What merging knows of a thread before it reads its tree.
struct ThreadSummary {
  std::uint32_t ordinal = 0;
  bool worker = false;  ///< not its process's main thread
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint64_t lived_ns = 0;  ///< measurement::ThreadProfile's
  std::shared_ptr<const cct::ModuleKey>
      start_module;  ///< of the routine that a worker was started with; null: none
  std::uint64_t start_offset = 0;
  /// Of a std::thread, whose routine is the same for all: the first frames of its stacks, callers first.
  std::vector<EntryFrame> entry;
};

/// Counters of sampling, summed up over the threads of a run as they are met: there is one of these per run
/// and not per thread.
struct SamplingQuality {
  measurement::Quality sum;
  std::uint64_t slowed = 0;        ///< threads whose rate was halved
  std::uint64_t samples_lost = 0;  ///< of threads that found no room

  void add(const SamplingQuality& other) {
    sum.add(other.sum);
    slowed += other.slowed;
    samples_lost += other.samples_lost;
  }
};

/// Where walks of the stack could not go by call-frame information.
struct ModuleFlaws {
  std::shared_ptr<const cct::ModuleKey> module;
  std::uint64_t bridged = 0;  ///< measurement::Module's
  std::uint64_t partial = 0;
  bool no_unwind = false;
};

/// What merging knows of a process and its measurement file before it reads any value.
struct ProcessSummary {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t cells = 0;  ///< contexts with values, over all threads
  std::uint64_t pid = 0;
  std::optional<std::int32_t> rank;
  std::uint64_t start_ns = 0, end_ns = 0;
  std::int64_t start_realtime_ns = 0;
  std::uint64_t key = 0;  ///< measurement::ProcessInfo's
  bool forked = false;    ///< likewise
  measurement::EndReason end = measurement::EndReason::running;
  std::uint64_t iterations = 0;
  std::uint64_t trace_bytes = 0;  ///< size of the trace's file, at least 1; 0 without one
  bool trace_lost = false;        ///< there is none though one was recorded
  std::shared_ptr<const Launch> launch = std::make_shared<const Launch>();
  std::vector<ModuleFlaws> flaws;      ///< of modules that have any
  std::vector<ThreadSummary> threads;  ///< by ordinal

  /// Whether it did not come to an end of its own.
  [[nodiscard]] bool cut_short() const { return !measurement::orderly(end); }
};

/// The order of locations: ranks by rank, then processes that are no rank by host and pid; a process that was
/// measured in several files (before and after exec) by its files' start; of copies the one that ends last
/// first.
bool canonically_before(const ProcessSummary& a, const ProcessSummary& b);

/// What many summaries have in common, to be referred to by number.
struct SharedByProcesses {
  std::vector<std::shared_ptr<const Launch>> launches;
  std::vector<std::shared_ptr<const cct::ModuleKey>> modules;
};

/// Which run it is that is merged, by votes of the processes.
class RunVotes {
 public:
  void add(const ProcessSummary& process);

  /// The run that most processes belong to (ranks decide where there are any; ties: the smaller id).
  [[nodiscard]] std::string prevailing() const;

  /// As part of a message, and what another rank wrote beside this rank's.
  void write(cct::MessageWriter& message) const;
  void read(cct::MessageReader& message);

 private:
  struct Votes {
    std::uint64_t of_ranks = 0, of_others = 0;
  };
  std::map<std::string, Votes> by_run_;
};

/// Makes summaries that share what is equal.
class Summarizer {
 public:
  ProcessSummary summarize(const measurement::Measurement& file, std::string path, std::uint64_t bytes);

  /// Of all threads of a run that were summarized or read.
  [[nodiscard]] SamplingQuality quality(const std::string& run) const;

  /// The run that most of the processes belong to that were summarized or read.
  [[nodiscard]] std::string prevailing_run() const { return votes_.prevailing(); }

  /// What summaries have in common, and what is known of runs as a whole, as part of a message; and back,
  /// beside what this knows.
  void write(cct::MessageWriter& message, const SharedByProcesses& shared) const;
  [[nodiscard]] SharedByProcesses read(cct::MessageReader& message);

 private:
  std::shared_ptr<const Launch> share(Launch&& launch);
  std::shared_ptr<const cct::ModuleKey> share(const cct::ModuleKey& key);
  std::vector<EntryFrame> entry_of(const measurement::Measurement& file,
                                   const measurement::ThreadProfile& thread);

  std::shared_ptr<const Launch> last_;                                  ///< mostly all are equal
  std::multimap<std::string, std::shared_ptr<const Launch>> launches_;  ///< by host
  std::map<cct::ModuleKey, std::shared_ptr<const cct::ModuleKey>> modules_;
  std::map<std::string, SamplingQuality> quality_;  ///< by run
  RunVotes votes_;
};

void write(cct::MessageWriter& message, const cct::ModuleKey& key);
cct::ModuleKey read_module_key(cct::MessageReader& message);

}  // namespace culprit::merge
