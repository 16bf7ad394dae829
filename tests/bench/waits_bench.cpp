// How fast time lines are analysed: bench_waits PATTERN RANKS EVENTS ANALYSTS [MEGABYTES], by all analyses
// that prof-mpi makes of them. The traces are made while they are read, and making them counts; the digest of
// all results, which is the same for all versions that find the same, does not. Tells CPU seconds by phase
// and the most memory, as JSON, and fails where costs are not all of the waiting or the critical path is not
// as long as it says.
//   ring: ranks on a ring exchange halos without blocking and reduce a number in each iteration; one in eight
//         is late by turns. Six calls an iteration and rank, and a sample in each eighth iteration.
//   master, unmatched, truncated: what naive analyses take quadratic time for.
#include "exchange/threads.hpp"
#include "waits/causes/delay_costs.hpp"
#include "waits/causes/hotspots.hpp"
#include "waits/path/critical_path.hpp"
#include "waits/path/efficiency.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/variation/time_map.hpp"
#include "waits/variation/variation.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <time.h>

namespace {

using namespace culprit::waits;
using culprit::measurement::trace::Definition;
using culprit::measurement::trace::Operation;
using culprit::measurement::trace::OperationKind;
using culprit::measurement::trace::Record;
using culprit::measurement::trace::RecordKind;

constexpr std::uint64_t kWork = 20'000;     // ns an iteration
constexpr std::uint64_t kCost = 500;        // ns a call
constexpr std::uint64_t kSampled = 8;       // iterations from one sample to the next
constexpr std::uint64_t kPeriod = 200'000;  // ns that a sample stands for

/// The program that all patterns are runs of, by context: its calls are 10 to 21.
///   0 main; 1 its loop; 2 exchange, 3 relax, called in it; 4 a loop in relax, 5 source, called in that
struct Program {
  CallPaths paths;
  std::vector<std::uint32_t> procedures;  // the innermost one around each context
  static constexpr std::uint32_t kContexts = 22;

  Program() {
    constexpr std::uint32_t kNone = CallPaths::kNone;
    paths.parent = {kNone, 0, 1, 1, 3, 4};
    paths.procedure = {0, kNone, 1, 2, kNone, 3};
    procedures = {0, 0, 2, 3, 3, 5};
    for (std::uint32_t call = 6; call < kContexts; ++call) {
      const std::uint32_t caller = call == 15 ? 1 : 2;
      paths.parent.push_back(caller);
      paths.procedure.push_back(kNone);
      procedures.push_back(call);
    }
  }
  /// Where the n-th sample of a rank lies.
  static std::uint32_t sampled(std::int32_t rank, std::uint64_t n) {
    return 3 + static_cast<std::uint32_t>((static_cast<std::uint64_t>(rank) + n) % 3);
  }
};

void sample(Record& record, std::int32_t rank, std::uint64_t n, std::uint64_t ns) {
  record.kind = RecordKind::sample;
  record.exit_ns = ns;
  record.enter_ns = ns - std::min(ns, kPeriod);
  record.node = Program::sampled(rank, n);
}

std::uint64_t work(std::int32_t rank, std::uint64_t iteration) {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(rank) * 0x9e3779b97f4a7c15U) ^ (iteration * 0xd6e8feb86659fd93U);
  const bool late = (static_cast<std::uint64_t>(rank) + iteration / 100) % 8 == 0;
  return kWork + (mixed >> 40) % 4096 + (late ? kWork / 2 : 0);
}

Definition world_of(std::int32_t rank, std::int32_t ranks) {
  Definition world;
  world.global_id = 1;
  world.size = static_cast<std::uint32_t>(ranks);
  world.rank = rank;
  if (rank == 0) {
    for (std::int32_t one = 0; one < ranks; ++one) world.members.push_back(one);
  }
  return world;
}

