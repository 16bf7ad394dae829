#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::merge {

/// The rows that one thread has among many that there could be: ascending, packed, and column by column, so
/// that they stay in a processor's cache whatever the others are. Putting them into order costs a word for 64
/// that there could be. Keeps its memory from one thread to the next.
class ThreadRows {
 public:
  ThreadRows(std::size_t bound, std::size_t columns)
      : words_((bound + 63) / 64), row_(bound), columns_(columns) {}

  /// Forgets all rows; from now on there are those of `numbers`, in any order and each as often as it likes,
  /// with zeros.
  void reset(std::span<const std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) words_[number / 64] |= std::uint64_t{1} << (number % 64);
    numbers_.clear();
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) {
        const std::size_t number = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        row_[number] = static_cast<std::uint32_t>(numbers_.size());
        numbers_.push_back(static_cast<std::uint32_t>(number));
      }
      words_[word] = 0;
    }
    values_.assign(columns_ * numbers_.size(), 0);
  }

  [[nodiscard]] std::span<const std::uint32_t> numbers() const { return numbers_; }
  /// Of a number that has a row.
  [[nodiscard]] std::size_t row_of(std::uint32_t number) const { return row_[number]; }
  /// A value for each row.
  [[nodiscard]] std::span<std::uint64_t> column(std::size_t c) {
    return std::span(values_).subspan(c * numbers_.size(), numbers_.size());
  }
  /// All columns, one after the other.
  [[nodiscard]] std::span<const std::uint64_t> values() const { return values_; }

 private:
  std::vector<std::uint64_t> words_;  ///< bits of the numbers, while they are put into order
  std::vector<std::uint32_t> row_;    ///< by number
  std::size_t columns_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint64_t> values_;
};

}  // namespace culprit::merge
