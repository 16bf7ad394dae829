// How much of what two scopes contain is the same (docs/algorithms.md 17), by sorted hashes of what is below
// them.
#include "views/similarity.hpp"

#include "views/scope_key.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>

namespace culprit::views {
namespace {

using database::ContextKind;

bool is_procedure(ContextKind kind) {
  return kind == ContextKind::procedure || kind == ContextKind::inlined;
}

void sort_and_unite(std::vector<std::uint64_t>& hashes) {
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

std::size_t common(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::vector<std::uint64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both.size();
}

}  // namespace

std::int64_t relative_line(const FoldedTree& tree, std::uint32_t scope) {
  const Frame& self = tree[scope].frame;
  const std::uint32_t around = procedure_around(tree, scope);
  if (around == database::kNone || tree[around].frame.file != self.file) return self.line;
  return static_cast<std::int64_t>(self.line) - static_cast<std::int64_t>(tree[around].frame.line);
}

Content::Content(const FoldedTree& tree, std::uint32_t scope) {
  std::vector<std::uint32_t> open = {scope};
  // Level by level, so that of a large subtree what is nearest counts.
  for (std::size_t next = 0; next < open.size() && features_.size() < kLargest; ++next) {
    const FoldedScope& above = tree[open[next]];
    if (next != 0 && (above.flags & database::kFrontier) != 0) continue;
    for (const std::uint32_t child : above.children) {
      const FoldedScope& self = tree[child];
      std::string key = scope_key(tree, child, Likeness::name);
      if (self.frame.kind == ContextKind::loop) key += ':' + std::to_string(relative_line(tree, child));
      features_.push_back(std::hash<std::string>{}(key));
      if (is_procedure(self.frame.kind) && (self.flags & database::kInWait) == 0)
        procedures_.push_back(features_.back());
      open.push_back(child);
    }
  }
  sort_and_unite(features_);
  sort_and_unite(procedures_);
}

double similarity(const Content& a, const Content& b) {
  const std::size_t both = common(a.features_, b.features_);
  const std::size_t either = a.features_.size() + b.features_.size() - both;
  return either == 0 ? 0 : static_cast<double>(both) / static_cast<double>(either);
}

bool share_a_procedure(const Content& a, const Content& b) {
  return common(a.procedures_, b.procedures_) != 0;
}

}  // namespace culprit::views