/// A rank's time line: all end their reduction together, when the last would. Neighbours in the ring are so
/// many ranks apart as `step` says.
class Ring final : public ProcessTrace {
 public:
  Ring(std::int32_t rank, std::int32_t ranks, std::int32_t step, std::uint64_t iterations)
      : rank_(rank),
        below_((rank + ranks - step) % ranks),
        above_((rank + step) % ranks),
        iterations_(iterations) {
    definitions_.push_back(world_of(rank, ranks));
  }
  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] const std::vector<Definition>& definitions() const override { return definitions_; }
  [[nodiscard]] std::size_t threads() const override { return 1; }

  bool next(std::size_t /*thread*/, Record& record) override {
    if (iteration_ == iterations_) return false;
    if (step_ == 0) start_iteration();
    record.operations.clear();
    if (step_ == 2 && iteration_ % kSampled == 0 && !std::exchange(sampled_, true)) {
      sample(record, rank_, iteration_ / kSampled, now_ + work(rank_, iteration_) / 2);
      return true;
    }
    record.kind = RecordKind::call;
    record.enter_ns = now_;
    record.exit_ns = now_ + kCost;
    record.node = 10 + step_;
    record.any = false;
    switch (step_) {
      case 0:
        post(record, OperationKind::receive, below_, 0);
        break;
      case 1:
        post(record, OperationKind::receive, above_, 1);
        break;
      case 2:
        record.enter_ns = now_ += work(rank_, iteration_);
        record.exit_ns = now_ + kCost;
        post(record, OperationKind::send, above_, 2);
        break;
      case 3:
        post(record, OperationKind::send, below_, 3);
        break;
      case 4:
        record.exit_ns = std::max(record.exit_ns, std::max(sent(below_, 2), sent(above_, 3)) + kCost);
        for (int i = 0; i < 4; ++i) complete(record, i);
        break;
      default:
        record.exit_ns = std::max(record.exit_ns, all_ns_);
        Operation& reduction = record.operations.emplace_back();
        reduction.kind = OperationKind::all_to_all;
        reduction.context = 0;
        break;
    }
    now_ = record.exit_ns;
    if (++step_ == 6) {
      step_ = 0;
      ++iteration_;
      sampled_ = false;
    }
    return true;
  }

 private:
  void start_iteration() {
    begin_ = now_;
    // Nobody takes longer than this, the calls included.
    all_ns_ = begin_ + 2 * kWork + 4096 + 8 * kCost;
  }
  [[nodiscard]] std::uint64_t sent(std::int32_t rank, std::uint64_t step) const {
    return begin_ + 2 * kCost + work(rank, iteration_) + (step - 2) * kCost;
  }
  void post(Record& record, OperationKind kind, std::int32_t peer, std::uint64_t which) {
    Operation& operation = record.operations.emplace_back();
    operation.kind = kind;
    operation.completes = false;
    operation.context = 0;
    operation.peer = peer;
    operation.id = 1 + 4 * iteration_ + which;
  }
  void complete(Record& record, int which) {
    Operation& operation = record.operations.emplace_back();
    operation.kind = which < 2 ? OperationKind::receive : OperationKind::send;
    operation.begins = false;
    operation.context = 0;
    const bool up = which == 1 || which == 2;
    operation.peer = up ? above_ : below_;
    operation.id = 1 + 4 * iteration_ + static_cast<std::uint64_t>(which);
  }

  std::int32_t rank_, below_, above_;
  std::uint64_t iterations_, iteration_ = 0;
  std::uint32_t step_ = 0;
  bool sampled_ = false;  // in this iteration
  std::uint64_t now_ = 1000, begin_ = 0, all_ns_ = 0;
  std::vector<Definition> definitions_;
};

