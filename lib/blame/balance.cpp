#include "blame/blame.hpp"
#include "blame/role_facts.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>

namespace culprit::blame {
namespace {

using database::Balance;
using database::ContextId;

/// Above this relative variance a node has too few samples to tell.
constexpr double kUndecided = 0.1;

void check_options(const Options& options) {
  const bool sound = options.alpha >= 0 && options.tau >= 0 && options.epsilon > 0 && options.epsilon < 1;
  if (!sound)
    throw std::invalid_argument("alpha and tau must not be negative, epsilon must lie between 0 and 1");
}

/// The test of one role with what does not depend on the node worked out once.
class Test {
 public:
  Test(const RoleView& role, const Options& options) : role_(role), options_(options) {
    root_cv_ = metrics::finalize(role.time[0], role.threads).cv;
    if (options.mode == Mode::paper || role.threads < 2) return;
    const double threads = role.threads;
    dispersion_ = boost::math::quantile(boost::math::chi_squared(threads - 1), 1 - options.epsilon) / threads;
    extremes_ = boost::math::quantile(boost::math::normal(), 1 - options.epsilon / (2 * threads));
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
  for (ContextId x = 1; x < contexts.size(); ++x) {
    if (is_wait(contexts, x) || role.time[x].sum == 0) continue;
    // Without lines, all calls of a scope fall into one call site, and blaming "some call" helps nobody.
    // Nor does blaming the library that an OpenMP region or a thread runs in: the code around or below it can
    // be changed.
    const bool passed_by =
        contexts[x].kind == database::ContextKind::call || (contexts[x].flags & database::kRunTime) != 0;
    if (options.mode == Mode::noise_aware && passed_by) continue;
    balance[x] = test(x);
  }
  balance[0] = Balance::balanced;
  return balance;
}

}  // namespace culprit::blame
