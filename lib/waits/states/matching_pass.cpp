// The matching pass: reads all time lines once, in step on all ranks of the analysis, and finds what may have
// kept each call waiting (docs/algorithms.md 7). In rounds (record_rounds.cpp), each up to a common time, it
// hands the operations to the matching of their kind (messages, collectives, epochs, locks) and exchanges
// what concerns other ranks' processes. After the last round waits are classified (wait_classification.cpp)
// and their synchronization intervals found (interval_starts.cpp). The result does not depend on the rounds.
// Cost: 131 to 244 ns of CPU time per event with all that is named here (docs/figures.md); memory for
// operations without a partner.
#include "waits/states/matching_pass.hpp"

#include "exchange/message_exchange.hpp"
#include "measurement/trace_event.hpp"
#include "storage/free_memory.hpp"
#include "waits/matching/active_target.hpp"
#include "waits/matching/collectives.hpp"
#include "waits/matching/completions.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/matching/interval_starts.hpp"
#include "waits/matching/locks.hpp"
#include "waits/matching/messages.hpp"
#include "waits/matching/neighbors.hpp"
#include "waits/states/line_records.hpp"
#include "waits/states/record_rounds.hpp"
#include "waits/states/wait_classification.hpp"
#include "waits/timeline/own_times.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace culprit::waits {

namespace trace = measurement::trace;
using trace::Operation;
using trace::OperationKind;
using trace::Record;
using trace::RecordKind;

namespace {

/// Waits of which one rank of the analysis informs others between two exchanges, and those of one time line:
/// some megabytes.
constexpr std::size_t kWaitsTold = 1 << 18;

/// Of each time line this many blocks are to fit into memory: eight that are being added to, half empty, are
/// then an eighth of it, and half of what is not packed at least. (What is never filled has to be zeroed by
/// the system none the less, which would take longer than all else: so also where more memory may be used.)
constexpr std::size_t kBlocksOfLine = 32;

storage::SpillOptions fit_blocks(storage::SpillOptions options,
                                 std::span<const std::unique_ptr<ProcessTrace>> own) {
  std::size_t lines = 0;
  for (const std::unique_ptr<ProcessTrace>& process : own) lines += process->threads();
  const std::size_t memory = std::min(options.memory, storage::SpillOptions::kLeastMemory);
  const std::size_t most = memory / (kBlocksOfLine * std::max<std::size_t>(lines, 1));
  options.block = std::min(options.block, std::bit_floor(std::max(most, storage::Spill::kLeastBlock)));
  return options;
}

class Pass {
 public:
  Pass(exchange::Communicator& analysis, const RankMap& rank_map,
       std::span<const std::unique_ptr<ProcessTrace>> own, const Observer& observer,
       const MatchingOptions& options)
      : analysis_(analysis),
        observer_(observer),
        rank_map_(rank_map),
        result_(fit_blocks(options.spill, own)),
        contexts_(*(result_.contexts = std::make_unique<Contexts>(analysis, own))),
        exchange_(analysis),
        completions_(result_.store, own),
        message_returns_(rank_map, own.size(), exchange_, result_.store, completions_),
        messages_(rank_map, contexts_, own.size(), exchange_, result_.store, completions_, message_returns_),
        returns_(exchange_, result_.store, own.size()),
        collectives_(contexts_, exchange_, result_.store, completions_, returns_),
        neighbors_(rank_map, contexts_, own, exchange_, result_.store, completions_),
        active_target_(rank_map, contexts_, exchange_, result_.store),
        locks_(rank_map, contexts_, exchange_, result_.store),
        rounds_(analysis, rank_map, own, result_.store, options.records_per_round) {
    if (!options.dependencies) return;
    result_.dependencies = std::make_unique<Dependencies>(result_.store.spill());
    result_.store.dependencies = result_.dependencies.get();
    for (const TimeLine& line : result_.store.lines()) result_.dependencies->open(line.location);
  }

  Matched run() {
    while (rounds_.next()) {
      rounds_.read([this](LineRecords& line, const Record& record) { take(line, record); },
                   [this] { deliver_own_notices(); });
      rounds_.end(exchange_.pending());
      deliver();
    }
    rounds_.close();
    collectives_.flush();
    deliver();
    messages_.place_freed();
    deliver();
    messages_.finish();
    collectives_.finish();
    neighbors_.finish();
    active_target_.finish();
    locks_.finish();
    result_.regions = Regions(analysis_, result_.store.regions);
    classify_lines();
    return std::move(result_);
  }

 private:
  /// Where a line has little but sleeps, other lines tell how long one sample is. Collective.
  void tell_lengths_of_samples() {
    std::uint64_t least = ~std::uint64_t{0};
    for (const TimeLine& line : result_.store.lines())
      if (line.sample_ns > 0) least = std::min(least, line.sample_ns);
    least = ~analysis_.all_max(~least);
    for (TimeLine& line : result_.store.lines())
      line.sample_ns = single_of_run(line.sample_ns, least << line.halvings);
  }

