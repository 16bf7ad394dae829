#pragma once

#include "waits/states/wait_sums.hpp"
#include "waits/timeline/line_times.hpp"
#include "waits/timeline/regions.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace culprit::waits {

/// Classifies one time line after the other: decides for each call what it waited for, now that all
/// candidates are known: the latest of what it depended on, or for calls that return at the first, the
/// earliest; and that only if it falls between the call's enter and its exit (docs/algorithms.md 7). Then
/// what is part of a wait: wrong order, late complete, early fence; and completions.
class WaitClassification {
 public:
  /// Waits are added to `sums`.
  WaitClassification(const Regions& regions, WaitSums& sums)
      : regions_(regions), sums_(sums), times_(regions) {}

  /// Takes the candidates and receipts, in the order of calls, and fills in the waits, but not yet where
  /// their synchronization intervals begin, and what the events say of them. Returns what the line took
  /// otherwise: until the next one is classified.
  const LineTimes& classify(TimeLine& line);

 private:
  /// What a call waited.
  struct Decided {
    std::uint64_t ns = 0;        // how long
    std::uint64_t until_ns = 0;  // 0: it did not wait
  };
  /// What classifying the next event takes from those before.
  struct Before {
    std::uint64_t left_ns = TimeLine::kNever;  // when the call before was left; nothing comes after none
    std::uint64_t until_ns = 0;                // of the latest wait, no part of one; 0: there was none yet
    std::uint32_t latest = 0;                  // that wait
  };
  /// A gap that holds samples.
  struct SampledGap {
    std::uint32_t call = 0;  // that ends it
    std::uint32_t region = 0;
  };

  void classify_part(std::size_t part, std::uint32_t first, std::uint32_t last);
  void classify_block(std::uint32_t first, std::span<Event> events);
  void add_waits();
  void overlap(std::uint32_t wait);
  void note_eager(const Event& event, std::span<const Candidate> candidates);
  [[nodiscard]] bool is_eager(const Candidate& candidate) const;
  [[nodiscard]] const Candidate* choose(const Event& event, std::span<const Candidate> candidates) const;
  [[nodiscard]] Decided decide(const Event& event, std::span<const Candidate> candidates);
  Decided wait_for_main(const Event& event, const Candidate& main);
  void late_complete(const Event& event, std::span<const Candidate> candidates, const Candidate& main);
  [[nodiscard]] Decided early_fence(const Event& event, std::span<const Candidate> candidates, bool waits);
  void completion(const Event& event, std::span<const Candidate> candidates);
  Decided add_wait(WaitPattern pattern, const Event& event, const Candidate& on, bool cause_ends);
  Wait& add(WaitPattern pattern, const Event& event, std::uint64_t since, std::uint64_t until,
            const Candidate& on);

  void take_samples(std::uint32_t until);
  void keep_sampled();

  void find_least_sent(std::size_t parts);
  void find_least_sent_after(std::size_t part);
  [[nodiscard]] std::uint64_t least_sent_after(std::uint32_t index);

  const Regions& regions_;
  WaitSums& sums_;
  LineTimes times_;
  TimeLine* line_ = nullptr;  // that is being classified

  // Of the part that is being classified:
  std::vector<Candidate> candidates_;     // and one behind them
  const Candidate* candidate_ = nullptr;  // the next one
  std::vector<Receipt> receipts_;
  std::size_t next_receipt_ = 0;
  std::vector<std::uint64_t> least_sent_;       // by part: in it and those behind it
  std::vector<std::uint64_t> least_sent_from_;  // by receipt of this part: from there on
  std::vector<SampledGap> sampled_;

  // Of the events that lie together, of which others must not be used:
  std::vector<Wait> found_;
  std::vector<std::uint32_t> overlapped_;  // waits

  // Of the line:
  std::unordered_map<Location, int>
      largest_eager_;  // by receiver: of the sends to it that waited for no receive
  Before before_;
  std::uint64_t sum_ns_ = 0;
  std::uint32_t waits_before_ = 0;  // those found_
  std::uint32_t last_ = 0;          // of its calls
  std::size_t next_sample_ = 0;
};

}  // namespace culprit::waits
