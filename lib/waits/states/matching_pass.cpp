// The matching pass: reads all time lines once, in step on all ranks of the analysis, and finds what may have
// kept each call waiting (docs/algorithms.md 7). Each round reads the records up to a common time, hands the
// operations to the matching of their kind (messages, collectives, epochs, locks) and exchanges what concerns
// other ranks' processes. After the last round waits are classified (wait_classification.cpp) and their
// synchronization intervals found (interval_starts.cpp). Rounds grow and shrink to a wished number of
// records; the result does not depend on it. Cost: 131 to 244 ns of CPU time per event with all that is named
// here (docs/figures.md); memory for operations without a partner.
#include "waits/states/matching_pass.hpp"

#include "exchange/message_exchange.hpp"
#include "measurement/kinds.hpp"
#include "storage/free_memory.hpp"
#include "waits/matching/active_target.hpp"
#include "waits/matching/collectives.hpp"
#include "waits/matching/completions.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/matching/interval_starts.hpp"
#include "waits/matching/locks.hpp"
#include "waits/matching/messages.hpp"
#include "waits/matching/neighbors.hpp"
#include "waits/states/wait_classification.hpp"
#include "waits/timeline/own_times.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_set>

namespace culprit::waits {

namespace trace = measurement::trace;
using trace::Operation;
using trace::OperationKind;
using trace::Record;
using trace::RecordKind;

namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

/// One time line while it is read: the record that comes next.
struct Cursor {
  std::size_t process = 0, thread = 0;
  std::int32_t rank = -1;
  TimeLine* line = nullptr;
  Record record;
  bool ended = false;
  std::uint64_t received_ns = 0;          // the exit of the last call that received or probed
  std::vector<std::uint64_t> sampled_ns;  // the samples since the last call
  std::uint64_t left_ns = 0;              // when that was left
  std::uint64_t shortest_ns = kEnd;       // that a sample stands for, so far: one period
  SampleLengths lengths;
};

/// Records in a round, at least: of each rank of the analysis, some milliseconds' work, and of each time
/// line, that what is kept of it is brought into a processor's cache for as many.
constexpr std::uint64_t kRecordsOfRank = 1 << 15, kRecordsOfLine = 1024;

/// Bytes of notices that one rank of the analysis writes in a round, at most, about: what waits for what they
/// show stays in a processor's cache. As many as it writes where all its messages are with other ranks'
/// processes and the round is no larger than kRecordsOfRank; and of thousands of time lines a hundred notices
/// each: turning to the lines and to their partners' would take longer than what then falls out of the cache.
constexpr std::uint64_t kBytesOfRank = 2 << 20, kBytesOfLine = 8 << 10;

/// Records that one rank of the analysis reads before it turns to the first time line again, at least.
constexpr std::uint64_t kRecordsTogether = 1 << 12;

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

bool waits_for_threads(const Record& sample) {
  const auto kind = static_cast<measurement::WaitKind>(sample.wait);
  return kind != measurement::WaitKind::none && kind != measurement::WaitKind::mpi;
}

class Pass {
 public:
  Pass(exchange::Communicator& analysis, const RankMap& rank_map,
       std::span<const std::unique_ptr<ProcessTrace>> own, const Observer& observer,
       const MatchingOptions& options)
      : analysis_(analysis),
        own_(own),
        observer_(observer),
        options_(options),
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
        locks_(rank_map, contexts_, exchange_, result_.store) {
    const std::uint64_t lines = rank_map.locations() / static_cast<std::uint64_t>(analysis.size());
    if (options.dependencies) {
      result_.dependencies = std::make_unique<Dependencies>(result_.store.spill());
      result_.store.dependencies = result_.dependencies.get();
    }
    most_bytes_ = std::max(kBytesOfRank, kBytesOfLine * lines);
    open(rank_map);
    if (options_.records_per_round == 0) {
      options_.records_per_round = std::max(kRecordsOfRank * static_cast<std::uint64_t>(analysis.size()),
                                            kRecordsOfLine * std::uint64_t{rank_map.locations()});
    }
  }

