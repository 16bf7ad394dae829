// Matches the scopes of two runs from the root downwards (docs/algorithms.md 17): by name, file and module,
// then by name alone, loops by alignment, renamed procedures by what they contain.
#include "views/matching.hpp"

#include "views/frame.hpp"
#include "views/similarity.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>

namespace culprit::views {
namespace {

using database::ContextKind;
using Scopes = std::vector<std::uint32_t>;

/// What two procedures of different names must have in common to be one that was renamed.
constexpr double kRenamed = 0.5;

/// Of the time of a procedure that only one run has: what the scope found below it must make up for it to be
/// a mere level in between.
constexpr double kLevelShare = 0.5;

/// Procedures per scope and run among which renamed ones are looked for; those with the most time first.
constexpr std::size_t kRenameCandidates = 64;

/// One of the two runs.
struct Side {
  const FoldedTree& tree;
  Scopes MatchedScope::*members;
  std::vector<bool> taken;  ///< by scope: found a place other than below its own parent's

  Side(const FoldedTree& of, Scopes MatchedScope::*where)
      : tree(of), members(where), taken(of.scopes().size(), false) {}

  [[nodiscard]] std::string key(std::uint32_t scope, Likeness likeness) const {
    return scope_key(tree, scope, likeness);
  }
  [[nodiscard]] ContextKind kind(std::uint32_t scope) const { return tree[scope].frame.kind; }
};

class Matcher {
 public:
  Matcher(const FoldedTree& a, const FoldedTree& b) : a_(a, &MatchedScope::a), b_(b, &MatchedScope::b) {}

  std::vector<MatchedScope> run() {
    if (a_.tree.scopes().empty() && b_.tree.scopes().empty()) return {};
    matched_.emplace_back();
    if (!a_.tree.scopes().empty()) matched_[0].a = {0};
    if (!b_.tree.scopes().empty()) matched_[0].b = {0};
    // Nodes are appended while earlier ones are expanded: parents come first, and no stack grows with depth.
    for (std::uint32_t node = 0; node < matched_.size(); ++node) expand(node);
    return std::move(matched_);
  }

 private:
  void expand(std::uint32_t node) {
    parent_ = node;
    Scopes a = children(a_, node);
    Scopes b = children(b_, node);
    for (const Likeness likeness : {Likeness::whole, Likeness::name, Likeness::bare_name})
      pair_by_name(likeness, a, b);
    pair_loops(a, b);
    if (!matched_[node].a.empty() && !matched_[node].b.empty()) {
      skip_levels(a_, a, b_, b);
      skip_levels(b_, b, a_, a);
      pair_renamed(a, b);
      join_siblings(a_, a);
      join_siblings(b_, b);
    }
    keep_alone(a_, a);
    keep_alone(b_, b);
  }

  [[nodiscard]] Scopes children(const Side& side, std::uint32_t node) const {
    Scopes result;
    for (const std::uint32_t member : matched_[node].*side.members) {
      for (const std::uint32_t child : side.tree[member].children) {
        if (!side.taken[child]) result.push_back(child);
      }
    }
    return result;
  }

  /// Appends to a new child of the current node, and takes from both lists what it stands for.
  void add(const Scopes& a, const Scopes& b) {
    const auto child = static_cast<std::uint32_t>(matched_.size());
    matched_.push_back({parent_, {}, a, b});
    matched_[parent_].children.push_back(child);
    for (const std::uint32_t scope : a) a_.taken[scope] = true;
    for (const std::uint32_t scope : b) b_.taken[scope] = true;
  }

  static void drop_taken(const Side& side, Scopes& scopes) {
    std::erase_if(scopes, [&](std::uint32_t scope) { return side.taken[scope]; });
  }

