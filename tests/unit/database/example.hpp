#pragma once

#include "database/database.hpp"
#include "database/tile.hpp"
#include "example_tree.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

namespace culprit::database {

/// An experiment with its per-thread values, as merge would hand it to the writer.
struct Example {
  Experiment experiment;
  std::vector<std::vector<Value>> profiles;  ///< by location: exclusive values of the statement contexts
  std::vector<std::vector<Value>> contexts;  ///< by context: inclusive values
};

/// A small realistic run: 8 ranks of a conjugate-gradient solver in which `spmv` takes 41 % longer on ranks 3
/// and 7, so that the others wait in MPI_Allreduce; 4 OpenMP workers; loops, inlined procedures, direct and
/// mutual recursion, a partial unwind, a stripped module, preemption on rank 5 (wall time without CPU time)
/// and one source text. Balance, blame and suspects are computed by lib/blame.
Example make_example();

/// The parent of every context.
std::vector<ContextId> parents_of(const Experiment& experiment);

/// The example's values in tiles of `per_tile` locations each.
std::vector<Tile> tiles_of(const Example& example, std::uint32_t per_tile);

/// Writes an example (on one rank).
void write_example(const Example& example, const std::filesystem::path& path);

/// Something in all that traces show, of that number of locations and of contexts (two at least).
TraceAnalyses example_trace(std::uint32_t locations, std::uint32_t contexts);

/// What is known of two locations' machine, and what is said of it. The example of make_example() has the
/// first only.
Machine example_machine();

/// The example's metrics by number.
enum ExampleMetric : std::uint32_t {
  kRealtime,
  kCpu,
  kSamples,
  kIdleness,
  kCommunication,
  kImbalance,
  kExampleMetrics
};

/// Fills balance, blame and suspects from the values and summaries.
void fill_blame(Example& example);

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
