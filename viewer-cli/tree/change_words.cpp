#include "tree/change_words.hpp"

#include "text/quantity.hpp"
#include "text/shorten.hpp"

namespace culprit::viewer {

using database::ContextKind;

std::string with_sign(const std::string& number) {
  return number.starts_with('-') ? number : '+' + number;
}

std::string ratio_text(const std::optional<double>& ratio) {
  constexpr double kLargest = 1000;  // larger ones say no more
  if (!ratio || *ratio >= kLargest) return "";
  return grouped(*ratio, 2);
}

std::vector<std::string> what_became_of(const views::ComparedScope& scope) {
  std::vector<std::string> remarks;
  if (!scope.frame_a) {
    remarks.emplace_back("new");
  } else if (!scope.frame_b) {
    remarks.emplace_back("gone");
  } else {
    const std::string before = without_parameters(label(*scope.frame_a));
    if (scope.frame().kind != ContextKind::loop && before != without_parameters(label(*scope.frame_b)))
      remarks.push_back("was " + before);
    const bool inlined = scope.frame_b->kind == ContextKind::inlined;
    if (inlined != (scope.frame_a->kind == ContextKind::inlined))
      remarks.emplace_back(inlined ? "now inlined" : "no longer inlined");
  }
  return remarks;
}

std::string run_text(const std::string& name, const database::Contents& experiment, bool unicode) {
  const double seconds = seconds_of(experiment.run.duration_ns);
  return name + ": " +
         (experiment.run.ranks > 0 ? counted(experiment.run.ranks, "rank") : std::string("no rank")) + ", " +
         duration(seconds, unicode);
}

}  // namespace culprit::viewer
