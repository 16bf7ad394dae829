#pragma once

#include "blame/excess.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace culprit::blame {

/// Where a walk down from a part of a balanced scope ended.
struct End {
  Excess excess;          ///< of the part where it ended
  std::vector<Part> way;  ///< the procedures that it led through, outermost first
};

/// Goes down from the parts of a balanced scope to the code that holds their excess (docs/algorithms.md 5.4).
class Walk {
 public:
  /// All must outlive this.
  Walk(const Parts& parts, const Work& work, const Late& late)
      : parts_(parts), late_(late), division_(work, late) {}

  /// The ends of the walks from the parts of `balanced`, whose excess makes at least `least` ns of waiting.
  /// `rest`: how much later than the mean each thread is.
  [[nodiscard]] std::vector<End> from(database::ContextId balanced, const Rest& rest, double least);

 private:
  void follow(Excess at, std::vector<Part> way, const Rest& rest);
  [[nodiscard]] std::optional<Excess> one_of(std::vector<Part> parts, const Excess& at, const Rest& rest,
                                             double begun) const;
  [[nodiscard]] double common_threads(const Excess& a, const Excess& b) const;
  [[nodiscard]] bool in_proportion(const std::vector<std::pair<Excess, Rest>>& few, const Part& caller) const;
  bool follow_few(const Excess& at, const std::vector<Part>& way, const Rest& rest, double begun);

  const Parts& parts_;
  const Late& late_;
  Division division_;
  double least_ = 0;
  std::vector<End> ends_;
};

}  // namespace culprit::blame
