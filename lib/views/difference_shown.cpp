#include "views/difference_shown.hpp"

#include "views/shown.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include <re2/re2.h>

namespace culprit::views {
namespace {

constexpr double kPercent = 100;

class Arrangement {
 public:
  Arrangement(const Difference& difference, const DifferenceOptions& options)
      : scopes_(difference.scopes()), options_(options), largest_(scopes_.size(), 0) {
    if (!options.focus.empty()) {
      focus_ = std::make_unique<RE2>(options.focus, RE2::Quiet);
      if (!focus_->ok())
        throw BadFocus("'" + options.focus + "' is no regular expression: " + focus_->error());
    }
    least_ = difference.whole() * options.min_percent / kPercent;
    for (std::size_t scope = scopes_.size(); scope-- > 0;) {
      // What is hidden keeps nothing in sight: the inside of waits trades time between its own levels.
      const bool internal =
          (scopes_[scope].flags & (database::kInWait | database::kFrontier)) == database::kInWait;
      if (options.hide_wait_internals && internal) continue;
      largest_[scope] = std::max(largest_[scope], scopes_[scope].weight);
      const std::uint32_t parent = scopes_[scope].parent;
      if (parent != database::kNone) largest_[parent] = std::max(largest_[parent], largest_[scope]);
    }
  }

  ShownDifference run() {
    if (!scopes_.empty()) shown_.roots = arrange({0}, 0, !focus_);
    return std::move(shown_);
  }

 private:
  std::vector<ShownScope> arrange(const std::vector<std::uint32_t>& list, std::uint32_t depth,
                                  bool in_focus) {
    std::vector<std::uint32_t> candidates;
    collect(list, candidates);
    std::stable_sort(candidates.begin(), candidates.end(), [&](std::uint32_t left, std::uint32_t right) {
      return scopes_[left].extent() > scopes_[right].extent();
    });
    std::vector<ShownScope> result;
    for (const std::uint32_t scope : candidates) {
      const bool matches = in_focus || RE2::PartialMatch(label(scopes_[scope].frame()), *focus_);
      ShownScope shown{scope, below(scope, depth, matches)};
      if (matches || !shown.children.empty()) {
        result.push_back(std::move(shown));
      } else {
        ++shown_.out_of_focus;
      }
    }
    return result;
  }

  std::vector<ShownScope> below(std::uint32_t scope, std::uint32_t depth, bool in_focus) {
    const ComparedScope& self = scopes_[scope];
    if (self.children.empty()) return {};
    if (options_.hide_wait_internals && (self.flags & database::kFrontier) != 0) {
      ++shown_.wait_internals;
      return {};
    }
    if (options_.depth && depth >= *options_.depth) {
      ++shown_.below_depth;
      return {};
    }
    return arrange(self.children, depth + 1, in_focus);
  }

  void collect(const std::vector<std::uint32_t>& list, std::vector<std::uint32_t>& candidates) {
    for (const std::uint32_t scope : list) {
      const ComparedScope& self = scopes_[scope];
      if (options_.min_percent > 0 && !(largest_[scope] >= least_)) {
        ++shown_.below_minimum;
      } else if (options_.hide_start_up && (self.flags & database::kStartUp) != 0) {
        collect(self.children, candidates);
      } else {
        candidates.push_back(scope);
      }
    }
  }

  const std::vector<ComparedScope>& scopes_;
  const DifferenceOptions& options_;
  std::unique_ptr<RE2> focus_;
  double least_ = 0;
  std::vector<double> largest_;  // weight of a scope or of any below it
  ShownDifference shown_;
};

}  // namespace

ShownDifference show(const Difference& difference, const DifferenceOptions& options) {
  return Arrangement(difference, options).run();
}

}  // namespace culprit::views