/// A master that serves workers in turn, round after round: each asks, waits for the answer and works; the
/// master waits for the first of each round. Half of the events are the master's.
class Served final : public ProcessTrace {
 public:
  Served(std::int32_t rank, std::int32_t ranks, std::uint64_t rounds)
      : rank_(rank), workers_(ranks - 1), rounds_(rounds), definitions_{world_of(rank, ranks)} {}
  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] const std::vector<Definition>& definitions() const override { return definitions_; }
  [[nodiscard]] std::size_t threads() const override { return 1; }

  bool next(std::size_t /*thread*/, Record& record) override {
    if (round_ == rounds_) return false;
    record.operations.clear();
    record.kind = RecordKind::call;
    const auto workers = static_cast<std::uint64_t>(workers_);
    const std::uint64_t begin = 1000 + round_ * (2 * kWork + 2 * kCost * workers);
    const std::uint64_t worker = rank_ == 0 ? step_ / 2 : static_cast<std::uint64_t>(rank_ - 1);
    const std::uint64_t served = begin + kWork + 2 * kCost * worker;  // when the master turns to the worker
    const std::uint64_t asked = worker == 0 ? served : begin + kCost;
    const bool asks = step_ % 2 == 0;
    if (rank_ != 0 && asks && round_ % kSampled == kSampled - 1 && !std::exchange(sampled_, true)) {
      sample(record, rank_, round_ / kSampled, begin - kWork / 2);
      return true;
    }
    if (rank_ == 0) {
      record.enter_ns = asks ? (worker == 0 ? begin : served) : served + kCost;
      record.exit_ns = (asks ? served + kCost : served + 2 * kCost) - 1;
      message(record, asks ? OperationKind::receive : OperationKind::send,
              static_cast<std::int32_t>(worker) + 1);
    } else {
      record.enter_ns = asks ? asked : asked + kCost / 2;
      record.exit_ns = asks ? asked + kCost / 2 - 1 : served + 2 * kCost;
      message(record, asks ? OperationKind::send : OperationKind::receive, 0);
    }
    record.node = (rank_ == 0 ? 10U : 20U) + static_cast<std::uint32_t>(step_ % 2);
    const std::uint64_t steps = rank_ == 0 ? 2 * workers : 2;
    if (++step_ == steps) {
      step_ = 0;
      ++round_;
      sampled_ = false;
    }
    return true;
  }

 private:
  static void message(Record& record, OperationKind kind, std::int32_t peer) {
    Operation& operation = record.operations.emplace_back();
    operation.kind = kind;
    operation.context = 0;
    operation.peer = peer;
  }

  std::int32_t rank_, workers_;
  std::uint64_t rounds_, round_ = 0, step_ = 0;
  bool sampled_ = false;  // in this round
  std::vector<Definition> definitions_;
};

/// Messages that nobody receives, to a rank whose first receive, from anybody, never ends: what it receives
/// later, from itself, is held back for ever behind that.
class Unmatched final : public ProcessTrace {
 public:
  Unmatched(std::int32_t rank, std::int32_t ranks, std::uint64_t calls)
      : rank_(rank), calls_(calls), definitions_{world_of(rank, ranks)} {}
  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] const std::vector<Definition>& definitions() const override { return definitions_; }
  [[nodiscard]] std::size_t threads() const override { return 1; }

  bool next(std::size_t /*thread*/, Record& record) override {
    if (call_ == calls_) return false;
    record.operations.clear();
    record.kind = RecordKind::call;
    record.enter_ns = 1000 + call_ * 1000;
    record.exit_ns = record.enter_ns + 500;
    record.node = 10;
    Operation& operation = record.operations.emplace_back();
    operation.context = 0;
    if (rank_ != 0) {
      operation.kind = OperationKind::send;
      operation.peer = 0;
      operation.tag = static_cast<std::int32_t>(call_ % 1000);
    } else {
      operation.kind = OperationKind::receive;
      operation.peer = call_ == 0 ? culprit::measurement::trace::kAnySource : 0;
      operation.tag = call_ == 0 ? culprit::measurement::trace::kAnyTag : 7;
      operation.completes = call_ != 0;
      operation.id = 1;
    }
    ++call_;
    return true;
  }

 private:
  std::int32_t rank_;
  std::uint64_t calls_, call_ = 0;
  std::vector<Definition> definitions_;
};

/// A trace that breaks off after a number of records.
class Truncated final : public ProcessTrace {
 public:
  Truncated(std::unique_ptr<ProcessTrace> whole, std::uint64_t records)
      : whole_(std::move(whole)), left_(records) {}
  [[nodiscard]] std::int32_t rank() const override { return whole_->rank(); }
  [[nodiscard]] const std::vector<Definition>& definitions() const override { return whole_->definitions(); }
  [[nodiscard]] std::size_t threads() const override { return whole_->threads(); }
  bool next(std::size_t thread, Record& record) override {
    if (left_ == 0) return false;
    --left_;
    return whole_->next(thread, record);
  }

 private:
  std::unique_ptr<ProcessTrace> whole_;
  std::uint64_t left_;
};

/// What is run: about `events` calls in all, on `ranks` ranks.
struct Case {
  std::string pattern;
  std::int32_t ranks = 0;
  std::uint64_t events = 0;
  std::size_t memory = 0;  // of each analyst's blocks; 0: as much as prof-mpi takes

