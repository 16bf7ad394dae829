#pragma once

#include "database/contents.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::viewer {

/// An amount of time by thread, for lists in which one row is of many threads.
class ThreadTimes {
 public:
  struct Part {
    std::uint32_t location = 0;
    std::uint64_t ns = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };

  void add(std::uint32_t location, std::uint64_t ns) { parts_.push_back({location, ns}); }
  /// After the last add(): the parts of one thread become one.
  void add_up();

  /// Ascending by location, each once.
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  [[nodiscard]] std::uint64_t sum() const;
  [[nodiscard]] std::vector<std::uint32_t> locations() const;
  /// The thread with the largest part (ties: the first). There are parts.
  [[nodiscard]] Part largest() const;
  /// Whether no part is a quarter larger than the mean, or more.
  [[nodiscard]] bool even() const;

 private:
  std::vector<Part> parts_;
};

/// `rank 3`; of several, with the one that has most: `ranks 0-63, most on 17 (3.1 s)`, or, where they are
/// even, `ranks 0-63, at most 3.1 s each`. `on`: the preposition. There are parts.
std::string thread_times_phrase(const database::Contents& experiment, const ThreadTimes& times,
                                std::string_view on, bool unicode);

}  // namespace culprit::viewer
