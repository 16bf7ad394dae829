#pragma once

#include <cstdint>

namespace culprit::runtime {

/// The times at which one thread is sampled (docs/algorithms.md 13): one tick in each cell of a grid of width
/// `period`, at a random place in the cell, so that sampling does not alias with the program's iterations. A
/// sample's weight is the number of ticks that passed since the sample before: whatever delays or merges
/// samples, weights add up to the time that passed, to within one period. Where sampling costs too much the
/// cells can be made wider; weights go on counting nominal periods. Pure arithmetic.
class Grid {
 public:
  /// Starts a grid at `start` ns with cells of `period` ns. `seed` sets phase and jitter.
  void start(std::uint64_t start, std::uint64_t period, std::uint64_t seed) {
    period_ = period;
    width_ = period;
    random_ = seed * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU;
    if (random_ == 0) random_ = 1;
    origin_ = start;
    cell_ = 0;
    uncounted_ = 0;
    tick_ = origin_ + draw();
  }

  /// When the next tick is due, on the grid's clock.
  [[nodiscard]] std::uint64_t next() const { return tick_; }
  [[nodiscard]] std::uint64_t period() const { return period_; }

  /// From the next cell on cells are 2^halvings periods wide: fewer samples of as much more weight.
  void set_halvings(std::uint32_t halvings) {
    origin_ += cell_ * width_;
    cell_ = 0;
    width_ = period_ << halvings;
    tick_ = origin_ + draw();
  }

  /// Passes all ticks up to `now` and returns how many nominal periods they stand for, those put back
  /// included.
  std::uint64_t pass(std::uint64_t now) {
    std::uint64_t weight = uncounted_;
    uncounted_ = 0;
    if (now < tick_) return weight;
    const std::uint64_t stride = width_ / period_;
    const std::uint64_t current = (now - origin_) / width_;
    // The ticks of all cells before the current one have passed; that of the current cell only if it was
    // drawn so.
    weight += (current - cell_) * stride;
    if (current == cell_) {
      weight += stride;
      move_to(current + 1);
      return weight;
    }
    move_to(current);
    if (tick_ <= now) {
      weight += stride;
      move_to(current + 1);
    }
    return weight;
  }

  /// Periods that were passed but could not be recorded: the next sample carries them.
  void put_back(std::uint64_t periods) { uncounted_ += periods; }

 private:
  void move_to(std::uint64_t cell) {
    cell_ = cell;
    tick_ = origin_ + cell * width_ + draw();
  }

  /// A place in a cell: uniform in [0, width); xorshift64*.
  std::uint64_t draw() {
    random_ ^= random_ >> 12;
    random_ ^= random_ << 25;
    random_ ^= random_ >> 27;
    return ((random_ * 0x2545f4914f6cdd1dU) >> 24) % width_;
  }

  std::uint64_t period_ = 1;  ///< nominal
  std::uint64_t width_ = 1;   ///< of a cell: the period in force
  std::uint64_t random_ = 1;
  std::uint64_t origin_ = 0;
  std::uint64_t cell_ = 0;  ///< the cell of the next tick
  std::uint64_t tick_ = 0;  ///< the time of the next tick
  std::uint64_t uncounted_ = 0;
};

}  // namespace culprit::runtime
