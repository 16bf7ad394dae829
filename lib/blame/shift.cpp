// Blame (Tallent 2010, section II; docs/algorithms.md 5.3): the idleness of each frontier frame goes to its
// deepest balanced ancestor, since what is balanced cannot make others wait, but a part of it can. Idleness
// outside any frontier goes the same way. Nothing is lost: the sums add up to the idleness of the root. One
// pass in pre-order, in which a parent's anchor is known before its children come. Exact integers.
#include "blame/blame.hpp"
#include "blame/role_facts.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace culprit::blame {
namespace {

using database::Balance;
using database::BlameRow;
using database::ContextId;
using metrics::Uint128;

/// Idleness as blame carries it: sum, and the least and largest over all T threads.
struct Idleness {
  Uint128 sum = 0;
  std::uint64_t min = 0, max = 0;
};

Idleness idleness_of(const metrics::Accumulator& a, std::uint32_t threads) {
  return {a.sum, a.observers < threads ? 0 : a.min, a.max};
}

std::uint64_t saturated(Uint128 value) {
  return static_cast<std::uint64_t>(std::min<Uint128>(value, std::numeric_limits<std::uint64_t>::max()));
}

/// The depth-first pass. Pre-order numbers make it a loop: a parent's anchor is known before its children are
/// met.
class Pass {
 public:
  Pass(std::span<const database::Context> contexts, const RoleView& role, std::span<const Balance> balance)
      : contexts_(contexts),
        role_(role),
        balance_(balance),
        anchor_(contexts.size()),
        blame_(contexts.size()) {}

  void run() {
    for (ContextId x = 0; x < contexts_.size();) {
      const ContextId above = x == 0 ? 0 : anchor_[contexts_[x].parent];
      anchor_[x] = x == 0 || balance_[x] == Balance::balanced ? x : above;
      if ((contexts_[x].flags & database::kFrontier) != 0) {
        charge(above, idleness_of(role_.idleness[x], role_.threads));
        x = contexts_[x].end;
        continue;
      }
      charge(above, own_idleness(x));
      ++x;
    }
  }

  [[nodiscard]] std::vector<BlameRow> rows() const {
    std::vector<BlameRow> rows;
    for (ContextId x = 0; x < blame_.size(); ++x) {
      const Idleness& b = blame_[x];
      if (b.sum > 0) rows.push_back({x, saturated(b.sum), b.min, b.max});
    }
    return rows;
  }

 private:
  /// Idleness at `x` itself, outside any frontier: a sample marked idle without a known frame around it. The
  /// context is then a frontier of its own.
  [[nodiscard]] Idleness own_idleness(ContextId x) const {
    const metrics::Accumulator& all = role_.idleness[x];
    if (all.sum == 0) return {};
    if (contexts_[x].end == x + 1) return idleness_of(all, role_.threads);
    Uint128 below = 0;
    for (ContextId c = x + 1; c < contexts_[x].end; c = contexts_[c].end) below += role_.idleness[c].sum;
    // Which threads idled here rather than below is not known; nobody is certain to have, nobody did for
    // longer.
    if (below >= all.sum) return {};
    return {all.sum - below, 0, std::min(all.max, saturated(all.sum - below))};
  }

  void charge(ContextId anchor, const Idleness& idleness) {
    blame_[anchor].sum += idleness.sum;
    blame_[anchor].min += idleness.min;
    blame_[anchor].max += idleness.max;
  }

  std::span<const database::Context> contexts_;
  const RoleView& role_;
  std::span<const Balance> balance_;
  std::vector<ContextId> anchor_;  ///< deepest balanced context at or above
  std::vector<Idleness> blame_;
};

}  // namespace

std::vector<BlameRow> shift_blame(std::span<const database::Context> contexts, const RoleView& role,
                                  std::span<const Balance> balance) {
  check_role(role, contexts.size());
  if (balance.size() != contexts.size())
    throw std::invalid_argument("balance is not given for every context");
  Pass pass(contexts, role, balance);
  pass.run();
  return pass.rows();
}

}  // namespace culprit::blame