  /// Of a rank's calls, beside others'.
  [[nodiscard]] std::uint64_t weight(std::int32_t rank) const {
    return pattern == "master" && rank == 0 ? 2 * (static_cast<std::uint64_t>(ranks) - 1) : 2;
  }

  [[nodiscard]] std::unique_ptr<ProcessTrace> trace(std::int32_t rank) const {
    const auto all = static_cast<std::uint64_t>(ranks);
    if (pattern == "master")
      return std::make_unique<Served>(rank, ranks, std::max<std::uint64_t>(events / (4 * (all - 1)), 1));
    if (pattern == "unmatched") return std::make_unique<Unmatched>(rank, ranks, events / all);
    // Of a multiple of four ranks: one ring, whose messages are almost all between the two halves of the
    // ranks.
    const std::int32_t step = pattern == "scattered" ? ranks / 2 - 1 : 1;
    auto ring = std::make_unique<Ring>(rank, ranks, step, std::max<std::uint64_t>(events / (6 * all), 1));
    if (pattern == "truncated" && rank == 1)
      return std::make_unique<Truncated>(std::move(ring), events / all / 2);
    return ring;
  }
};

/// CPU seconds of this thread.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A sum over amounts, each distinguished by what it belongs to: the same for any number of analysts, and
/// for all versions that find the same.
class Digest {
 public:
  void add(std::initializer_list<std::uint64_t> of, std::uint64_t amount) {
    std::uint64_t key = 0;
    for (const std::uint64_t part : of) key = mixed(key + 1, part);
    sum_ += key * amount;
  }
  void add(const PathOfRegion& path, std::uint64_t location, std::uint64_t amount) {
    add({path.context, path.region.previous, path.region.next, location}, amount);
  }
  void add(const Digest& other) { sum_ += other.sum_; }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t mixed = (a ^ a >> 32) * 0x9e3779b97f4a7c15U;
    mixed ^= (b ^ b >> 29) * 0xd6e8feb86659fd93U;
    mixed = (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15U;
    return mixed ^ mixed >> 29;
  }

  std::uint64_t sum_ = 0;
};

/// CPU seconds of all analysts together, by phase; wall seconds of the slowest; and what must hold.
struct Totals {
  double wall = 0;
  double matching = 0, delays = 0, path = 0, hotspots = 0, map = 0, variation = 0;
  std::uint64_t events = 0, waits = 0, waiting_ns = 0, costs_ns = 0, unmatched = 0, spilled = 0;
  std::uint64_t path_ns = 0, path_length_ns = 0, begin_ns = ~std::uint64_t{0}, end_ns = 0;
  Digest digest;
};

