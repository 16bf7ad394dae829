#pragma once

#include "waits/ledger.hpp"
#include "waits/pieces.hpp"
#include "waits/sequence.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// Time and sampled time of one piece.
struct PieceTime {
  std::uint32_t piece = 0;         ///< its number
  std::uint32_t context = kWhole;  ///< of samples in it; kWhole: the piece's own, exact time
  std::uint64_t ns = 0;
  static constexpr std::uint32_t kWhole = ~std::uint32_t{0};
};

/// What a time line did in a while, waits left out: by piece, and what was sampled in gaps. Used again and
/// again: it neither sorts nor looks up anything.
class IntervalProfile {
 public:
  explicit IntervalProfile(const Pieces& pieces) : pieces_(pieces), slots_(pieces.size()) {}

  void clear();
  void add(const PieceTime& time) {
    if (time.context == PieceTime::kWhole) {
      add_whole(time.piece, time.ns);
    } else {
      samples_.push_back(time);
    }
  }
  /// The gap before the call; none before a line's first.
  void add_gap(const TimeLine& line, std::uint32_t call);
  /// From the gap before call `first` to the end of the one before `last`.
  void add(const TimeLine& line, std::uint32_t first, std::uint32_t last);
  /// What is left of a call in which two time lines met: they did when the later one came, and whichever then
  /// takes longer to leave starts late.
  void add_met(const TimeLine& line, std::uint32_t call) { add_call(line, line.events[call], pieces_.met()); }
  /// A call, without its wait.
  void add_call(const TimeLine& line, std::uint32_t call) {
    const Event event = line.events[call];
    add_call(line, event, pieces_.of_call(event.context));
  }

  /// Each piece once, in the order in which they were added; samples may come more than once.
  [[nodiscard]] const std::vector<PieceTime>& wholes() const { return wholes_; }
  [[nodiscard]] const std::vector<PieceTime>& samples() const { return samples_; }
  /// The time of a piece; 0 where it is none of wholes().
  [[nodiscard]] std::uint64_t of(std::uint32_t piece) const {
    return slots_[piece].round == round_ ? wholes_[slots_[piece].at].ns : 0;
  }
  /// Adds up the samples of one piece and path.
  void merge_samples();

 private:
  struct Slot {
    std::uint32_t round = 0, at = 0;
  };
  void add_whole(std::uint32_t piece, std::uint64_t ns) {
    Slot& slot = slots_[piece];
    if (slot.round == round_) {
      wholes_[slot.at].ns += ns;
      return;
    }
    slot.round = round_;
    slot.at = static_cast<std::uint32_t>(wholes_.size());
    PieceTime& time = wholes_.emplace_back();
    time.piece = piece;
    time.ns = ns;
  }
  void add_gap(const TimeLine& line, std::uint32_t call, const Event& event, std::uint64_t before_ns);
  void add_call(const TimeLine& line, const Event& event, std::uint32_t piece);
  void add_samples(const TimeLine& line, std::uint32_t gap);

  const Pieces& pieces_;
  std::uint32_t round_ = 1;
  std::vector<Slot> slots_;  // by piece: where it is among the wholes, if it is of this round
  std::vector<PieceTime> wholes_, samples_;
};

/// How long a call of a settled line waited.
std::uint64_t wait_of(const TimeLine& line, const Event& event);

/// Sums over a long time line, so that a long while of it need not be gone through: for 64 calls, for eight
/// times as many, and so on.
class LongLine {
 public:
  /// Whiles of fewer calls are gone through.
  static constexpr std::uint32_t kLong = 512;

  LongLine(const TimeLine& line, const Pieces& pieces, Spill& spill);

  /// From the gap before call `first` to the end of the one before `last`.
  void add(std::uint32_t first, std::uint32_t last, IntervalProfile& profile) const;

 private:
  static constexpr std::uint32_t kCalls = 64, kWider = 8;
  /// Sums over equally many calls each.
  struct Level {
    std::uint32_t calls = 0;
    Sequence<PieceTime> times;
    std::vector<std::uint64_t> begin{0};  // of each sum's times; one more at the end
  };
  void build(std::size_t at, IntervalProfile& profile);
  static void add_sum(const Level& level, std::uint32_t sum, IntervalProfile& profile);

  const TimeLine& line_;
  std::vector<Level> levels_;
};

}  // namespace culprit::waits
