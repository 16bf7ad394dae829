#pragma once

#include "database/database.hpp"
#include "database/tile.hpp"

#include <filesystem>
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

/// The example's values in tiles of so many locations.
std::vector<Tile> tiles_of(const Example& example, std::uint32_t per_tile);

/// Writes an example (on one rank).
void write_example(const Example& example, const std::filesystem::path& path);

/// Something in everything that traces tell, of so many locations and contexts (two at least).
TraceAnalyses example_trace(std::uint32_t locations, std::uint32_t contexts);

/// What is known of two locations' machine, and what is said of it. The example of make_example() has the
/// first only.
Machine example_machine();

}  // namespace culprit::database
