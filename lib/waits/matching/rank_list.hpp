#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace culprit::waits {

/// The ranks in MPI_COMM_WORLD of a communicator's members, by their rank in it; small where they are regular
/// (all, a block, every n-th), as they mostly are.
class RankList {
 public:
  RankList() = default;
  explicit RankList(std::span<const std::int32_t> ranks);
  /// Of those members that are known, by their rank in the communicator; the others below the last are
  /// nobody.
  static RankList at_places(const std::map<std::uint32_t, std::int32_t>& ranks);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// The member with this rank; nothing where there is none.
  [[nodiscard]] std::optional<std::int32_t> at(std::int32_t index) const {
    if (index < 0 || static_cast<std::uint32_t>(index) >= size_) return std::nullopt;
    const Run& run = runs_.size() == 1 ? runs_.front() : run_of(static_cast<std::uint32_t>(index));
    return run.first + run.stride * (index - static_cast<std::int32_t>(run.start));
  }
  [[nodiscard]] bool contains(std::int32_t rank) const;

  /// For messages between the ranks of the analysis.
  [[nodiscard]] std::vector<std::int32_t> packed() const;
  static RankList unpacked(std::span<const std::int32_t> packed);

 private:
  /// first, first + stride, …: `count` ranks, the members from `start` on.
  struct Run {
    std::int32_t first = 0, stride = 1;
    std::uint32_t count = 0, start = 0;
  };
  void add(Run run);
  void add(std::span<const std::int32_t> ranks);
  [[nodiscard]] const Run& run_of(std::uint32_t index) const;

  std::vector<Run> runs_;
  std::uint32_t size_ = 0;
};

}  // namespace culprit::waits