  Matched run() {
    std::uint64_t until = earliest();
    std::uint64_t span = 1'000'000;
    while (until != kEnd) {
      const std::uint64_t from = until;
      until = until > kEnd - span ? kEnd : until + span;
      const std::uint64_t records = analysis_.all_sum(read(from, until));
      const std::uint64_t written = analysis_.all_max(exchange_.pending());
      deliver();
      // Rounds of about the wished size, whatever the density of records; over gaps at once.
      const std::uint64_t most = options_.records_per_round;
      if (records > most || written > most_bytes_) span = std::max<std::uint64_t>(span / 2, 1);
      if (records < most / 2 && written < most_bytes_ / 2) span = span > kEnd / 4 ? span : span * 2;
      if (records == 0) until = earliest();
    }
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
  void open(const RankMap& rank_map) {
    std::unordered_set<std::int32_t> opened;
    for (std::size_t process = 0; process < own_.size(); ++process) {
      const std::int32_t rank = own_[process]->rank();
      // Of two that claim a rank the first has it, also where both are here.
      if (rank_map.owner_of(rank) != analysis_.rank() || !opened.insert(rank).second) continue;
      for (std::size_t thread = 0; thread < own_[process]->threads(); ++thread) {
        Cursor& cursor = cursors_.emplace_back();
        cursor.process = process;
        cursor.thread = thread;
        cursor.rank = rank;
        result_.store.open(rank_map.location_of(rank, thread));
        if (options_.dependencies) result_.dependencies->open(rank_map.location_of(rank, thread));
        advance(cursor);
      }
    }
    for (Cursor& cursor : cursors_)
      cursor.line = &result_.store.line(rank_map.location_of(cursor.rank, cursor.thread));
  }

  /// Collective.
  void tell_lengths_of_samples() {
    std::uint64_t least = ~std::uint64_t{0};
    for (const Cursor& cursor : cursors_) {
      cursor.line->sample_ns = cursor.lengths.single();
      if (cursor.line->sample_ns > 0) least = std::min(least, cursor.line->sample_ns);
    }
    least = ~analysis_.all_max(~least);
    for (const Cursor& cursor : cursors_)
      cursor.line->sample_ns = single_of_run(cursor.line->sample_ns, least);
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

  void advance(Cursor& cursor) { cursor.ended = !own_[cursor.process]->next(cursor.thread, cursor.record); }

  /// Over all ranks: the exit of the earliest record still to be read, or kEnd.
  std::uint64_t earliest() {
    std::uint64_t first = kEnd;
    for (const Cursor& cursor : cursors_) {
      if (!cursor.ended) first = std::min(first, cursor.record.exit_ns);
    }
    return kEnd - analysis_.all_max(kEnd - first);
  }

  /// All records up to `until`, since the round before, `from`. Returns how many. Some of all time lines,
  /// then some more: what has no partner yet is still in a processor's cache when its partner comes.
  std::uint64_t read(std::uint64_t from, std::uint64_t until) {
    const std::uint64_t together = std::max(kRecordsTogether, kRecordsOfLine * cursors_.size());
    const std::uint64_t times = records_ / together + 1;
    records_ = 0;
    for (std::uint64_t i = 1; i < times; ++i) records_ += read(from + (until - from) / times * i);
    return records_ += read(until);
  }

  /// All records up to `until`; those of one process in the order of their exits. Returns how many.
  std::uint64_t read(std::uint64_t until) {
    std::uint64_t count = 0;
    for (auto first = cursors_.begin(); first != cursors_.end();) {
      const auto last = std::find_if(
          first, cursors_.end(), [&first](const Cursor& cursor) { return cursor.process != first->process; });
      while (Cursor* next = earliest_of({first, last}, until)) {
        take(*next);
        advance(*next);
        ++count;
      }
      // While what this process sent is still in a processor's cache.
      exchange_.deliver_own(messages_, message_returns_, collectives_, returns_, neighbors_, active_target_,
                            locks_);
      first = last;
    }
    return count;
  }

  static Cursor* earliest_of(std::span<Cursor> threads, std::uint64_t until) {
    Cursor* best = nullptr;
    for (Cursor& cursor : threads) {
      if (cursor.ended || cursor.record.exit_ns > until) continue;
      if (best == nullptr || cursor.record.exit_ns < best->record.exit_ns) best = &cursor;
    }
    return best;
  }

  void take(Cursor& cursor) {
    const Record& record = cursor.record;
    if (observer_) observer_(cursor.line->location, record);
    if (record.kind == RecordKind::sample) {
      take_sample(cursor);
      return;
    }
    if (record.kind == RecordKind::reading) {
      take_reading(cursor);
      return;
    }
    if (record.kind == RecordKind::thread_wait || record.kind == RecordKind::short_waits) {
      take_thread_wait(cursor);
      return;
    }
    if (record.kind != RecordKind::call) {
      take_stamped(cursor);
      return;
    }
    if (!cursor.sampled_ns.empty()) drop_samples(cursor);
    if (!cursor.line->thread_waits.empty()) drop_thread_waits(cursor);
    take_call(cursor);
  }

  /// A sample in a call was read before the call, which is recorded at its exit.
  void drop_samples(Cursor& cursor) {
    storage::Sequence<Sample>& samples = cursor.line->samples;
    for (; !cursor.sampled_ns.empty() && cursor.sampled_ns.back() >= cursor.record.enter_ns;
         cursor.sampled_ns.pop_back()) {
      samples.pop_back();
    }
    cursor.sampled_ns.clear();
  }

  /// A sample that was due several times, as in a call that no signal could interrupt, counts for the gap
  /// that it was taken in as often as it was due there.
  void take_sample(Cursor& cursor) {
    TimeLine& line = *cursor.line;
    const Record& record = cursor.record;
    const std::uint64_t ns = record.exit_ns - record.enter_ns;
    if (ns != 0) {
      cursor.shortest_ns = std::min(cursor.shortest_ns, ns);
      cursor.lengths.add(ns);
    }
    const std::uint64_t in_gap = record.exit_ns - std::min(cursor.left_ns, record.exit_ns);
    line.samples.push_back({.gap = static_cast<std::uint32_t>(line.events.size()),
                            .context = record.node,
                            .charged = record.charged == Record::kItself ? record.node : record.charged,
                            .waiting = waits_for_threads(record) ? 1U : 0U,
                            .ns = ns > in_gap ? std::min(ns, in_gap + cursor.shortest_ns) : ns});
    cursor.sampled_ns.push_back(record.exit_ns);
  }

  /// Variation, which they are for, looks at a process's first time line only.
  void take_reading(const Cursor& cursor) {
    if (cursor.thread != 0) return;
    const Record& record = cursor.record;
    cursor.line->readings.push_back(
        {.ns = record.exit_ns, .value = record.value, .event = record.event, .context = record.node});
  }

  /// Between the call before and this one, whatever the record says.
  void take_thread_wait(const Cursor& cursor) {
    const Record& record = cursor.record;
    if (record.kind == RecordKind::short_waits) {
      if (cursor.thread == 0) result_.store.short_thread_waits_ns += record.value;
      return;
    }
    storage::Sequence<ThreadWait>& waits = cursor.line->thread_waits;
    const ThreadWait before = waits.empty() ? ThreadWait{} : waits.back();
    const std::uint64_t begin_ns = std::max({record.enter_ns, cursor.left_ns, before.end_ns});
    if (begin_ns >= record.exit_ns) return;
    const bool held = record.holder.known() && record.holder.thread < own_[cursor.process]->threads();
    waits.push_back({.begin_ns = begin_ns,
                     .end_ns = record.exit_ns,
                     .before_ns = before.before_ns + (before.end_ns - before.begin_ns),
                     .released_ns = held ? record.holder.released_ns : 0,
                     .holder = held ? rank_map_.location_of(cursor.rank, record.holder.thread) : kNoLocation,
                     .pattern = pattern_of(static_cast<measurement::WaitKind>(record.wait))});
  }

  /// Of a process's first time line only, as readings.
  static void take_stamped(const Cursor& cursor) {
    const Record& record = cursor.record;
    if (cursor.thread != 0 || record.enter_ns >= record.exit_ns) return;
    cursor.line->stamped.push_back(
        {.begin_ns = record.enter_ns, .end_ns = record.exit_ns, .context = record.node});
  }

  /// What was waited in a call, a series of polls with other code between, is that call's.
  void drop_thread_waits(const Cursor& cursor) {
    storage::Sequence<ThreadWait>& waits = cursor.line->thread_waits;
    const std::uint64_t enter_ns = cursor.record.enter_ns;
    while (!waits.empty() && waits.back().begin_ns >= enter_ns) waits.pop_back();
    if (waits.empty() || waits.back().end_ns <= enter_ns) return;
    waits.change(waits.size() - 1).end_ns = enter_ns;
  }

  /// Whether the call may have waited for a message.
  static bool may_receive(const Operation& operation) {
    if (operation.kind == OperationKind::receive) return operation.completes;
    return operation.kind == OperationKind::probe;
  }

  void take_call(Cursor& cursor) {
    const Record& record = cursor.record;
    const EventId id = result_.store.add(
        *cursor.line,
        {.enter_ns = record.enter_ns, .exit_ns = record.exit_ns, .context = record.node, .any = record.any});
    const CallSite call{.process = cursor.process,
                        .id = id,
                        .received_ns = cursor.received_ns,
                        .left_ns = std::min(cursor.left_ns, record.enter_ns),
                        .rank = cursor.rank,
                        .context = record.node,
                        .enter_ns = record.enter_ns,
                        .any = record.any,
                        .alone = record.operations.size() == 1,
                        .exit_ns = record.exit_ns};
    cursor.left_ns = record.exit_ns;
    for (const Operation& operation : record.operations) {
      if (may_receive(operation)) cursor.received_ns = std::max(cursor.received_ns, record.exit_ns);
      dispatch(call, operation);
    }
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
  std::span<const std::unique_ptr<ProcessTrace>> own_;
  const Observer& observer_;
  MatchingOptions options_;
  const RankMap& rank_map_;
  Matched result_;
  const Contexts& contexts_;
  exchange::MessageExchange exchange_;
  Completions completions_;
  MessageReturns message_returns_;
  Messages messages_;
  Returns returns_;
  Collectives collectives_;
  Neighbors neighbors_;
  ActiveTarget active_target_;
  Locks locks_;
  std::vector<Cursor> cursors_;  // those of one process together
  std::uint64_t records_ = 0;    // of the last round
  std::uint64_t most_bytes_ = 0;
};

}  // namespace

WaitPattern pattern_of(measurement::WaitKind kind) {
  constexpr auto distance = [](auto a, auto b) { return static_cast<int>(b) - static_cast<int>(a); };
  using measurement::WaitKind;
  static_assert(distance(WaitKind::omp_barrier, WaitKind::join) ==
                distance(WaitPattern::omp_barrier, WaitPattern::join_wait));
  if (kind < WaitKind::omp_barrier) return WaitPattern::condition_wait;
  return static_cast<WaitPattern>(static_cast<int>(WaitPattern::omp_barrier) +
                                  distance(WaitKind::omp_barrier, kind));
}

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
