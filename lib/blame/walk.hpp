#pragma once

#include "blame/excess.hpp"

#include <optional>
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
  Walk(const Parts& parts, const Work& work, const Late& late) : parts_(parts), division_(work, late) {}

  /// The ends of the walks from the parts of `balanced`, whose excess is at least `least` ns. `rest`: how
  /// much later than the mean each thread is; `late`: the excess of those that are late.
  [[nodiscard]] std::vector<End> from(database::ContextId balanced, const Rest& rest, const PerLate& late,
                                      double least);

 private:
  void follow(Excess at, std::vector<Part> way, const Rest& rest);
  [[nodiscard]] std::optional<Excess> one_of(std::vector<Part> parts, const Excess& at, const Rest& rest,
                                             double begun) const;
  bool follow_few(const Excess& at, const std::vector<Part>& way, const Rest& rest, double begun);

  const Parts& parts_;
  Division division_;
  double least_ = 0;
  std::vector<End> ends_;
};

}  // namespace culprit::blame
