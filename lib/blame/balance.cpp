// Decides for each context of a role whether all threads spend the same time there (docs/algorithms.md 5.2).
// The paper's test (Tallent 2010, section II): CV(x) <= 1.1 CV(root). The default allows for noise: a
// tolerance from the root's CV, the variance of sampling and 1 % of jitter bounds the CV (chi-squared
// quantile) and the farthest thread (normal quantile); with too few samples a context is undecided. Waits,
// and by default call sites, run-time libraries and wrappers around communication, are not tested.
// Cost: constant per context, from the summaries; quantiles once per role.
#include "blame/blame.hpp"
#include "blame/role_facts.hpp"
#include "metrics/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace culprit::blame {
namespace {

using database::Balance;
using database::ContextId;

/// Above this relative variance a node has too few samples to decide.
constexpr double kUndecided = 0.1;
/// A scope with this many times more waiting than work, and than the whole role has for its work, only wraps
/// waits.
constexpr double kMostWaiting = 8;

void check_options(const Options& options) {
  const bool sound = options.alpha >= 0 && options.tau >= 0 && options.epsilon > 0 && options.epsilon < 1;
  if (!sound)
    throw std::invalid_argument("alpha and tau must not be negative, epsilon must lie between 0 and 1");
}

/// Finds the scopes of a role whose own work cannot have kept their threads waiting: wrappers around
/// communication.
class WorkTest {
 public:
  explicit WorkTest(const RoleView& role) : role_(role), most_(kMostWaiting * std::max(1.0, ratio(0))) {}

  [[nodiscard]] bool may_explain_waiting(ContextId x) const {
    const metrics::Statistics idle = metrics::finalize_over_all(role_.idleness[x], role_.threads);
    // One thread that works while all others wait, however many these are: where times are alike, it is the
    // one that idles least.
    const double longest = metrics::finalize(role_.time[x], role_.threads).mean - idle.min;
    return role_.threads < 2 || longest >= idle.mean || ratio(x) <= most_;
  }

 private:
  /// Waiting over work.
  [[nodiscard]] double ratio(ContextId x) const {
    const auto time = static_cast<double>(role_.time[x].sum);
    const auto idle = static_cast<double>(role_.idleness[x].sum);
    return idle < time ? idle / (time - idle) : idle > 0 ? std::numeric_limits<double>::infinity() : 0;
  }

  const RoleView& role_;
  double most_;
};

/// The test of one role with what does not depend on the node worked out once.
class Test {
 public:
  Test(const RoleView& role, const Options& options) : role_(role), options_(options) {
    root_cv_ = metrics::finalize(role.time[0], role.threads).cv;
    if (options.mode == Mode::paper || role.threads < 2) return;
    const double threads = role.threads;
    dispersion_ = metrics::chi_squared_quantile(threads - 1, 1 - options.epsilon) / threads;
    extremes_ = metrics::normal_quantile(1 - options.epsilon / (2 * threads));
  }

  [[nodiscard]] Balance operator()(ContextId x) const {
    const metrics::Statistics time = metrics::finalize_over_all(role_.time[x], role_.threads);
    if (role_.threads < 2) return Balance::balanced;
    if (options_.mode == Mode::paper) {
      return time.cv <= options_.alpha * root_cv_ ? Balance::balanced : Balance::imbalanced;
    }
    return noise_aware(x, time);
  }

 private:
  [[nodiscard]] Balance noise_aware(ContextId x, const metrics::Statistics& time) const {
    const double noise = sampling_variance(role_, x, options_.period_ns) / (time.mean * time.mean);
    if (noise > kUndecided) return Balance::undecided;
    const double tolerance_sq =
        options_.alpha * options_.alpha * root_cv_ * root_cv_ + noise + options_.tau * options_.tau;
    const double farthest = std::max(time.max - time.mean, time.mean - time.min) / time.mean;
    const bool balanced =
        time.cv * time.cv <= tolerance_sq * dispersion_ && farthest <= std::sqrt(tolerance_sq) * extremes_;
    return balanced ? Balance::balanced : Balance::imbalanced;
  }

  const RoleView& role_;
  const Options& options_;
  double root_cv_ = 0, dispersion_ = 0, extremes_ = 0;
};

}  // namespace

std::vector<Balance> test_balance(std::span<const database::Context> contexts, const RoleView& role,
                                  const Options& options) {
  check_options(options);
  check_role(role, contexts.size());
  std::vector<Balance> balance(contexts.size(), Balance::untested);
  if (contexts.empty()) return balance;
  const Test test(role, options);
  const WorkTest work(role);
  for (ContextId x = 1; x < contexts.size(); ++x) {
    if (is_wait(contexts, x) || role.time[x].sum == 0) continue;
    // Without lines, all calls of a scope fall into one call site, and blaming "some call" helps nobody.
    // Nor does blaming the library that an OpenMP region or a thread runs in: the code around or below it can
    // be changed.
    const bool passed_by =
        contexts[x].kind == database::ContextKind::call || (contexts[x].flags & database::kRunTime) != 0;
    if (options.mode == Mode::noise_aware && (passed_by || !work.may_explain_waiting(x))) continue;
    balance[x] = test(x);
  }
  balance[0] = Balance::balanced;
  return balance;
}

}  // namespace culprit::blame