/// What an analyst's thread spends, phase by phase.
class Laps {
 public:
  /// CPU seconds of this thread since the lap before.
  double lap() {
    const Clock::time_point now = Clock::now();
    wall_ += std::chrono::duration<double>(now - std::exchange(begin_, now)).count();
    const double cpu = cpu_seconds();
    return cpu - std::exchange(cpu_, cpu);
  }
  /// What passed since the lap before is not the analysis's.
  void leave_out() {
    begin_ = Clock::now();
    cpu_ = cpu_seconds();
  }
  /// Seconds of all laps, waiting for other analysts included.
  [[nodiscard]] double wall() const { return wall_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  double cpu_ = cpu_seconds(), wall_ = 0;
};

Digest digest_of(const std::vector<WaitSum>& sums, const DelayCosts& delays, const CriticalPath& path,
                 const std::vector<OwnTime>& times, const std::vector<Hotspot>& spots) {
  Digest digest;
  for (const WaitSum& one : sums) {
    const auto pattern = static_cast<std::uint64_t>(one.pattern);
    digest.add({pattern, one.location, one.cause, one.context, one.cause_context}, one.ns);
    digest.add({one.location, pattern, one.cause, one.context, one.cause_context}, one.count);
  }
  for (const DelayCost& one : delays.costs) {
    digest.add(one.path, one.location, one.short_term_ns);
    digest.add(one.path, one.location + (std::uint64_t{1} << 32), one.long_term_ns);
  }
  digest.add({1}, delays.unattributed_ns);
  digest.add({2}, delays.direct_ns);
  digest.add({3}, delays.indirect_ns);
  for (const CriticalTime& one : path.times)
    digest.add(one.path, one.location + (std::uint64_t{2} << 32), one.ns);
  for (const OwnTime& one : times) digest.add(one.path, std::uint64_t{3} << 32, one.ns);
  for (const Hotspot& one : spots)
    digest.add({one.location, one.context, one.waiter, one.waiter_context}, one.ns);
  return digest;
}

void add(Digest& digest, const TimeMap& map) {
  for (const TimeMapRow& row : map.rows) {
    const auto rank = static_cast<std::uint64_t>(row.rank);
    for (std::uint64_t bin = 0; bin < map.bins; ++bin) {
      digest.add({4, rank, bin}, row.calls_ns[bin]);
      digest.add({5, rank, bin}, row.contexts[bin]);
      digest.add({6, rank, bin, row.segments[bin].first}, row.segments[bin].count);
    }
    for (const WaitInBin& wait : row.waits)
      digest.add({7, rank, wait.bin, static_cast<std::uint64_t>(wait.pattern)}, wait.ns);
  }
}

void add(Digest& digest, const Variation& level) {
  for (std::size_t row = 0; row < level.rows.size(); ++row) {
    const auto rank = static_cast<std::uint64_t>(level.ranks[row]);
    for (const Segment& one : level.rows[row])
      digest.add({8, level.procedure, rank, one.begin_ns, one.end_ns, one.context}, one.sos_ns);
  }
  for (const Outlier& one : level.outliers)
    digest.add({9, level.procedure, static_cast<std::uint64_t>(one.rank), one.segment}, one.sos_ns);
}

using Vary = std::function<Variation(const VariationOptions& options, Variation&& before)>;

/// The dominant procedure and two levels below it, as prof-mpi looks for them. Returns how many seconds that
/// takes.
double find_variations(const ProcedureSums& sums, const Vary& vary, TimeMap& map, Digest& digest,
                       Laps& laps) {
  Variation level = vary({}, {});
  find_segments(map, level);
  double seconds = 0;
  for (const std::uint32_t procedure : sums.levels(3)) {
    if (level.procedure != procedure) level = vary({.procedure = procedure}, std::move(level));
    seconds += laps.lap();
    add(digest, level);
    laps.leave_out();
  }
  return seconds;
}

/// This rank's share, as a merge partitions traces: neighbours, and as much to each.
std::vector<std::unique_ptr<ProcessTrace>> own_traces(const culprit::exchange::Communicator& analysis,
                                                      const Case& run) {
  std::vector<std::unique_ptr<ProcessTrace>> own;
  std::uint64_t all = 0, before = 0;
  for (std::int32_t rank = 0; rank < run.ranks; ++rank) all += run.weight(rank);
  for (std::int32_t rank = 0; rank < run.ranks; ++rank) {
    const std::uint64_t middle = before + run.weight(rank) / 2;
    before += run.weight(rank);
    if (middle * static_cast<std::uint64_t>(analysis.size()) / all ==
        static_cast<std::uint64_t>(analysis.rank()))
      own.push_back(run.trace(rank));
  }
  return own;
}

void analyse(culprit::exchange::Communicator& analysis, const Case& run, Totals& totals, std::mutex& mutex) {
  const std::vector<std::unique_ptr<ProcessTrace>> own = own_traces(analysis, run);
  analysis.barrier();
  Laps laps;
  const RankMap rank_map(analysis, own);
  MatchingOptions options;
  options.spill.memory = run.memory != 0 ? run.memory : usual_memory(analysis.size());
  const Matched matched = match_traces(analysis, rank_map, own, {}, options);
  const double matching_s = laps.lap();
  const Program program;
  const ProcedureChains chains(program.paths);
  HotspotDiagnosis diagnosis(matched, program.procedures, chains);
  const DelayCosts delays = delay_costs(
      analysis, rank_map, matched,
      {.observer = [&diagnosis](const ComparedWait& wait) { diagnosis.add(wait); }, .chains = &chains});
  const double delays_s = laps.lap();
  const CriticalPath path = critical_path(analysis, rank_map, matched);
  const double path_s = laps.lap();
  const std::vector<Hotspot> spots = diagnosis.find(analysis, 0.01);
  const double hotspots_s = laps.lap();
  TimeMap map = time_map(analysis, rank_map, matched, [](std::uint32_t context) { return context; });
  const Efficiency measures = efficiency(analysis, map, path);
  const double map_s = laps.lap();
  Digest digest;
  const ProcedureSums sums(analysis, rank_map, matched, program.paths);
  const Vary vary = [&](const VariationOptions& of, Variation&& level) {
    return variation(analysis, rank_map, matched, sums, of, std::move(level));
  };
  const double variation_s = find_variations(sums, vary, map, digest, laps);
  digest.add(digest_of(matched.wait_sums, delays, path, matched.own_times, spots));
  add(digest, map);
  digest.add({10, static_cast<std::uint64_t>(1e9 * measures.parallel)}, analysis.rank() == 0 ? 1 : 0);

  const std::lock_guard lock(mutex);
  totals.wall = std::max(totals.wall, laps.wall());
  totals.matching += matching_s;
  totals.delays += delays_s;
  totals.path += path_s;
  totals.hotspots += hotspots_s;
  totals.map += map_s;
  totals.variation += variation_s;
  totals.digest.add(digest);
  totals.costs_ns += delays.unattributed_ns;
  for (const DelayCost& cost : delays.costs) totals.costs_ns += cost.short_term_ns + cost.long_term_ns;
  for (const CriticalTime& time : path.times) totals.path_ns += time.ns;
  totals.path_length_ns = path.length_ns();
  totals.spilled += matched.store.spill().written();
  const auto& unmatched = matched.unmatched();
  totals.unmatched += unmatched.sends + unmatched.receives + unmatched.collectives;
  for (const TimeLine& line : matched.store.lines()) {
    totals.events += line.events.size();
    totals.waits += line.waits.size();
    for (const Wait& wait : line.waits) totals.waiting_ns += is_whole_wait(wait.pattern) ? wait.ns : 0;
    if (line.events.empty()) continue;
    totals.begin_ns = std::min(totals.begin_ns, line.events.front().enter_ns);
    totals.end_ns = std::max(totals.end_ns, line.events.back().exit_ns);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5 && count != 6) {
    std::fputs(
        "usage: bench_waits ring|scattered|master|unmatched|truncated RANKS EVENTS ANALYSTS [MEGABYTES]\n",
        stderr);
    return 2;
  }
  const Case run{arguments[1], std::atoi(arguments[2]), std::strtoull(arguments[3], nullptr, 10),
                 count == 6 ? std::strtoull(arguments[5], nullptr, 10) << 20 : 0};
  Totals totals;
  std::mutex mutex;
  culprit::exchange::run_on_threads(std::atoi(arguments[4]), [&](culprit::exchange::Communicator& analysis) {
    analyse(analysis, run, totals, mutex);
  });
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double cpu =
      totals.matching + totals.delays + totals.path + totals.hotspots + totals.map + totals.variation;
  std::printf(
      "{\"events\": %llu, \"waits\": %llu, \"unmatched\": %llu, \"wall\": %.3f, \"cpu\": %.3f, \"matching\": "
      "%.3f, \"delays\": %.3f, \"path\": %.3f, \"hotspots\": %.3f, \"map\": %.3f, \"variation\": %.3f, "
      "\"spilled\": %llu, \"peak\": "
      "%ld, \"digest\": \"%016llx\"}\n",
      static_cast<unsigned long long>(totals.events), static_cast<unsigned long long>(totals.waits),
      static_cast<unsigned long long>(totals.unmatched), totals.wall, cpu, totals.matching, totals.delays,
      totals.path, totals.hotspots, totals.map, totals.variation,
      static_cast<unsigned long long>(totals.spilled), usage.ru_maxrss * 1024,
      static_cast<unsigned long long>(totals.digest.sum()));
  if (totals.costs_ns != totals.waiting_ns) {
    std::fprintf(stderr, "bench_waits: %llu ns of costs for %llu ns of waiting\n",
                 static_cast<unsigned long long>(totals.costs_ns),
                 static_cast<unsigned long long>(totals.waiting_ns));
    return 1;
  }
  if (totals.path_ns != totals.path_length_ns || totals.path_length_ns > totals.end_ns - totals.begin_ns) {
    std::fprintf(stderr, "bench_waits: the critical path does not add up\n");
    return 1;
  }
}
