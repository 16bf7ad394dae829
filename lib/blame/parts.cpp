// The parts of a balanced scope, pooled by chains of procedures (docs/algorithms.md 5.4): ranks that do the
// same work in different branches reach it by different call sites, lines and loops, and would be accused if
// these were compared. Pooling follows the tree down from the scopes of a part to the next procedures, and
// puts those of one name, file and module together. What a procedure does itself is what is left of it.
// Cost: the contexts between a procedure and those that it calls; sums are of summaries, no thread is looked
// at.
#include "blame/parts.hpp"

#include "blame/role_facts.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace culprit::blame {
namespace {

using database::Context;
using database::ContextId;
using database::ContextKind;
using database::kNone;
using metrics::Uint128;

Uint128 at_least_0(Uint128 all, Uint128 part) {
  return all > part ? all - part : 0;
}

/// Calls visit(child) for each child of `x`.
template <class Visit>
void for_children(std::span<const Context> contexts, ContextId x, const Visit& visit) {
  for (ContextId c = x + 1; c < contexts[x].end; c = contexts[c].end) visit(c);
}

}  // namespace

/// The outermost procedures, waits and scopes that are left out below a scope.
struct Parts::Direct {
  std::vector<ContextId> procedures, waits, left_out;
};

Parts::Parts(std::span<const Context> contexts, const RoleView& role) : contexts_(contexts), role_(role) {
  sum_waits();
  find_users_code();
  number_procedures();
}

/// Σ weight² and blocked samples at or below frontiers, for every context.
void Parts::sum_waits() {
  wait_weight_sq_.resize(contexts_.size());
  wait_blocked_.resize(contexts_.size());
  for (auto x = static_cast<ContextId>(contexts_.size()); x-- > 1;) {
    if ((contexts_[x].flags & database::kFrontier) != 0) {
      wait_weight_sq_[x] = role_.weight_sq[x];
      wait_blocked_[x] = role_.blocked[x];
    }
    wait_weight_sq_[contexts_[x].parent] += wait_weight_sq_[x];
    wait_blocked_[contexts_[x].parent] += wait_blocked_[x];
  }
}

void Parts::find_users_code() {
  users_code_.assign(contexts_.size(), false);
  for (auto x = static_cast<ContextId>(contexts_.size()); x-- > 1;) {
    const bool passed = is_root(x) || (contexts_[x].kind == ContextKind::call && contexts_[x].end > x + 1);
    if (!of_run_time(x) && !passed && !is_wait(contexts_, x)) users_code_[x] = true;
    if (users_code_[x]) users_code_[contexts_[x].parent] = true;
  }
}

/// Procedures are the same by name, file and module; those without a name, by what the flat view knows.
void Parts::number_procedures() {
  using Key = std::tuple<ContextKind, std::uint32_t, std::uint32_t, std::uint32_t>;
  std::map<Key, std::uint32_t> numbers;
  std::vector<std::uint32_t> caller;  // by procedure
  around_.assign(contexts_.size(), kNone);
  procedure_.assign(contexts_.size(), kNone);
  for (ContextId x = 1; x < contexts_.size(); ++x) {
    const Context& context = contexts_[x];
    const std::uint32_t above = around_[context.parent];
    around_[x] = above;
    if (!is_procedure(x)) continue;
    const ContextKind kind =
        context.kind == ContextKind::region ? ContextKind::region : ContextKind::procedure;
    const Key key = context.name != 0
                        ? Key{kind, context.name, context.file, context.module}
                        : Key{ContextKind::root, context.flat, context.flat == kNone ? x : 0, 0};
    const auto [found, added] = numbers.try_emplace(key, static_cast<std::uint32_t>(numbers.size()));
    const std::uint32_t number = procedure_[x] = around_[x] = found->second;
    if (added) {
      caller.push_back(above);
      shared_.push_back(false);
    } else if (caller[number] != above && number != above && role_.time[x].sum != 0) {
      shared_[number] = true;
    }
  }
}

bool Parts::is_procedure(ContextId x) const {
  const ContextKind kind = contexts_[x].kind;
  return kind == ContextKind::procedure || kind == ContextKind::inlined || kind == ContextKind::region;
}

bool Parts::is_root(ContextId x) const {
  const ContextKind kind = contexts_[x].kind;
  return kind == ContextKind::root || kind == ContextKind::thread_root || kind == ContextKind::partial;
}

bool Parts::is_left_out(ContextId x) const {
  return std::ranges::binary_search(left_out_, x);
}

/// Whether it is a procedure that itself calls.
bool Parts::recurs(ContextId x) const {
  return is_procedure(x) && procedure_[x] == around_[contexts_[x].parent];
}

bool Parts::holds_recursion(ContextId site) const {
  bool found = false;
  for_children(contexts_, site, [&](ContextId c) { found = found || recurs(c); });
  return found;
}

bool Parts::of_run_time(ContextId x) const {
  return (contexts_[x].flags & database::kRunTime) != 0;
}

void Parts::visit(ContextId x, Direct& into) const {
  for_children(contexts_, x, [&](ContextId c) {
    if (is_wait(contexts_, c)) {
      into.waits.push_back(c);
    } else if (is_left_out(c)) {
      into.left_out.push_back(c);
    } else if (is_procedure(c) && !of_run_time(c) && !recurs(c)) {
      into.procedures.push_back(c);
    } else if (!of_run_time(c) || users_code_[c]) {
      visit(c, into);
    }
  });
}

