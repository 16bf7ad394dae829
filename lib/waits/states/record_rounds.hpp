#pragma once

#include "exchange/communicator.hpp"
#include "measurement/trace_event.hpp"
#include "waits/states/line_records.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/round_length.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace culprit::waits {

/// Reads the records of all processes once, in step on all ranks of the analysis: each round up to a common
/// time. Rounds grow and shrink, so that what is sent in them stays in a processor's cache.
class RecordRounds {
 public:
  /// Called with each record of a time line, those of one process in the order of their exits.
  using Take = std::function<void(LineRecords&, const measurement::trace::Record&)>;

  /// The time lines are opened in the store. `most_records`: of all ranks in a round, about; 0: chosen such
  /// that exchanges, and turning from one time line to the next, take a small part of the time.
  RecordRounds(exchange::Communicator& analysis, const RankMap& rank_map,
               std::span<const std::unique_ptr<ProcessTrace>> own, TraceStore& store,
               std::uint64_t most_records);

  /// Collective: turns to the next round. False: all records were read.
  bool next();
  /// This rank's records of the round. `process_read` is called behind those of each process.
  void read(const Take& take, const std::function<void()>& process_read);
  /// Collective: ends the round, in which this rank wrote so many bytes of messages.
  void end(std::uint64_t written);
  /// All records were read.
  void close();

 private:
  /// One time line while it is read.
  struct Reader {
    std::size_t process = 0, thread = 0;
    LineRecords line;
    measurement::trace::Record record{};  // that comes next
    bool ended = false;
  };
  void advance(Reader& reader) { reader.ended = !own_[reader.process]->next(reader.thread, reader.record); }
  [[nodiscard]] Reader* earliest_of(std::span<Reader> threads) const;
  [[nodiscard]] std::uint64_t earliest();

  exchange::Communicator& analysis_;
  std::span<const std::unique_ptr<ProcessTrace>> own_;
  std::uint64_t most_records_ = 0, most_bytes_ = 0;
  std::vector<Reader> readers_;  // those of one process together
  RoundLength length_;
  std::uint64_t until_ = 0;  // the end of the round
  // Of this rank in it until end(), then of all; 0: none, so that the next round begins at the earliest.
  std::uint64_t records_ = 0;
};

}  // namespace culprit::waits
