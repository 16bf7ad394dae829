#include "waits/states/record_rounds.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace culprit::waits {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

/// Records in a round, at least: of each rank of the analysis, some milliseconds' work, and of each time
/// line, that what is kept of it is brought into a processor's cache for as many.
constexpr std::uint64_t kRecordsOfRank = 1 << 15, kRecordsOfLine = 1024;

/// Bytes of notices that one rank of the analysis writes in a round, at most, about: what waits for what they
/// show stays in a processor's cache. As many as it writes where all its messages are with other ranks'
/// processes and the round is no larger than kRecordsOfRank; and of thousands of time lines a hundred notices
/// each: turning to the lines and to their partners' would take longer than what then falls out of the cache.
constexpr std::uint64_t kBytesOfRank = 2 << 20, kBytesOfLine = 8 << 10;

}  // namespace

RecordRounds::RecordRounds(exchange::Communicator& analysis, const RankMap& rank_map,
                           std::span<const std::unique_ptr<ProcessTrace>> own, TraceStore& store,
                           std::uint64_t most_records)
    : analysis_(analysis), own_(own), most_records_(most_records) {
  const std::uint64_t ranks = static_cast<std::uint64_t>(analysis.size()), lines = rank_map.locations();
  if (most_records_ == 0) most_records_ = std::max(kRecordsOfRank * ranks, kRecordsOfLine * lines);
  most_bytes_ = std::max(kBytesOfRank, kBytesOfLine * (lines / ranks));
  std::vector<LineOf> opened;
  std::unordered_set<std::int32_t> claimed;
  for (std::size_t process = 0; process < own.size(); ++process) {
    const std::int32_t rank = own[process]->rank();
    // Of two that claim a rank the first has it, also where both are here.
    if (rank_map.owner_of(rank) != analysis.rank() || !claimed.insert(rank).second) continue;
    const std::size_t threads = own[process]->threads();
    for (std::size_t thread = 0; thread < threads; ++thread) {
      store.open(rank_map.location_of(rank, thread));
      opened.push_back({.process = process,
                        .thread = thread,
                        .threads = threads,
                        .halvings = own[process]->halvings(thread),
                        .rank = rank});
    }
  }
  readers_.reserve(opened.size());
  for (const LineOf& of : opened) {
    readers_.push_back({.process = of.process,
                        .thread = of.thread,
                        .line = LineRecords(store, rank_map.location_of(of.rank, of.thread), of)});
    advance(readers_.back());
  }
}

bool RecordRounds::next() {
  if (records_ == 0) until_ = earliest();  // over gaps at once
  if (until_ == kEnd) return false;
  until_ = until_ > kEnd - length_.ns() ? kEnd : until_ + length_.ns();
  return true;
}

/// Over all ranks: the exit of the earliest record still to be read, or kEnd.
std::uint64_t RecordRounds::earliest() {
  std::uint64_t first = kEnd;
  for (const Reader& reader : readers_) {
    if (!reader.ended) first = std::min(first, reader.record.exit_ns);
  }
  return kEnd - analysis_.all_max(kEnd - first);
}

void RecordRounds::read(const Take& take, const std::function<void()>& process_read) {
  records_ = 0;
  for (auto first = readers_.begin(); first != readers_.end();) {
    const auto last = std::find_if(
        first, readers_.end(), [&first](const Reader& reader) { return reader.process != first->process; });
    while (Reader* const next = earliest_of({first, last})) {
      take(next->line, next->record);
      advance(*next);
      ++records_;
    }
    process_read();
    first = last;
  }
}

RecordRounds::Reader* RecordRounds::earliest_of(std::span<Reader> threads) const {
  Reader* best = nullptr;
  for (Reader& reader : threads) {
    if (reader.ended || reader.record.exit_ns > until_) continue;
    if (best == nullptr || reader.record.exit_ns < best->record.exit_ns) best = &reader;
  }
  return best;
}

void RecordRounds::end(std::uint64_t written) {
  records_ = analysis_.all_sum(records_);
  written = analysis_.all_max(written);
  length_.adapt(records_ > most_records_ || written > most_bytes_,
                records_ < most_records_ / 2 && written < most_bytes_ / 2);
}

void RecordRounds::close() {
  for (Reader& reader : readers_) reader.line.close();
}

}  // namespace culprit::waits
