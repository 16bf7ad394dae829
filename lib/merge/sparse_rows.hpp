#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::merge {

/// A dense matrix of which one thread touches few rows: finding and clearing them costs what was touched.
/// Rows are created zero.
class SparseRows {
 public:
  SparseRows(std::size_t rows, std::size_t width)
      : width_(width), values_(rows * width), touched_((rows + 63) / 64) {}

  /// The row for writing; counts as touched from now on.
  std::uint64_t* touch(std::size_t row) {
    touched_[row / 64] |= std::uint64_t{1} << (row % 64);
    return &values_[row * width_];
  }
  [[nodiscard]] const std::uint64_t* operator[](std::size_t row) const { return &values_[row * width_]; }

  /// Calls visit(row) for every touched row, ascending.
  template <class Visit>
  void ascending(Visit visit) const {
    for (std::size_t word = 0; word < touched_.size(); ++word) {
      for (std::uint64_t bits = touched_[word]; bits != 0; bits &= bits - 1) {
        visit(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      }
    }
  }

  /// Calls visit(row) for every touched row, descending; visit may touch smaller rows, which then follow.
  template <class Visit>
  void descending(Visit visit) const {
    for (std::size_t word = touched_.size(); word-- > 0;) {
      std::uint64_t below = ~std::uint64_t{0};
      while ((touched_[word] & below) != 0) {
        const auto bit = 63U - static_cast<unsigned>(std::countl_zero(touched_[word] & below));
        below = (std::uint64_t{1} << bit) - 1;
        visit(word * 64 + bit);
      }
    }
  }

  void clear() {
    ascending([this](std::size_t row) { std::fill_n(&values_[row * width_], width_, std::uint64_t{0}); });
    std::ranges::fill(touched_, 0);
  }

 private:
  std::size_t width_;
  std::vector<std::uint64_t> values_;
  std::vector<std::uint64_t> touched_;  ///< one bit per row
};

}  // namespace culprit::merge