  void pair_by_name(Likeness likeness, Scopes& a, Scopes& b) {
    if (a.empty() || b.empty()) return;
    std::map<std::string, std::pair<Scopes, Scopes>> groups;
    for (const std::uint32_t scope : a) {
      if (a_.kind(scope) != ContextKind::loop) groups[a_.key(scope, likeness)].first.push_back(scope);
    }
    for (const std::uint32_t scope : b) {
      if (b_.kind(scope) != ContextKind::loop) groups[b_.key(scope, likeness)].second.push_back(scope);
    }
    for (const auto& [key, group] : groups) {
      if (!group.first.empty() && !group.second.empty()) add(group.first, group.second);
    }
    drop_taken(a_, a);
    drop_taken(b_, b);
  }

  void pair_loops(Scopes& a, Scopes& b) {
    if (a.empty() || b.empty()) return;
    std::map<std::string, std::pair<Scopes, Scopes>> files;
    for (const std::uint32_t scope : a) {
      if (a_.kind(scope) == ContextKind::loop) files[a_.key(scope, Likeness::whole)].first.push_back(scope);
    }
    for (const std::uint32_t scope : b) {
      if (b_.kind(scope) == ContextKind::loop) files[b_.key(scope, Likeness::whole)].second.push_back(scope);
    }
    for (const auto& [file, loops] : files) {
      for (const auto& [first, second] : align_loops(a_.tree, loops.first, b_.tree, loops.second))
        add({first}, {second});
    }
    drop_taken(a_, a);
    drop_taken(b_, b);
  }

  using Wanted = std::unordered_map<std::string, Scopes>;

  /// The outermost scopes below `level` that `wanted` names, by name.
  void search(const Side& side, std::uint32_t level, const Wanted& wanted, std::uint32_t depth,
              std::map<std::string, Scopes>& found) const {
    if (depth == kLevelsSkipped) return;
    for (const std::uint32_t child : side.tree[level].children) {
      if (side.taken[child]) continue;
      const std::string key = side.key(child, Likeness::name);
      if (wanted.contains(key)) {
        found[key].push_back(child);
      } else {
        search(side, child, wanted, depth + 1, found);
      }
    }
  }

  /// Whether `level` may be one that the other run just does not have, given what was found below it.
  static bool is_mere_level(const Side& side, std::uint32_t level,
                            const std::map<std::string, Scopes>& found) {
    if (found.empty()) return false;
    const FoldedScope& self = side.tree[level];
    if (self.frame.kind == ContextKind::loop || self.frame.kind == ContextKind::inlined) return true;
    double inside = 0;
    for (const auto& [key, scopes] : found) {
      for (const std::uint32_t scope : scopes) inside += side.tree[scope].inclusive;
    }
    return self.inclusive > 0 && inside >= kLevelShare * self.inclusive;
  }

  /// Finds what the run `there` has below the current node further down in the run `here`, below levels that
  /// only it has.
  void skip_levels(Side& here, Scopes& levels, Side& there, Scopes& others) {
    if (levels.empty() || others.empty()) return;
    Wanted wanted;
    for (const std::uint32_t scope : others) wanted[there.key(scope, Likeness::name)].push_back(scope);
    std::map<std::string, Scopes> hoisted;
    for (const std::uint32_t level : levels) {
      std::map<std::string, Scopes> found;
      search(here, level, wanted, 0, found);
      if (!is_mere_level(here, level, found)) continue;
      for (const auto& [key, scopes] : found)
        hoisted[key].insert(hoisted[key].end(), scopes.begin(), scopes.end());
    }
    for (const auto& [key, scopes] : hoisted) pair_hoisted(here, scopes, wanted[key]);
    drop_taken(here, levels);
    drop_taken(there, others);
  }

  void pair_hoisted(const Side& here, const Scopes& scopes, const Scopes& others) {
    const bool first = &here == &a_;
    const Scopes& a = first ? scopes : others;
    const Scopes& b = first ? others : scopes;
    if (here.kind(scopes.front()) != ContextKind::loop) {
      add(a, b);
      return;
    }
    for (const auto& [one, other] : align_loops(a_.tree, a, b_.tree, b)) add({one}, {other});
  }