/// Sums up scopes, without what they call where the part is their own.
Part Parts::make(std::vector<ContextId> scopes, bool own) const {
  Part part{.scopes = std::move(scopes), .own = own, .ranges = {}};
  const auto work = [&](ContextId x) { return at_least_0(role_.time[x].sum, role_.idleness[x].sum); };
  const auto add_spread = [&](ContextId x) {
    part.spread += metrics::finalize(role_.time[x], role_.threads).stddev +
                   metrics::finalize(role_.idleness[x], role_.threads).stddev;
  };
  const auto weight_sq = [&](ContextId x) { return at_least_0(role_.weight_sq[x], wait_weight_sq_[x]); };
  const auto blocked = [&](ContextId x) {
    return static_cast<std::uint64_t>(at_least_0(role_.blocked[x], wait_blocked_[x]));
  };
  for (const ContextId scope : part.scopes) {
    Direct direct;
    if (own) {
      visit(scope, direct);
    } else {
      const auto first = std::ranges::lower_bound(left_out_, scope);
      direct.left_out.assign(first, std::ranges::lower_bound(left_out_, contexts_[scope].end));
    }
    std::vector<ContextId> worked = direct.procedures;
    worked.insert(worked.end(), direct.left_out.begin(), direct.left_out.end());
    std::vector<ContextId> left_out = worked;
    left_out.insert(left_out.end(), direct.waits.begin(), direct.waits.end());
    std::ranges::sort(left_out);
    ContextId next = scope;
    part.work += work(scope);
    part.weight_sq += weight_sq(scope);
    part.blocked += blocked(scope);
    // Of what is left of a scope without others it is not known how much; that its samples vary like any
    // others is the safe side.
    if (!own && worked.empty() && !role_.covered.empty()) part.covered += role_.covered[scope];
    add_spread(scope);
    for (const ContextId x : left_out) {
      if (next < x) part.ranges.push_back({.first = next, .end = x});
      next = contexts_[x].end;
      part.work = at_least_0(part.work, work(x));
      add_spread(x);
    }
    for (const ContextId x : worked) {
      part.weight_sq = at_least_0(part.weight_sq, weight_sq(x));
      part.blocked = static_cast<std::uint64_t>(at_least_0(part.blocked, blocked(x)));
    }
    if (next < contexts_[scope].end) part.ranges.push_back({.first = next, .end = contexts_[scope].end});
  }
  return part;
}

Part Parts::whole(ContextId x) const {
  return make({x}, false);
}

std::vector<Part> Parts::procedures_below(const Part& part) const {
  Direct direct;
  for (const ContextId scope : part.scopes) visit(scope, direct);
  std::map<std::uint32_t, std::vector<ContextId>> by_procedure;
  for (const ContextId x : direct.procedures) by_procedure[procedure_[x]].push_back(x);
  std::vector<Part> parts;
  for (auto& [procedure, scopes] : by_procedure) {
    parts.push_back(make(std::move(scopes), false));
    // As much in sum is as much on every thread, as no part is more than the whole: it need not be looked up.
    if (parts.back().work == part.work) parts.back().ranges = part.ranges;
  }
  parts.push_back(make(part.scopes, true));
  std::erase_if(parts, [](const Part& each) { return each.work == 0; });
  return parts;
}

/// `own`: without the procedures that are called, so that recursion is not within its call site.
void Parts::collect_pieces(ContextId x, bool of_library, bool own, std::vector<ContextId>& into) const {
  for_children(contexts_, x, [&](ContextId c) {
    if (is_wait(contexts_, c) || is_left_out(c) || role_.time[c].sum == 0) return;
    const bool library = of_run_time(c);
    if (is_procedure(c) && !library) {
      if (own && recurs(c)) collect_pieces(c, of_library, own, into);
      return;
    }
    const bool site = contexts_[c].kind == ContextKind::call;
    const bool passed = is_root(c) || (library && users_code_[c]) ||
                        (site && (contexts_[c].line == 0 || (own && holds_recursion(c))));
    if (passed && contexts_[c].end > c + 1) {
      collect_pieces(c, of_library, own, into);
    } else if (!library || of_library) {
      into.push_back(c);
    }
  });
}

/// Loops and lines are the same by their places; those without, by what the flat view knows.
std::vector<Part> Parts::pooled_pieces(const Part& part, bool of_library) const {
  std::vector<ContextId> scopes;
  for (const ContextId scope : part.scopes) collect_pieces(scope, of_library, part.own, scopes);
  using Key = std::tuple<bool, std::uint32_t, std::uint32_t>;
  std::map<Key, std::vector<ContextId>> by_place;
  for (const ContextId x : scopes) {
    const Context& context = contexts_[x];
    const bool line = context.kind != ContextKind::loop;
    const Key unplaced = context.flat != kNone ? Key{line, kNone, context.flat} : Key{line, kNone - 1, x};
    const bool placed = context.line != 0 && !is_procedure(x);
    by_place[placed ? Key{line, context.file, context.line} : unplaced].push_back(x);
  }
  std::vector<Part> pieces;
  for (auto& [place, same] : by_place) {
    pieces.push_back(make(std::move(same), part.own));
    if (pieces.back().work == part.work) pieces.back().ranges = part.ranges;
  }
  std::erase_if(pieces, [](const Part& each) { return each.work == 0; });
  return pieces;
}

std::vector<Part> Parts::of_balanced(ContextId balanced) const {
  std::vector<Part> parts = procedures_below(whole(balanced));
  if (parts.empty() || !parts.back().own) return parts;
  const Part own = std::move(parts.back());
  parts.pop_back();
  for (Part& piece : pooled_pieces(own, true)) parts.push_back(std::move(piece));
  return parts;
}

std::vector<Part> Parts::pieces_of(const Part& part) const {
  return pooled_pieces(part, false);
}

}  // namespace culprit::blame
