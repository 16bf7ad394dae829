#include "simulation.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::blame {
namespace {

/// One thread's sampler: walks along the thread's time and hits what runs at each of its ticks.
class Sampler {
 public:
  Sampler(const Simulation& simulation, std::uint32_t thread, RoleFixture& into, std::mt19937_64& random)
      : period_(simulation.period_s),
        jitter_(-simulation.period_jitter * period_, simulation.period_jitter * period_),
        thread_(thread),
        into_(into),
        random_(random) {
    next_ = std::uniform_real_distribution<>(0, period_)(random_);
  }

  void pass(database::ContextId leaf, double seconds, bool idle) {
    now_ += seconds;
    std::uint64_t samples = 0;
    for (; next_ < now_; next_ += period_ + jitter_(random_)) ++samples;
    if (samples == 0) return;
    const auto period_ns = static_cast<std::uint64_t>(std::llround(period_ * 1e9));
    into_.spend(leaf, thread_, samples * period_ns, idle, samples);
  }

 private:
  double period_;
  std::uniform_real_distribution<> jitter_;
  std::uint32_t thread_;
  RoleFixture& into_;
  std::mt19937_64& random_;
  double now_ = 0, next_ = 0;
};

}  // namespace

double Simulation::run(RoleFixture& into, std::mt19937_64& random) const {
  std::normal_distribution<> normal;
  std::vector<Sampler> samplers;
  std::vector<double> speed;
  for (std::uint32_t t = 0; t < threads; ++t) {
    samplers.emplace_back(*this, t, into, random);
    speed.push_back(1 + drift * normal(random));
  }
  double idle = 0;
  std::vector<double> work(threads);
  for (int i = 0; i < iterations; ++i) {
    for (std::uint32_t t = 0; t < threads; ++t) {
      work[t] = 0;
      for (const SimulatedPart& part : parts) {
        const double mean = part.seconds(t) * speed[t];
        const double seconds = std::max(0.0, mean * (1 + natural * normal(random)));
        samplers[t].pass(part.leaf, seconds, false);
        work[t] += seconds;
      }
    }
    const double last = std::ranges::max(work) + collective_s;
    for (std::uint32_t t = 0; t < threads; ++t) {
      samplers[t].pass(wait, last - work[t], true);
      idle += last - work[t];
    }
  }
  return idle;
}

}  // namespace culprit::blame
