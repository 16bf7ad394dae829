// How fast time lines are analysed: bench_waits RANKS ITERATIONS ANALYSTS. The traces are made while they are
// read: a ring of ranks that exchange halos without blocking and reduce a number in each iteration, where a
// rank in eight is late by turns. Six calls an iteration and rank.
#include "exchange/threads.hpp"
#include "waits/critical_path.hpp"
#include "waits/delay_costs.hpp"
#include "waits/forward.hpp"
#include "waits/hotspots.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

namespace {

using namespace culprit::waits;
using culprit::measurement::trace::Definition;
using culprit::measurement::trace::Operation;
using culprit::measurement::trace::OperationKind;
using culprit::measurement::trace::Record;
using culprit::measurement::trace::RecordKind;

constexpr std::uint64_t kWork = 20'000;  // ns an iteration
constexpr std::uint64_t kCost = 500;     // ns a call

std::uint64_t work(std::int32_t rank, std::uint64_t iteration) {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(rank) * 0x9e3779b97f4a7c15U) ^ (iteration * 0xd6e8feb86659fd93U);
  const bool late = (static_cast<std::uint64_t>(rank) + iteration / 100) % 8 == 0;
  return kWork + (mixed >> 40) % 4096 + (late ? kWork / 2 : 0);
}

/// A rank's time line: all end their reduction together, when the last would.
class Ring final : public ProcessTrace {
 public:
  Ring(std::int32_t rank, std::int32_t ranks, std::uint64_t iterations)
      : rank_(rank), ranks_(ranks), iterations_(iterations) {
    Definition world;
    world.global_id = 1;
    world.size = static_cast<std::uint32_t>(ranks);
    world.rank = rank;
    if (rank == 0) {
      for (std::int32_t one = 0; one < ranks; ++one) world.members.push_back(one);
    }
    definitions_.push_back(world);
  }
  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] const std::vector<Definition>& definitions() const override { return definitions_; }
  [[nodiscard]] std::size_t threads() const override { return 1; }

  bool next(std::size_t /*thread*/, Record& record) override {
    if (iteration_ == iterations_) return false;
    if (step_ == 0) start_iteration();
    record.operations.clear();
    record.kind = RecordKind::call;
    record.enter_ns = now_;
    record.exit_ns = now_ + kCost;
    record.node = 10 + step_;
    record.any = false;
    const std::int32_t below = (rank_ + ranks_ - 1) % ranks_;
    const std::int32_t above = (rank_ + 1) % ranks_;
    switch (step_) {
      case 0:
        post(record, OperationKind::receive, below, 0);
        break;
      case 1:
        post(record, OperationKind::receive, above, 1);
        break;
      case 2:
        record.enter_ns = now_ += work(rank_, iteration_);
        record.exit_ns = now_ + kCost;
        post(record, OperationKind::send, above, 2);
        break;
      case 3:
        post(record, OperationKind::send, below, 3);
        break;
      case 4:
        record.exit_ns = std::max(record.exit_ns, std::max(sent(below, 2), sent(above, 3)) + kCost);
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
    operation.peer = up ? (rank_ + 1) % ranks_ : (rank_ + ranks_ - 1) % ranks_;
    operation.id = 1 + 4 * iteration_ + static_cast<std::uint64_t>(which);
  }

  std::int32_t rank_, ranks_;
  std::uint64_t iterations_, iteration_ = 0;
  std::uint32_t step_ = 0;
  std::uint64_t now_ = 1000, begin_ = 0, all_ns_ = 0;
  std::vector<Definition> definitions_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) {
  const std::int32_t ranks = count > 1 ? std::atoi(arguments[1]) : 64;
  const std::uint64_t iterations = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1000;
  const int analysts = count > 3 ? std::atoi(arguments[3]) : 2;
  const double events = 6.0 * static_cast<double>(iterations) * ranks;
  double forward_s = 0, delays_s = 0, path_s = 0, hotspots_s = 0;
  std::uint64_t waits = 0;
  std::mutex mutex;
  culprit::exchange::run_on_threads(analysts, [&](culprit::exchange::Communicator& analysis) {
    std::vector<std::unique_ptr<ProcessTrace>> own;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      // Blocks, as a merge would deal them out.
      if (static_cast<std::int64_t>(rank) * analysis.size() / ranks != analysis.rank()) continue;
      own.push_back(std::make_unique<Ring>(rank, ranks, iterations));
    }
    const Roster roster(analysis, own);
    auto start = std::chrono::steady_clock::now();
    const Forward forward = read_forward(analysis, roster, own);
    const double forward_time = seconds_since(start);
    start = std::chrono::steady_clock::now();
    const DelayCosts delays = delay_costs(analysis, roster, forward);
    const double delays_time = seconds_since(start);
    start = std::chrono::steady_clock::now();
    const CriticalPath path = critical_path(analysis, roster, forward);
    const double path_time = seconds_since(start);
    start = std::chrono::steady_clock::now();
    const std::vector<Hotspot> spots = hotspots(analysis, roster, forward, {});
    const double hotspots_time = seconds_since(start);
    const std::lock_guard lock(mutex);
    forward_s = std::max(forward_s, forward_time);
    delays_s = std::max(delays_s, delays_time);
    path_s = std::max(path_s, path_time);
    hotspots_s = std::max(hotspots_s, hotspots_time);
    for (const TimeLine& line : forward.ledger.lines()) waits += line.waits.size();
  });
  const double all = forward_s + delays_s + path_s + hotspots_s;
  std::printf(
      "%.0f events, %llu waits: forward %.2f s, delay costs %.2f s, critical path %.2f s, hotspots %.2f s\n",
      events, static_cast<unsigned long long>(waits), forward_s, delays_s, path_s, hotspots_s);
  std::printf("analysed %.0f events of %d ranks on %d analysts, %.2f s: %.0f events/s\n", events, ranks,
              analysts, all, events / all);
}
