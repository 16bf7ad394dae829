#pragma once

#include "views/difference.hpp"
#include "views/pattern.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace culprit::views {

/// Finds scopes of a comparison by their labels, in steps as small as the caller likes. Case matters only
/// where the pattern has a capital letter.
class DifferenceSearch {
 public:
  /// `pattern`: RE2. `difference` must outlive this. Throws BadPattern.
  DifferenceSearch(const Difference& difference, const std::string& pattern);
  ~DifferenceSearch();
  DifferenceSearch(DifferenceSearch&&) noexcept;
  DifferenceSearch& operator=(DifferenceSearch&&) noexcept;

  /// Goes through the next `scopes`; true while some are left.
  bool step(std::size_t scopes);
  [[nodiscard]] bool done() const { return found_.size() == difference_->scopes().size(); }

  // Once it is done:
  [[nodiscard]] bool matches(std::uint32_t scope) const { return found_[scope] == kItself; }
  /// Whether it or a scope below it matches.
  [[nodiscard]] bool touches(std::uint32_t scope) const { return found_[scope] != kNothing; }

 private:
  enum Found : std::uint8_t { kNothing, kBelow, kItself };
  [[nodiscard]] bool label_matches(const ComparedScope& scope);

  const Difference* difference_;
  std::unique_ptr<re2::RE2> pattern_;
  std::vector<std::uint8_t> found_;  ///< of the scopes gone through so far
  std::vector<std::uint8_t> known_;  ///< by ComparedScope::alike: not yet known, no, yes
};

}  // namespace culprit::views
