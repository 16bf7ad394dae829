#include "views/difference_outline.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::views {
namespace {

using database::kNone;

constexpr int kLongestChain = 200;  // only children that open with their parent
constexpr double kKept = 0.5;       // of its parent's change: what a child on the hot path has

std::size_t place_in(const std::vector<std::uint32_t>& list, std::uint32_t scope) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), scope) - list.begin());
}

}  // namespace

DifferenceOutline::DifferenceOutline(const Difference& difference, const Options& options, Key key)
    : difference_(difference),
      options_(options),
      key_(std::move(key)),
      open_(difference.scopes().size(), false) {
  refresh();
}

bool DifferenceOutline::passed_over(std::uint32_t scope) const {
  return options_.hide_start_up && (difference_.scopes()[scope].flags & database::kStartUp) != 0;
}

std::uint32_t DifferenceOutline::parent_of(std::uint32_t scope) const {
  std::uint32_t parent = difference_.scopes()[scope].parent;
  while (parent != kNone && passed_over(parent)) parent = difference_.scopes()[parent].parent;
  return parent;
}

void DifferenceOutline::collect(const Scopes& from, Scopes& into) const {
  for (const std::uint32_t scope : from) {
    if (passed_over(scope)) {
      collect(difference_.scopes()[scope].children, into);
    } else {
      into.push_back(scope);
    }
  }
}

const DifferenceOutline::Scopes& DifferenceOutline::children(std::uint32_t scope) {
  const auto [entry, missing] = children_.try_emplace(scope);
  Scopes& list = entry->second;
  if (!missing) return list;
  if (scope == kNone) {
    if (!difference_.scopes().empty()) collect({0}, list);
  } else {
    const ComparedScope& self = difference_.scopes()[scope];
    if (options_.hide_wait_internals && (self.flags & database::kFrontier) != 0) return list;
    collect(self.children, list);
  }
  std::vector<std::pair<double, std::uint32_t>> keyed;
  keyed.reserve(list.size());
  for (const std::uint32_t each : list) keyed.emplace_back(key_(difference_.scopes()[each]), each);
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t index = 0; index < list.size(); ++index) list[index] = keyed[index].second;
  return list;
}

void DifferenceOutline::append(const Scopes& list, std::size_t parent) {
  for (std::size_t index = 0; index < list.size(); ++index) {
    const std::uint32_t scope = list[index];
    const Scopes& below = children(scope);
    rows_.push_back({scope, parent, open_[scope] && !below.empty(), !below.empty(), index + 1 == list.size(),
                     list.size() == 1});
    if (rows_.back().open) append(below, rows_.size() - 1);
  }
}

void DifferenceOutline::refresh() {
  rows_.clear();
  append(children(kNone), kNoRow);
}

std::size_t DifferenceOutline::row_of(std::uint32_t scope) const {
  for (; scope != kNone; scope = parent_of(scope)) {
    const auto found =
        std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.scope == scope; });
    if (found != rows_.end()) return static_cast<std::size_t>(found - rows_.begin());
  }
  return 0;
}

void DifferenceOutline::sort_by(Key key) {
  key_ = std::move(key);
  children_.clear();
  refresh();
}

void DifferenceOutline::open(std::uint32_t scope) {
  for (int level = 0; level < kLongestChain; ++level) {
    open_[scope] = true;
    const Scopes& below = children(scope);
    if (below.size() != 1) break;
    scope = below.front();
  }
  refresh();
}

void DifferenceOutline::close(std::uint32_t scope) {
  open_[scope] = false;
  refresh();
}

void DifferenceOutline::open_below(std::uint32_t scope, std::uint32_t levels, std::size_t most) {
  Scopes level = {scope};
  std::size_t opened = rows_.size();
  for (std::uint32_t depth = 0; depth < levels && !level.empty(); ++depth) {
    Scopes next;
    for (const std::uint32_t each : level) {
      const Scopes& below = children(each);
      if (opened + below.size() > most) continue;
      if (!open_[each]) opened += below.size();
      open_[each] = true;
      next.insert(next.end(), below.begin(), below.end());
    }
    level = std::move(next);
  }
  refresh();
}

void DifferenceOutline::close_all() {
  open_.assign(open_.size(), false);
  refresh();
}

std::uint32_t DifferenceOutline::open_hot_path(std::uint32_t scope) {
  const auto changed = [&](std::uint32_t each) { return std::abs(difference_.scopes()[each].change()); };
  while (true) {
    const Scopes& below = children(scope);
    const auto most = std::max_element(below.begin(), below.end(),
                                       [&](auto left, auto right) { return changed(left) < changed(right); });
    if (most == below.end() || !(changed(*most) > 0) || changed(*most) < kKept * changed(scope)) break;
    open_[scope] = true;
    scope = *most;
  }
  refresh();
  return scope;
}

void DifferenceOutline::reveal(std::uint32_t scope) {
  for (std::uint32_t above = parent_of(scope); above != kNone; above = parent_of(above)) open_[above] = true;
  refresh();
}

std::uint32_t DifferenceOutline::first_in(const DifferenceSearch& search, const Scopes& list,
                                          std::size_t begin) {
  for (std::size_t index = begin; index < list.size(); ++index) {
    const std::uint32_t scope = list[index];
    if (!search.touches(scope)) continue;
    if (search.matches(scope)) return scope;
    const std::uint32_t below = first_in(search, children(scope), 0);
    if (below != kNone) return below;
  }
  return kNone;
}

std::uint32_t DifferenceOutline::last_in(const DifferenceSearch& search, const Scopes& list,
                                         std::size_t end) {
  for (std::size_t index = end; index-- > 0;) {
    const std::uint32_t scope = list[index];
    if (!search.touches(scope)) continue;
    const Scopes& children_of_it = children(scope);
    const std::uint32_t below = last_in(search, children_of_it, children_of_it.size());
    if (below != kNone) return below;
    if (search.matches(scope)) return scope;
  }
  return kNone;
}

std::uint32_t DifferenceOutline::find(const DifferenceSearch& search, std::uint32_t from, bool backwards) {
  if (from == kNone) {
    const Scopes& roots = children(kNone);
    return backwards ? last_in(search, roots, roots.size()) : first_in(search, roots, 0);
  }
  if (!backwards) {
    const std::uint32_t below = first_in(search, children(from), 0);
    if (below != kNone) return below;
  }
  for (std::uint32_t scope = from; scope != kNone;) {
    const std::uint32_t parent = parent_of(scope);
    const Scopes& siblings = children(parent);
    const std::size_t place = place_in(siblings, scope);
    const std::uint32_t found =
        backwards ? last_in(search, siblings, place) : first_in(search, siblings, place + 1);
    if (found != kNone) return found;
    if (backwards && parent != kNone && search.matches(parent)) return parent;
    scope = parent;
  }
  return kNone;
}

}  // namespace culprit::views
