#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::merge {

/// Some of the numbers below a bound. Going through them costs a word for 64.
class SparseSet {
 public:
  explicit SparseSet(std::size_t bound) : words_((bound + 63) / 64) {}

  void insert(std::size_t number) { words_[number / 64] |= std::uint64_t{1} << (number % 64); }
  void clear() { std::ranges::fill(words_, 0); }

  /// Calls visit(number), ascending.
  template <class Visit>
  void ascending(Visit visit) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) {
        visit(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      }
    }
  }

  /// Calls visit(number), descending; visit may insert smaller numbers, which then follow.
  template <class Visit>
  void descending(Visit visit) const {
    for (std::size_t word = words_.size(); word-- > 0;) {
      std::uint64_t below = ~std::uint64_t{0};
      while ((words_[word] & below) != 0) {
        const auto bit = 63U - static_cast<unsigned>(std::countl_zero(words_[word] & below));
        below = (std::uint64_t{1} << bit) - 1;
        visit(word * 64 + bit);
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// A dense matrix of which one thread touches few rows: finding and clearing them costs what was touched.
/// Rows are created zero. Matrices of the same width have rows of the same layout, whose padding stays zero.
class SparseRows {
 public:
  SparseRows(std::size_t rows, std::size_t width)
      : width_((width + kStep - 1) / kStep * kStep), values_(rows * width_), touched_(rows) {}

  /// The row for writing; counts as touched from now on.
  std::uint64_t* touch(std::size_t row) {
    touched_.insert(row);
    return &values_[row * width_];
  }
  /// Adds a row of a matrix of the same width.
  void add(std::size_t row, const std::uint64_t* from) {
    std::uint64_t* into = touch(row);
    for (std::size_t c = 0; c < width_; c += kStep) {
      for (std::size_t i = 0; i < kStep; ++i) into[c + i] += from[c + i];
    }
  }
  [[nodiscard]] const std::uint64_t* operator[](std::size_t row) const { return &values_[row * width_]; }
  [[nodiscard]] const SparseSet& touched() const { return touched_; }

  void clear() {
    touched_.ascending(
        [this](std::size_t row) { std::fill_n(&values_[row * width_], width_, std::uint64_t{0}); });
    touched_.clear();
  }

 private:
  static constexpr std::size_t kStep = 4;  ///< so that compilers add without a loop

  std::size_t width_;
  std::vector<std::uint64_t> values_;
  SparseSet touched_;
};

}  // namespace culprit::merge
