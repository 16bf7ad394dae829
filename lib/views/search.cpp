// Finds nodes by a regular expression (RE2) without expanding the view: goes through its numbered nodes, some
// at a time, so that the browser stays responsive. Labels are matched once for all nodes that are alike, and
// those of call sites once for each file and line. Cost: one array look-up per node, and a match per
// different label.
#include "views/search.hpp"

#include "views/frame.hpp"

#include <algorithm>
#include <cctype>
#include <functional>

#include <re2/re2.h>

namespace culprit::views {

namespace {

using database::ContextKind;

enum Known : std::uint8_t { kNotYet, kNo, kYes };

}  // namespace

Search::Search(const View& view, const std::string& pattern, const PassedOver& passed_over)
    : view_(&view),
      pattern_(make_pattern(pattern)),
      passed_over_(passed_over),
      known_(view.kinds_alike(), kNotYet) {}

Search::~Search() = default;
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;

bool Search::step(std::size_t nodes) {
  const NodeId end = view_->numbered();
  const auto until = static_cast<NodeId>(std::min<std::size_t>(end, next_ + nodes));
  for (; next_ < until; ++next_) {
    // Labels that nothing is known of, those of call sites, are formed one by one.
    const bool known = view_->alike(next_) < known_.size();
    const bool found = known ? matches(next_) && !passed_over(next_) : !passed_over(next_) && matches(next_);
    if (found) found_.push_back(next_);
  }
  return next_ < end;
}

bool Search::matches(NodeId node) const {
  const std::uint32_t alike = view_->alike(node);
  if (alike >= known_.size()) return label_matches(node);
  if (known_[alike] == kNotYet) known_[alike] = label_matches(node) ? kYes : kNo;
  return known_[alike] == kYes;
}

std::size_t Search::SiteHash::operator()(const Site& site) const {
  constexpr std::size_t kOdd = 0x9e3779b97f4a7c15;  // spreads lines
  return std::hash<const char*>()(site.file) ^ (site.line * kOdd);
}

bool Search::label_matches(NodeId node) const {
  const Frame frame = view_->frame(node);
  if (frame.kind != ContextKind::call) return RE2::PartialMatch(label(frame), *pattern_);
  const auto [site, added] = sites_.try_emplace({frame.file.data(), frame.line}, false);
  if (added) site->second = RE2::PartialMatch(label(frame), *pattern_);
  return site->second;
}

bool Search::passed_over(NodeId node) const {
  const ContextKind kind = view_->kind(node);
  if (kind == ContextKind::statement && passed_over_.statements) return true;
  if (kind == ContextKind::call && passed_over_.fold_calls) return true;
  const std::uint8_t flags = view_->flags(node);
  if (passed_over_.start_up && (flags & database::kStartUp) != 0) return true;
  return passed_over_.wait_internals && (flags & database::kInWait) != 0 &&
         (flags & database::kFrontier) == 0;
}

bool Search::touches(NodeId node) const {
  if (node >= view_->numbered()) return matches(node);
  const auto first = std::lower_bound(found_.begin(), found_.end(), node);
  return first != found_.end() && *first < view_->subtree_end(node);
}

std::unique_ptr<re2::RE2> make_pattern(const std::string& text) {
  const bool capital =
      std::any_of(text.begin(), text.end(), [](unsigned char letter) { return std::isupper(letter) != 0; });
  RE2::Options options(RE2::Quiet);
  options.set_case_sensitive(capital);
  auto pattern = std::make_unique<re2::RE2>(text, options);
  if (!pattern->ok()) throw BadPattern("'" + text + "' is no regular expression: " + pattern->error());
  return pattern;
}

}  // namespace culprit::views
