// Unites the loops that a compiler made of one (vectorised body and remainder; docs/algorithms.md 15): among
// siblings of one file, a loop whose lines are all lines of another that begins earlier gets its place;
// unless that one holds a loop at the same place. Level by level, as copies have copies inside. Quadratic in
// siblings, of which at most 64 are compared.
#include "structure/loop_copies.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace culprit::structure {
namespace {

/// More loops than this side by side are generated code; comparing them pairwise would take too long.
constexpr std::size_t kMostSiblings = 64;

class Copies {
 public:
  Copies(const LoopForest& forest, std::vector<PlacedLoop>& placed,
         const std::function<SourceLines(std::uint32_t)>& lines_of)
      : forest_(forest), placed_(placed), lines_of_(lines_of), scope_(placed.size(), 0) {}

  /// Level by level, because loops are siblings where those around them mean the same to the user.
  void unite() {
    std::vector<std::vector<std::uint32_t>> levels;
    std::vector<std::size_t> depth(placed_.size(), 0);
    for (std::uint32_t i = 0; i < placed_.size(); ++i) {
      const std::uint32_t parent = forest_.loops[i].parent;
      if (parent != kNone) depth[i] = depth[parent] + 1;
      levels.resize(std::max(levels.size(), depth[i] + 1));
      levels[depth[i]].push_back(i);
    }
    for (const std::vector<std::uint32_t>& level : levels) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> siblings;
      for (const std::uint32_t loop : level)
        if (placed_[loop].place.line != 0) siblings[{around(loop), placed_[loop].instance}].push_back(loop);
      for (const auto& [key, loops] : siblings) compare(loops);
      for (const std::uint32_t loop : level) number(loop);
    }
  }

 private:
  /// The number of the scope that `loop` lies in, 0: of none.
  [[nodiscard]] std::uint32_t around(std::uint32_t loop) const {
    const std::uint32_t parent = forest_.loops[loop].parent;
    return parent == kNone ? 0 : scope_[parent];
  }

  void number(std::uint32_t loop) {
    const PlacedLoop& own = placed_[loop];
    const auto next = static_cast<std::uint32_t>(scopes_.size()) + 1;
    scope_[loop] =
        scopes_.try_emplace({around(loop), own.instance, own.place.file, own.place.line}, next).first->second;
  }

  void compare(const std::vector<std::uint32_t>& siblings) {
    const Place first = placed_[siblings.front()].place;
    const bool differ =
        std::ranges::any_of(siblings, [&](std::uint32_t i) { return placed_[i].place != first; });
    if (!differ || siblings.size() > kMostSiblings) return;
    std::vector<SourceLines> lines;
    lines.reserve(siblings.size());
    for (const std::uint32_t loop : siblings) lines.push_back(lines_of_(loop));
    for (std::size_t copy = 0; copy < siblings.size(); ++copy) {
      Place best = placed_[siblings[copy]].place;
      for (std::size_t other = 0; other < siblings.size(); ++other) {
        const Place place = placed_[siblings[other]].place;
        if (place.file != best.file || place.line >= best.line) continue;
        if (!std::ranges::includes(lines[other], lines[copy])) continue;
        if (!holds_loop_at(siblings[other], placed_[siblings[copy]].place)) best = place;
      }
      placed_[siblings[copy]].place = best;
    }
  }

  /// Whether a loop within `outer` begins at `place`.
  [[nodiscard]] bool holds_loop_at(std::uint32_t outer, const Place& place) const {
    for (std::uint32_t i = outer + 1; i < placed_.size(); ++i) {
      if (placed_[i].place != place) continue;
      std::uint32_t around = forest_.loops[i].parent;
      while (around != kNone && around != outer) around = forest_.loops[around].parent;
      if (around == outer) return true;
    }
    return false;
  }

  const LoopForest& forest_;
  std::vector<PlacedLoop>& placed_;
  const std::function<SourceLines(std::uint32_t)>& lines_of_;
  std::vector<std::uint32_t> scope_;  // of each loop: equal for copies of one
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> scopes_;
};

}  // namespace

void unite_copies(const LoopForest& forest, std::vector<PlacedLoop>& placed,
                  const std::function<SourceLines(std::uint32_t loop)>& lines_of) {
  Copies(forest, placed, lines_of).unite();
}

}  // namespace culprit::structure
