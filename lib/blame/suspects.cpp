// Which parts of a blamed context made the others wait, on which threads, and what mending them saves (ours;
// docs/algorithms.md 5.4, 5.5; figures in docs/blame.md). The late threads' excess of work over the mean is
// given to the context's children: each offers its own excess times the slope of the whole over it, which is
// what its siblings do not compensate; the largest offer first. From each child the walk goes down while one
// child keeps 80 % of the excess. A suspect explains its share of the excess, less what sampling noise alone
// would give.
// Cost: work per thread of few contexts; bounds from the summaries, and chains of contexts with equal sums,
// spare most.
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

/// One number for each thread of the role.
using PerThread = std::span<const std::uint64_t>;

/// One number for each of the late threads. There may be a million threads, and the others have no excess:
/// of these, as little as possible is held at a time.
using PerLate = std::vector<double>;

/// The threads that make the others wait, and how much each works too much: X(t), 0 for all others.
struct Late {
  std::vector<std::uint32_t> threads;  ///< ascending
  PerLate excess;
};

double total(const PerLate& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double deviation(std::uint64_t value, double mean) {
  return static_cast<double>(value) - mean;
}

/// The share of `part`'s unevenness that reaches the `whole` it belongs to: the slope of the whole over the
/// part, 1 where nothing compensates, 0 where the siblings always do.
double passed_on(PerThread part, double mean_of_part, PerThread whole, double mean_of_whole) {
  double variance = 0;
  double covariance = 0;
  for (std::size_t t = 0; t < part.size(); ++t) {  // both at once: either waits for its own additions
    const double of_part = deviation(part[t], mean_of_part);
    variance += of_part * of_part;
    covariance += of_part * deviation(whole[t], mean_of_whole);
  }
  return variance == 0 ? 0 : std::clamp(covariance / variance, 0.0, 1.0);
}

/// A scope below a balanced one, and how much it works too much.
struct Excess {
  ContextId scope = 0;
  PerLate by_thread;  ///< e(c, t), noise included
  double noise = 0;   ///< what sampling noise alone would give, per thread
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
    find_equals();
  }

  /// The suspects of one blamed context, without their locations' names.
  struct Found {
    Excess excess;
    double share = 0;  ///< of the context's whole excess
  };

  /// Excess only falls on the way down: where a child's, noise included, is less than `least_share` of the
  /// whole, no walk from it finds that much.
  [[nodiscard]] std::vector<Found> below(ContextId balanced, const Late& late, double least_share) const {
    std::vector<Found> found;
    const double whole = total(late.excess);
    const double least = least_share * whole;
    for (Excess& child : distribute(balanced, late, late.excess, least)) {
      if (total(child.by_thread) < least) continue;
      Excess suspect = walk_down(std::move(child), late);
      const double share = real_total(suspect) / whole;
      found.push_back({std::move(suspect), share});
    }
    return found;
  }

  /// An excess that sampling alone may have caused, or that is small beside the largest, delays nobody.
  [[nodiscard]] Late late_threads(ContextId balanced, PerThread work, double epsilon) const {
    const double mean = mean_work(balanced);
    const double quantile = boost::math::quantile(boost::math::normal(), 1 - epsilon / (2.0 * role_.threads));
    const double largest = deviation(std::ranges::max(work), mean);
    const double least = std::max(kLate * largest, quantile * error_of_work(balanced));
    Late late;
    for (std::uint32_t t = 0; t < work.size(); ++t) {
      const double excess = deviation(work[t], mean);
      if (excess <= 0 || excess < least) continue;
      late.threads.push_back(t);
      late.excess.push_back(excess);
    }
    return late;
  }

  /// Of work_of(x), which need not be asked for.
  [[nodiscard]] double mean_work(ContextId x) const {
    return (static_cast<double>(role_.time[x].sum) - static_cast<double>(role_.idleness[x].sum)) /
           role_.threads;
  }

  /// Valid until the next call.
  [[nodiscard]] PerThread work_of(ContextId x) const {
    const PerThread work = work_(equal_[x]);
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

  /// What is as much as its parent in sum is so on every thread, as it is nowhere more. The walk down is
  /// mostly along such chains of calls, and looking up a context's work takes long.
  void find_equals() {
    equal_.resize(contexts_.size());
    for (ContextId x = 1; x < contexts_.size(); ++x) {
      const ContextId parent = contexts_[x].parent;
      const bool equals =
          role_.time[x].sum == role_.time[parent].sum && role_.idleness[x].sum == role_.idleness[parent].sum;
      equal_[x] = equals ? equal_[parent] : x;
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

  /// More than the late ones among `count` threads can exceed the mean work at `c` by, together: their
  /// deviations' sum is largest where they are equal. Costs nothing, where asking for the work does.
  [[nodiscard]] double most_excess(ContextId c, std::size_t late) const {
    const double deviation_of_work = metrics::finalize(role_.time[c], role_.threads).stddev +
                                     metrics::finalize(role_.idleness[c], role_.threads).stddev;
    constexpr double kRounding = 1 + 1e-6;
    return kRounding * std::sqrt(static_cast<double>(late) * role_.threads) * deviation_of_work;
  }

  /// What `c`, a child of a scope with the work `whole`, works too much on late threads with the excess
  /// `left`, if that is `least` or more; `sum` becomes the sum of it.
  [[nodiscard]] Excess excess_of(ContextId c, PerThread whole, double mean_of_whole, const Late& late,
                                 const PerLate& left, double& sum) const {
    const PerThread part = work_of(c);
    const double mean = mean_work(c);
    const double share = passed_on(part, mean, whole, mean_of_whole);
    Excess child{.scope = c, .by_thread = PerLate(left.size()), .noise = kNoiseExcess * error_of_work(c)};
    sum = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      child.by_thread[i] = std::max(0.0, share * deviation(part[late.threads[i]], mean));
      sum += std::min(child.by_thread[i], left[i]);
    }
    return child;
  }

  /// Gives the excess of `x` to its children, those that account for the most of it first. Returns those that
  /// may get `least` (above 0) or more, and perhaps others: what the rest gets is nobody's concern, as they
  /// come after these.
  [[nodiscard]] std::vector<Excess> distribute(ContextId x, const Late& late, PerLate left,
                                               double least) const {
    std::vector<ContextId> scopes;
    collect_children(x, scopes);
    std::erase_if(scopes, [&](ContextId c) { return most_excess(c, late.threads.size()) < least; });
    std::vector<Excess> children;
    if (scopes.empty()) return children;
    const PerThread asked = work_of(x);
    const std::vector<std::uint64_t> whole(asked.begin(), asked.end());
    const double mean = mean_work(x);
    std::vector<std::pair<double, std::size_t>> order;
    for (const ContextId c : scopes) {
      double sum = 0;
      Excess child = excess_of(c, whole, mean, late, left, sum);
      if (sum < least) continue;
      order.emplace_back(-sum, children.size());
      children.push_back(std::move(child));
    }
    std::ranges::sort(order);
    for (const auto& [negative_sum, index] : order) {
      PerLate& excess = children[index].by_thread;
      for (std::size_t i = 0; i < excess.size(); ++i) {
        excess[i] = std::min(excess[i], left[i]);
        left[i] -= excess[i];
      }
    }
    return children;
  }

  /// From a child of a balanced context to the deepest scope that still holds most of its excess. What a
  /// run-time library does within a scope is that scope's doing.
  [[nodiscard]] Excess walk_down(Excess scope, const Late& late) const {
    const double begun = real_total(scope);
    if (begun == 0) return scope;
    for (;;) {
      std::vector<Excess> children = distribute(scope.scope, late, scope.by_thread, kMost * begun);
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
  std::vector<ContextId> equal_;  ///< by context: the outermost one with the same work on every thread
};

std::uint64_t rounded(double ns) {
  return static_cast<std::uint64_t>(std::llround(ns));
}

/// Where among the late threads the culprits are.
std::vector<std::size_t> culprits_of(const Excess& e) {
  const double whole = real_total(e);
  std::vector<std::size_t> culprits;
  for (std::size_t i = 0; i < e.by_thread.size(); ++i) {
    if (without_noise(e.by_thread[i], e.noise) > kCulprit * whole) culprits.push_back(i);
  }
  return culprits;
}

/// How much earlier the last thread arrives at the end of `balanced` if the work of the threads `culprits`,
/// ascending, at `suspect` falls to the others' mean.
double gain_by_removing(const Search& search, ContextId balanced, ContextId suspect,
                        std::span<const std::uint32_t> culprits) {
  std::vector<double> removed;
  {
    const PerThread work = search.work_of(suspect);
    double others = std::accumulate(work.begin(), work.end(), 0.0);
    for (const std::uint32_t t : culprits) others -= static_cast<double>(work[t]);
    others /= static_cast<double>(work.size() - culprits.size());
    removed.reserve(culprits.size());
    for (const std::uint32_t t : culprits) removed.push_back(std::max(0.0, deviation(work[t], others)));
  }
  const PerThread whole = search.work_of(balanced);
  double last = 0;
  std::size_t passed = 0;
  for (std::uint32_t t = 0; t < whole.size(); ++t) {
    const bool culprit = passed < culprits.size() && culprits[passed] == t;
    last = std::max(last, static_cast<double>(whole[t]) - (culprit ? removed[passed++] : 0.0));
  }
  return static_cast<double>(std::ranges::max(whole)) - last;
}

/// The two figures of docs/algorithms.md 5.5, of `threads` threads.
void state_worth(Suspect& suspect, double explains, const Excess& e, const Late& late, double threads,
                 const Search& search) {
  suspect.save_balanced_ns = rounded(explains / threads);
  double removed = explains / threads;
  const std::vector<std::size_t> culprits = culprits_of(e);
  if (const auto count = static_cast<double>(culprits.size()); count > 0 && count < threads) {
    removed = explains / (threads - count);
    const auto [least, most] =
        std::ranges::minmax(culprits, {}, [&](std::size_t i) { return e.by_thread[i]; });
    if (e.by_thread[least] < kAlike * e.by_thread[most]) {
      std::vector<std::uint32_t> at;
      at.reserve(culprits.size());
      for (const std::size_t i : culprits) at.push_back(late.threads[i]);
      removed = std::min(removed, gain_by_removing(search, suspect.balanced, e.scope, at));
    }
  }
  suspect.save_removed_ns = rounded(removed);
}

/// Appends the suspects of one row of blame.
void find_below(const database::BlameRow& row, std::uint32_t role_index,
                std::span<const std::uint32_t> locations, const Search& search, double epsilon,
                std::vector<Suspect>& into) {
  const PerThread work = search.work_of(row.context);
  const Late late = search.late_threads(row.context, work, epsilon);
  const double threads = static_cast<double>(work.size());
  const double blame = static_cast<double>(row.sum);
  const double explainable =
      std::min(blame, threads * deviation(std::ranges::max(work), search.mean_work(row.context)));
  if (late.threads.empty() || explainable <= 0) return;
  constexpr double kRounding = 1 - 1e-9;
  const double least_share = kRounding * kListed * blame / explainable;
  for (const Search::Found& found : search.below(row.context, late, least_share)) {
    const double explains = explainable * found.share;
    if (explains < kListed * blame) continue;
    Suspect suspect{
        .role = role_index, .balanced = row.context, .suspect = found.excess.scope, .locations = {}};
    for (const std::size_t i : culprits_of(found.excess))
      suspect.locations.push_back(locations[late.threads[i]]);
    suspect.excess_ns = rounded(real_total(found.excess));
    suspect.explains_ns = rounded(explains);
    state_worth(suspect, explains, found.excess, late, threads, search);
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