  /// Some time lines at a time, so that what they send others takes some megabytes.
  void classify_lines() {
    tell_lengths_of_samples();
    OwnTimes own_times(rank_map_, result_.regions);
    WaitSums wait_sums;
    WaitClassification classification(result_.regions, wait_sums);
    IntervalStarts starts(analysis_, rank_map_, contexts_, result_.store);
    std::vector<TimeLine>& lines = result_.store.lines();
    for (auto line = lines.begin(); analysis_.all_sum(line != lines.end() ? 1 : 0) > 0; starts.deliver()) {
      for (std::size_t waits = 0; line != lines.end() && waits < kWaitsTold; ++line) {
        const LineTimes& times = classification.classify(*line);
        waits += line->waits.size();
        starts.send(*line);
        own_times.add(*line, times);
        result_.context_times.add(*line, times, result_.regions);
      }
    }
    result_.own_times = own_times.take();
    result_.wait_sums = wait_sums.take();
    starts.find();
  }

  void deliver() {
    deliver_notices();
    collectives_.close_round([this](std::uint64_t window, std::int32_t rank, EventId call) {
      active_target_.fenced(window, rank, call);
    });
    locks_.close_round();
    deliver_notices();
  }
  void deliver_notices() {
    exchange_.deliver(messages_, message_returns_, collectives_, returns_, neighbors_, active_target_,
                      locks_);
  }

  /// Behind each process, while what it sent is still in a processor's cache.
  void deliver_own_notices() {
    exchange_.deliver_own(messages_, message_returns_, collectives_, returns_, neighbors_, active_target_,
                          locks_);
  }

  void take(LineRecords& line, const Record& record) {
    if (observer_) observer_(line.location(), record);
    if (record.kind != RecordKind::call) return line.add(record);
    const CallSite call = line.add_call(record);
    for (const Operation& operation : record.operations) dispatch(call, operation);
  }

  void dispatch(const CallSite& call, const Operation& operation) {
    switch (operation.kind) {
      case OperationKind::send:
      case OperationKind::send_synchronous:
      case OperationKind::send_buffered:
        messages_.send(call, operation);
        break;
      case OperationKind::receive:
      case OperationKind::receive_matched:
        messages_.receive(call, operation);
        break;
      case OperationKind::probe:
        messages_.probe(call, operation);
        break;
      case OperationKind::neighbors:
        neighbors_.observe(call, operation);
        break;
      case OperationKind::barrier:
      case OperationKind::one_to_all:
      case OperationKind::all_to_one:
      case OperationKind::all_to_all:
      case OperationKind::prefix:
      case OperationKind::create:
      case OperationKind::free:
      case OperationKind::file_access:
        collectives_.observe(call, operation);
        break;
      case OperationKind::initialize:
        result_.store.initializes(call.id);
        collectives_.observe(call, operation);
        break;
      case OperationKind::finalize:
        result_.store.finalizes(call.id);
        collectives_.observe(call, operation);
        break;
      default:
        dispatch_one_sided(call, operation);
        break;
    }
  }

  void dispatch_one_sided(const CallSite& call, const Operation& operation) {
    switch (operation.kind) {
      case OperationKind::put:
      case OperationKind::get:
      case OperationKind::accumulate:
        active_target_.access(call, operation);
        locks_.use(call, operation);
        break;
      case OperationKind::flush:
      case OperationKind::flush_local:
        locks_.use(call, operation);
        break;
      case OperationKind::lock:
        locks_.lock(call, operation);
        break;
      case OperationKind::unlock:
        locks_.unlock(call, operation);
        break;
      case OperationKind::fence:
        collectives_.observe(call, operation);
        active_target_.fence(call, operation);
        break;
      case OperationKind::start:
        active_target_.start(call, operation);
        break;
      case OperationKind::complete:
        active_target_.complete(call, operation);
        break;
      case OperationKind::post:
        active_target_.post(call, operation);
        break;
      case OperationKind::wait:
        active_target_.wait(call, operation);
        break;
      default:
        break;
    }
  }

  exchange::Communicator& analysis_;
  const Observer& observer_;
  const RankMap& rank_map_;
  Matched result_;
  const Contexts& contexts_;
  exchange::MessageExchange exchange_;
  Completions completions_;
  MessageReturns message_returns_;
  Messages messages_;
  CollectiveReturns returns_;
  Collectives collectives_;
  Neighbors neighbors_;
  ActiveTarget active_target_;
  Locks locks_;
  RecordRounds rounds_;
};

}  // namespace

std::size_t usual_memory(int ranks) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  constexpr std::uint64_t kShare = 4;
  return std::clamp<std::uint64_t>(storage::free_memory() / kShare / static_cast<std::uint64_t>(ranks),
                                   storage::SpillOptions::kLeastMemory, kMost);
}

Matched match_traces(exchange::Communicator& analysis, const RankMap& rank_map,
                     std::span<const std::unique_ptr<ProcessTrace>> own, const Observer& observer,
                     const MatchingOptions& options) {
  return Pass(analysis, rank_map, own, observer, options).run();
}

}  // namespace culprit::waits
