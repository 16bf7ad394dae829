#pragma once

#include "exchange/letter.hpp"
#include "waits/causes/burden.hpp"
#include "waits/causes/causer_intervals.hpp"
#include "waits/causes/interval_profile.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// Asks for what a causer did in an interval, which explains so many waits of the rank of the analysis that
/// asks.
struct AskedLetter {
  static constexpr std::uint8_t kLetter = 20;
  CauserIntervals::Key interval;
  std::uint32_t waits = 0;
  std::uint32_t number = 0;  ///< among those that are asked for together
  int from = 0;
};

/// The answer: encloses the times of the pieces, and behind them the samples.
struct AnswerLetter {
  static constexpr std::uint8_t kLetter = 21;
  using Item = PieceTime;
  std::uint64_t waits_ns = 0;  ///< of CauserInterval, as the next two
  Burden::Range waits;
  std::uint32_t met_piece = 0;
  std::uint32_t times = 0;
  std::uint32_t number = 0;  ///< of the question
};

/// Intervals of causers whose time lines other ranks of the analysis have: asked for some thousand at a time.
/// All waits that one of them explains share it, as far as they come soon after each other.
class AskedIntervals {
 public:
  AskedIntervals() : latest_(kLatest, kNone) {}

  /// The interval explains one more wait. Returns its number, among those that are asked for together.
  std::uint32_t ask(int holder, const CauserIntervals::Key& key);
  /// Intervals to be asked for.
  [[nodiscard]] std::size_t size() const { return asked_.size(); }
  /// Asks for them; what comes then is asked for together the next time.
  void send(exchange::Mail& mail);

  void receive(const AnswerLetter& letter, std::span<const PieceTime> items);
  /// One whose answer is here, until forget().
  [[nodiscard]] CauserInterval operator[](std::uint32_t number);
  /// The answers that are here are of no more use.
  void forget();

 private:
  struct Asked {
    CauserIntervals::Key key;
    int holder = 0;
    std::uint32_t waits = 0;
  };
  struct Answer {
    AnswerLetter letter;
    std::size_t first_time = 0, first_sample = 0, samples = 0;
  };
  static constexpr std::size_t kLatest = 1024;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::vector<Asked> asked_;
  std::vector<std::uint32_t> latest_;        // by hash: the number of the one that was asked for last
  std::vector<Answer> answers_;              // by number
  std::vector<CauserInterval::Time> times_;  // of all answers
  std::vector<PieceTime> samples_;           // the same
};

}  // namespace culprit::waits
