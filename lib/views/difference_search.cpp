#include "views/difference_search.hpp"

#include <algorithm>

#include <re2/re2.h>

namespace culprit::views {
namespace {

enum Known : std::uint8_t { kNotYet, kNo, kYes };

}  // namespace

DifferenceSearch::DifferenceSearch(const Difference& difference, const std::string& pattern)
    : difference_(&difference), pattern_(make_pattern(pattern)), known_(difference.kinds_alike(), kNotYet) {}

DifferenceSearch::~DifferenceSearch() = default;
DifferenceSearch::DifferenceSearch(DifferenceSearch&&) noexcept = default;
DifferenceSearch& DifferenceSearch::operator=(DifferenceSearch&&) noexcept = default;

bool DifferenceSearch::label_matches(const ComparedScope& scope) {
  std::uint8_t& known = known_[scope.alike];
  if (known == kNotYet) known = RE2::PartialMatch(label(scope.frame()), *pattern_) ? kYes : kNo;
  return known == kYes;
}

bool DifferenceSearch::step(std::size_t scopes) {
  const std::vector<ComparedScope>& all = difference_->scopes();
  const std::size_t end = std::min(all.size(), found_.size() + scopes);
  found_.reserve(all.size());
  while (found_.size() < end) {
    const ComparedScope& scope = all[found_.size()];
    const bool match = label_matches(scope);
    found_.push_back(match ? kItself : kNothing);
    if (!match) continue;
    // Parents come before their children; whoever is above one that is marked is marked already.
    for (std::uint32_t above = scope.parent; above != database::kNone && found_[above] == kNothing;
         above = all[above].parent)
      found_[above] = kBelow;
  }
  return !done();
}

}  // namespace culprit::views
