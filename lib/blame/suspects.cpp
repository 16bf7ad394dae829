#include "blame/blame.hpp"
#include "blame/role_facts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include <boost/math/distributions/normal.hpp>

namespace culprit::blame {
namespace {

using database::ContextId;
using database::ContextKind;
using database::Suspect;
using metrics::Uint128;

/// What explains less of a context's blame than this is not listed; threads with less of the excess are no
/// culprits.
constexpr double kListed = 0.05, kCulprit = 0.05;
/// The walk goes on while one child holds this share of the excess with which it began.
constexpr double kMost = 0.8;
/// Threads with less than this share of the largest excess are not those that the others wait for.
constexpr double kLate = 0.25;
/// Mean of max(0, noise) in standard errors: 1/√(2π).
constexpr double kNoiseExcess = 0.3989;
/// Culprits are alike where the least of their excesses is this share of the largest.
constexpr double kAlike = 0.5;

using PerThread = std::vector<double>;

double total(const PerThread& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// value − mean per thread.
PerThread deviations(const std::vector<std::uint64_t>& values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  PerThread deviation(values.size());
  std::ranges::transform(values, deviation.begin(),
                         [mean](std::uint64_t v) { return static_cast<double>(v) - mean; });
  return deviation;
}

/// The share of `part`'s unevenness that reaches the `whole` it belongs to: the slope of the whole over the
/// part, 1 where nothing compensates, 0 where the siblings always do.
double passed_on(const PerThread& part, const PerThread& whole) {
  double variance = 0;
  double covariance = 0;
  for (std::size_t t = 0; t < part.size(); ++t) {  // both at once: either waits for its own additions
    variance += part[t] * part[t];
    covariance += part[t] * whole[t];
  }
  return variance == 0 ? 0 : std::clamp(covariance / variance, 0.0, 1.0);
}

/// A scope below a balanced one, and how much it works too much.
struct Excess {
  ContextId scope = 0;
  PerThread by_thread;  ///< e(c, t), noise included
  double noise = 0;     ///< what sampling noise alone would give, per thread
};

double without_noise(double excess, double noise) {
  return std::max(0.0, excess - noise);
}

double real_total(const Excess& e) {
  double sum = 0;
  for (const double excess : e.by_thread) sum += without_noise(excess, e.noise);
  return sum;
}

class Search {
 public:
  Search(std::span<const database::Context> contexts, const RoleView& role, const WorkOf& work,
         const Options& options)
      : contexts_(contexts), role_(role), work_(work), period_ns_(options.period_ns) {
    sum_waits();
    find_users_code();
  }

  /// The suspects of one blamed context, without their locations' names.
  struct Found {
    Excess excess;
    double share = 0;  ///< of the context's whole excess
  };

  /// Excess only falls on the way down: where a child's, noise included, is less than `least_share` of the
  /// whole, no walk from it finds that much.
  [[nodiscard]] std::vector<Found> below(ContextId balanced, const PerThread& excess,
                                         double least_share) const {
    std::vector<Found> found;
    const double whole = total(excess);
    for (Excess& child : distribute(balanced, excess)) {
      if (total(child.by_thread) < least_share * whole) continue;
      Excess suspect = walk_down(std::move(child));
      const double share = real_total(suspect) / whole;
      found.push_back({std::move(suspect), share});
    }
    return found;
  }

  /// X(t): what the threads that make the others wait work too much. An excess that sampling alone may have
  /// caused, or that is small beside the largest, delays nobody.
  [[nodiscard]] PerThread late_excess(ContextId balanced, const std::vector<std::uint64_t>& work,
                                      double epsilon) const {
    PerThread excess = deviations(work);
    const double quantile = boost::math::quantile(boost::math::normal(), 1 - epsilon / (2.0 * role_.threads));
    const double least = std::max(kLate * std::ranges::max(excess), quantile * error_of_work(balanced));
    for (double& e : excess) {
      if (e < least) e = 0;
    }
    return excess;
  }

  [[nodiscard]] std::vector<std::uint64_t> work_of(ContextId x) const {
    std::vector<std::uint64_t> work = work_(x);
    if (work.size() != role_.threads)
      throw std::invalid_argument("work is not given for every thread of the role");
    return work;
  }

 private:
  /// Σ weight² and blocked samples at or below frontiers, for every context: what is not work.
  void sum_waits() {
    wait_weight_sq_.resize(contexts_.size());
    wait_blocked_.resize(contexts_.size());
    for (ContextId x = static_cast<ContextId>(contexts_.size()); x-- > 1;) {
      if ((contexts_[x].flags & database::kFrontier) != 0) {
        wait_weight_sq_[x] = role_.weight_sq[x];
        wait_blocked_[x] = role_.blocked[x];
      }
      wait_weight_sq_[contexts_[x].parent] += wait_weight_sq_[x];
      wait_blocked_[contexts_[x].parent] += wait_blocked_[x];
    }
  }

  /// Which contexts hold code of the user at or below them.
  void find_users_code() {
    users_code_.assign(contexts_.size(), false);
    for (ContextId x = static_cast<ContextId>(contexts_.size()); x-- > 1;) {
      if (!of_run_time(x) && !transparent(x) && !is_wait(contexts_, x)) users_code_[x] = true;
      if (users_code_[x]) users_code_[contexts_[x].parent] = true;
    }
  }

  [[nodiscard]] bool of_run_time(ContextId x) const { return (contexts_[x].flags & database::kRunTime) != 0; }

  /// Standard error of one thread's work at `x`.
  [[nodiscard]] double error_of_work(ContextId x) const {
    const auto at_least_0 = [](Uint128 all, Uint128 waits) { return all > waits ? all - waits : 0; };
    const double work = static_cast<double>(at_least_0(role_.time[x].sum, role_.idleness[x].sum));
    const double share = work / std::max(1.0, static_cast<double>(role_.time[0].sum));
    const auto blocked = static_cast<std::uint64_t>(at_least_0(role_.blocked[x], wait_blocked_[x]));
    return std::sqrt(sampling_variance(at_least_0(role_.weight_sq[x], wait_weight_sq_[x]), blocked, share,
                                       role_.threads, period_ns_));
  }

  /// Roots and call sites are no scopes that a user could change: what is below them takes their place.
  [[nodiscard]] bool transparent(ContextId x) const {
    const ContextKind kind = contexts_[x].kind;
    const bool passes = kind == ContextKind::call || kind == ContextKind::root ||
                        kind == ContextKind::thread_root || kind == ContextKind::partial;
    return passes && contexts_[x].end > x + 1;
  }

  /// The children of `x` that can be suspected: communication and waits cannot, and run-time libraries that
  /// only lead to the user's code give way to it.
  void collect_children(ContextId x, std::vector<ContextId>& into) const {
    for (ContextId c = x + 1; c < contexts_[x].end; c = contexts_[c].end) {
      if (is_wait(contexts_, c) || role_.time[c].sum == 0) continue;
      if (transparent(c) || (of_run_time(c) && users_code_[c])) {
        collect_children(c, into);
      } else {
        into.push_back(c);
      }
    }
  }

  /// Gives the excess of `x` to its children, those that account for the most of it first.
  [[nodiscard]] std::vector<Excess> distribute(ContextId x, PerThread left) const {
    std::vector<ContextId> scopes;
    collect_children(x, scopes);
    const PerThread whole = deviations(work_of(x));
    std::vector<Excess> children;
    std::vector<std::pair<double, std::size_t>> order;
    for (const ContextId c : scopes) {
      PerThread excess = deviations(work_of(c));
      const double share = passed_on(excess, whole);
      double sum = 0;
      for (std::size_t t = 0; t < excess.size(); ++t) {
        excess[t] = std::max(0.0, share * excess[t]);
        sum += std::min(excess[t], left[t]);
      }
      if (sum == 0) continue;
      order.emplace_back(-sum, children.size());
      children.push_back({c, std::move(excess), kNoiseExcess * error_of_work(c)});
    }
    std::ranges::sort(order);
    for (const auto& [negative_sum, index] : order) {
      PerThread& excess = children[index].by_thread;
      for (std::size_t t = 0; t < excess.size(); ++t) {
        excess[t] = std::min(excess[t], left[t]);
        left[t] -= excess[t];
      }
    }
    return children;
  }

  /// From a child of a balanced context to the deepest scope that still holds most of its excess. What a
  /// run-time library does within a scope is that scope's doing.
  [[nodiscard]] Excess walk_down(Excess scope) const {
    const double begun = real_total(scope);
    if (begun == 0) return scope;
    for (;;) {
      std::vector<Excess> children = distribute(scope.scope, scope.by_thread);
      const auto largest = std::ranges::max_element(children, {}, real_total);
      if (largest == children.end() || real_total(*largest) < kMost * begun) return scope;
      if (of_run_time(largest->scope)) return scope;
      scope = std::move(*largest);
    }
  }

  std::span<const database::Context> contexts_;
  const RoleView& role_;
  const WorkOf& work_;
  std::uint64_t period_ns_;
  std::vector<Uint128> wait_weight_sq_;
  std::vector<std::uint64_t> wait_blocked_;
  std::vector<bool> users_code_;
};

std::uint64_t rounded(double ns) {
  return static_cast<std::uint64_t>(std::llround(ns));
}

std::vector<std::size_t> culprits_of(const Excess& e) {
  const double whole = real_total(e);
  std::vector<std::size_t> culprits;
  for (std::size_t t = 0; t < e.by_thread.size(); ++t) {
    if (without_noise(e.by_thread[t], e.noise) > kCulprit * whole) culprits.push_back(t);
  }
  return culprits;
}

/// How much earlier the last thread arrives if the culprits' work at the suspect falls to the others' mean.
double gain_by_removing(const std::vector<std::uint64_t>& whole, const std::vector<std::uint64_t>& suspect,
                        const std::vector<std::size_t>& culprits) {
  double others = std::accumulate(suspect.begin(), suspect.end(), 0.0);
  for (const std::size_t t : culprits) others -= static_cast<double>(suspect[t]);
  others /= static_cast<double>(suspect.size() - culprits.size());
  std::vector<double> after(whole.begin(), whole.end());
  for (const std::size_t t : culprits) after[t] -= std::max(0.0, static_cast<double>(suspect[t]) - others);
  return static_cast<double>(std::ranges::max(whole)) - std::ranges::max(after);
}

/// The two figures of algorithms.md 5.5.
void state_worth(Suspect& suspect, double explains, const Excess& e, const std::vector<std::size_t>& culprits,
                 const std::vector<std::uint64_t>& whole, const Search& search) {
  const double threads = static_cast<double>(whole.size());
  suspect.save_balanced_ns = rounded(explains / threads);
  double removed = explains / threads;
  if (!culprits.empty() && culprits.size() < whole.size()) {
    removed = explains / (threads - static_cast<double>(culprits.size()));
    const auto [least, most] =
        std::ranges::minmax(culprits, {}, [&](std::size_t t) { return e.by_thread[t]; });
    if (e.by_thread[least] < kAlike * e.by_thread[most]) {
      removed = std::min(removed, gain_by_removing(whole, search.work_of(e.scope), culprits));
    }
  }
  suspect.save_removed_ns = rounded(removed);
}

/// Appends the suspects of one row of blame.
void find_below(const database::BlameRow& row, std::uint32_t role_index,
                std::span<const std::uint32_t> locations, const Search& search, double epsilon,
                std::vector<Suspect>& into) {
  const std::vector<std::uint64_t> work = search.work_of(row.context);
  const PerThread excess = search.late_excess(row.context, work, epsilon);
  if (total(excess) == 0) return;
  const double threads = static_cast<double>(work.size());
  const double mean = std::accumulate(work.begin(), work.end(), 0.0) / threads;
  const double blame = static_cast<double>(row.sum);
  const double explainable = std::min(blame, threads * (static_cast<double>(std::ranges::max(work)) - mean));
  constexpr double kRounding = 1 - 1e-9;
  const double least_share = explainable > 0 ? kRounding * kListed * blame / explainable : 0;
  for (const Search::Found& found : search.below(row.context, excess, least_share)) {
    const double explains = explainable * found.share;
    if (explains < kListed * blame) continue;
    const std::vector<std::size_t> culprits = culprits_of(found.excess);
    Suspect suspect{
        .role = role_index, .balanced = row.context, .suspect = found.excess.scope, .locations = {}};
    for (const std::size_t t : culprits) suspect.locations.push_back(locations[t]);
    suspect.excess_ns = rounded(real_total(found.excess));
    suspect.explains_ns = rounded(explains);
    state_worth(suspect, explains, found.excess, culprits, work, search);
    into.push_back(std::move(suspect));
  }
}

}  // namespace

std::vector<Suspect> find_suspects(std::span<const database::Context> contexts, std::uint32_t role_index,
                                   const RoleView& role, std::span<const database::BlameRow> blame,
                                   std::span<const std::uint32_t> locations, const WorkOf& work,
                                   const Options& options) {
  check_role(role, contexts.size());
  if (locations.size() != role.threads)
    throw std::invalid_argument("a location is needed for every thread of the role");
  std::vector<Suspect> suspects;
  if (role.threads < 2) return suspects;
  const Search search(contexts, role, work, options);
  for (const database::BlameRow& row : blame)
    find_below(row, role_index, locations, search, options.epsilon, suspects);
  std::ranges::stable_sort(suspects, std::ranges::greater(), &Suspect::explains_ns);
  return suspects;
}

}  // namespace culprit::blame
