#pragma once

#include "database/database.hpp"
#include "example_tree.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace culprit::database {

inline constexpr std::uint64_t kExamplePeriod = 5'000'000;

/// The example's threads and how long each spends where. Calls of work and rest give functions that must be
/// evaluated in the order of the program.
class Workload {
 public:
  using ByRank = std::function<double(std::int32_t rank)>;

  explicit Workload(const std::vector<Location>& locations)
      : locations_(locations), spent_(locations.size()) {}

  /// `seconds` on every thread of a role, ± 0.5 %, times `factor(rank)`, `on_cpu(rank)` of it on a CPU.
  SpentBy work(std::uint32_t role, double seconds, const ByRank& factor = {}, const ByRank& on_cpu = {});

  /// `share` of what is left until `seconds`: the wait in a collective. Must come after the work before it.
  SpentBy rest(std::uint32_t role, double seconds, double share);

 private:
  Spent take(std::uint32_t location, double seconds);

  const std::vector<Location>& locations_;
  std::vector<std::uint64_t> spent_;
  std::uint32_t place_ = 0;
};

/// 8 ranks on two nodes, the first 4 with one OpenMP worker each.
std::vector<Location> example_locations();

/// Builds the calling context tree of the example run.
void describe_example(ExampleTree& tree, Workload& load);

}  // namespace culprit::database
