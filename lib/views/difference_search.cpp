#include "views/difference_search.hpp"

#include <algorithm>

#include <re2/re2.h>

namespace culprit::views {

DifferenceSearch::DifferenceSearch(const Difference& difference, const std::string& pattern)
    : difference_(&difference), pattern_(make_pattern(pattern)) {}

DifferenceSearch::~DifferenceSearch() = default;
DifferenceSearch::DifferenceSearch(DifferenceSearch&&) noexcept = default;
DifferenceSearch& DifferenceSearch::operator=(DifferenceSearch&&) noexcept = default;

bool DifferenceSearch::step(std::size_t scopes) {
  const std::vector<ComparedScope>& all = difference_->scopes();
  if (done()) return false;
  const std::size_t end = std::min(all.size(), found_.size() + scopes);
  while (found_.size() < end) {
    const bool match = RE2::PartialMatch(label(all[found_.size()].frame()), *pattern_);
    found_.push_back(match ? kItself : kNothing);
  }
  if (!done()) return true;
  for (std::size_t scope = all.size(); scope-- > 1;) {  // parents come before their children
    std::uint8_t& above = found_[all[scope].parent];
    if (found_[scope] != kNothing && above == kNothing) above = kBelow;
  }
  return false;
}

}  // namespace culprit::views