  /// Loops and inlined procedures that only one run has: what lies in them and beside them in that run, and
  /// only beside them in the other one, belongs together.
  void join_siblings(Side& side, Scopes& levels) {
    std::unordered_map<std::string, std::uint32_t> known;
    Wanted wanted;
    for (const std::uint32_t child : matched_[parent_].children) {
      const Scopes& members = matched_[child].*side.members;
      if (members.empty() || side.kind(members.front()) == ContextKind::loop) continue;
      const std::string key = side.key(members.front(), Likeness::name);
      known[key] = child;
      wanted[key] = members;
    }
    for (const std::uint32_t level : levels) {
      if (side.kind(level) != ContextKind::loop && side.kind(level) != ContextKind::inlined) continue;
      std::map<std::string, Scopes> found;
      search(side, level, wanted, 0, found);
      for (const auto& [key, scopes] : found) {
        Scopes& members = matched_[known[key]].*side.members;
        members.insert(members.end(), scopes.begin(), scopes.end());
        for (const std::uint32_t scope : scopes) side.taken[scope] = true;
      }
    }
  }

  /// The procedures among `scopes`, those with the most time first, and what they contain.
  static std::vector<std::pair<std::uint32_t, Content>> rename_candidates(const Side& side,
                                                                          const Scopes& scopes) {
    Scopes procedures;
    std::copy_if(scopes.begin(), scopes.end(), std::back_inserter(procedures),
                 [&](std::uint32_t scope) { return is_procedure(side.kind(scope)); });
    std::stable_sort(procedures.begin(), procedures.end(), [&](std::uint32_t left, std::uint32_t right) {
      return side.tree[left].inclusive > side.tree[right].inclusive;
    });
    procedures.resize(std::min(procedures.size(), kRenameCandidates));
    std::vector<std::pair<std::uint32_t, Content>> candidates;
    candidates.reserve(procedures.size());
    for (const std::uint32_t scope : procedures) candidates.emplace_back(scope, Content(side.tree, scope));
    return candidates;
  }

  void pair_renamed(Scopes& a, Scopes& b) {
    if (a.empty() || b.empty()) return;
    struct Pair {
      double alike;
      std::uint32_t a, b;
    };
    std::vector<Pair> pairs;
    const auto others = rename_candidates(b_, b);
    for (const auto& [scope, content] : rename_candidates(a_, a)) {
      for (const auto& [other, other_content] : others) {
        const double alike = similarity(content, other_content);
        const bool same_file = !a_.tree[scope].frame.file.empty() &&
                               base_name(a_.tree[scope].frame.file) == base_name(b_.tree[other].frame.file);
        if (alike >= kRenamed && (same_file || share_a_procedure(content, other_content)))
          pairs.push_back({alike, scope, other});
      }
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& left, const Pair& right) { return left.alike > right.alike; });
    for (const Pair& pair : pairs) {
      if (!a_.taken[pair.a] && !b_.taken[pair.b]) add({pair.a}, {pair.b});
    }
    drop_taken(a_, a);
    drop_taken(b_, b);
  }

  /// What has no counterpart: one result for all that is alike.
  void keep_alone(const Side& side, const Scopes& scopes) {
    std::map<std::pair<std::string, std::uint32_t>, Scopes> groups;
    for (const std::uint32_t scope : scopes) {
      const bool loop = side.kind(scope) == ContextKind::loop;
      groups[{side.key(scope, Likeness::whole), loop ? side.tree[scope].frame.line : 0}].push_back(scope);
    }
    for (const auto& [key, group] : groups) {
      if (&side == &a_) {
        add(group, {});
      } else {
        add({}, group);
      }
    }
  }

  Side a_, b_;
  std::vector<MatchedScope> matched_;
  std::uint32_t parent_ = 0;
};

}  // namespace

std::vector<MatchedScope> match(const FoldedTree& a, const FoldedTree& b) {
  return Matcher(a, b).run();
}

}  // namespace culprit::views
