// How long a single sample of a time line stands for.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace culprit::waits {

/// The lengths of a time line's samples, inside MPI calls and outside. A sample of a sleep is many in one:
/// where a program mostly sleeps, only those inside calls show what a single one is.
class SampleLengths {
 public:
  void add(std::uint64_t ns) {
    Alike& alike = by_bits_.at(static_cast<std::size_t>(std::bit_width(ns)));
    ++alike.samples;
    alike.ns += ns;
    ++all_;
  }

  /// ns: the mean of the shortest tenth, about, as the period may have changed; 0 without samples.
  [[nodiscard]] std::uint64_t single() const {
    std::uint64_t shorter = 0, ns = 0;
    for (auto one = by_bits_.begin(); 10 * shorter < all_; ++one) {
      shorter += one->samples;
      if (one->samples != 0) ns = one->ns / one->samples;
    }
    return ns;
  }

 private:
  struct Alike {
    std::uint64_t samples = 0, ns = 0;
  };
  std::array<Alike, 65> by_bits_{};
  std::uint64_t all_ = 0;
};

}  // namespace culprit::waits
