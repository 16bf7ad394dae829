#pragma once

#include "waits/ledger.hpp"
#include "waits/line_times.hpp"
#include "waits/pieces.hpp"
#include "waits/wait_sums.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// Settles one time line after the other: decides for each call what it waited for, now that all candidates
/// are known: the latest of what it depended on, or for calls that return at the first, the earliest; and
/// that only if it falls between the call's enter and its exit (algorithms.md 7). Then what is part of a
/// wait: wrong order, late complete, early fence; and completions.
class Settlement {
 public:
  /// Waits are added to `sums`.
  Settlement(const Pieces& pieces, WaitSums& sums) : pieces_(pieces), sums_(sums), times_(pieces) {}

  /// Takes the candidates and receipts, in the order of calls, and fills in the waits, but not yet where
  /// their synchronization intervals begin, and what the events say of them. Returns what the line took
  /// otherwise: until the next one is settled.
  const LineTimes& settle(TimeLine& line);

 private:
  /// A call that may have waited, once that is decided.
  struct Decided {
    std::uint32_t event = 0;
    std::uint32_t waits = 0;     // of it, parts included
    std::uint64_t ns = 0;        // how long it waited
    std::uint64_t until_ns = 0;  // the same; 0: it did not
    std::uint32_t wait = 0;      // which of the line's waits that is
  };
  /// What telling the next event takes from those before.
  struct Told {
    std::size_t next = 0;                       // of those that are decided
    std::uint64_t left_ns = ~std::uint64_t{0};  // when the call before was left; nothing comes after none
    std::uint64_t until_ns = 0;                 // of the latest wait, no part of one; 0: there was none yet
    std::uint32_t latest = 0;                   // that wait
    std::uint32_t waits = 0;                    // of the calls before
  };
  /// A gap that holds samples.
  struct SampledGap {
    std::uint32_t call = 0;  // that ends it
    std::uint32_t piece = 0;
  };

  void settle_part(std::size_t part, std::uint32_t first, std::uint32_t last);
  void decide(std::span<const Candidate> candidates);
  void find_waits(std::span<const Candidate> candidates);
  void late_complete(std::span<const Candidate> candidates, const Candidate& main);
  void early_fence(std::span<const Candidate> candidates, const Candidate* main);
  void completion(std::span<const Candidate> candidates);
  void add_wait(Pattern pattern, const Candidate& on, bool cause_ends);
  void add(Pattern pattern, std::uint64_t since, std::uint64_t until, const Candidate& on);

  void tell_events(std::uint32_t first, std::uint32_t last);
  void tell_block(std::uint32_t first, std::span<Event> events);
  void overlap(std::uint32_t wait);
  void take_samples(std::uint32_t until);

  void find_least_sent(std::size_t parts);
  void find_least_sent_after(std::size_t part);
  [[nodiscard]] std::uint64_t least_sent_after(std::uint32_t index);

  const Pieces& pieces_;
  WaitSums& sums_;
  LineTimes times_;
  TimeLine* line_ = nullptr;  // that is being settled

  // While it is decided what calls waited for:
  Event event_;      // such a call
  Decided decided_;  // of it, what is found so far
  std::uint64_t sum_ns_ = 0;
  std::vector<Candidate> candidates_;  // of a part
  std::vector<Receipt> receipts_;
  std::size_t next_receipt_ = 0;
  std::vector<std::uint64_t> least_sent_;       // by part: in it and those behind it
  std::vector<std::uint64_t> least_sent_from_;  // by receipt of this part: from there on
  std::vector<Decided> part_;                   // of this part, in order, and one behind them

  // While its events are told:
  Told told_;
  std::uint32_t last_ = 0;                 // of the line's calls
  std::vector<std::uint32_t> overlapped_;  // waits
  std::vector<SampledGap> sampled_;
  std::size_t next_sample_ = 0;
};

}  // namespace culprit::waits
