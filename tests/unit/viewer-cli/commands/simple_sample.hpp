#pragma once

#include "viewer-cli/run.hpp"
#include "views/sample_experiment.hpp"

#include <cstdint>
#include <string>

namespace culprit::viewer::testing {

/// A program of one procedure that works, and in MPI ranks then waits in a barrier.
struct SimpleSample {
  /// Ranks but the first live `shorter` times as short.
  SimpleSample(std::uint32_t ranks, std::uint64_t work_s, std::uint64_t wait_s, bool mpi,
               std::uint64_t shorter = 1)
      : sample({"REALTIME", "idleness", "CPU"}) {
    const std::uint32_t role = sample.add_role("main");
    const std::uint8_t wait = database::kFrontier | database::kInWait;
    const database::ContextId program =
        sample.add(0, {database::ContextKind::root, "<program root>", "", 0, ""});
    main = sample.add(program, {database::ContextKind::procedure, "main", "a.c", 3});
    const database::ContextId line = sample.add(main, {database::ContextKind::statement, "", "a.c", 5});
    const database::ContextId barrier =
        sample.add(main, {database::ContextKind::procedure, "MPI_Barrier", "", 0, "libmpi.so", wait});
    const database::ContextId inside =
        sample.add(barrier, {database::ContextKind::statement, "", "", 0, "libmpi.so", database::kInWait});
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      sample.add_location(mpi ? static_cast<std::int32_t>(rank) : -1, 0, role);
      const std::uint64_t second = rank == 0 ? kSecond : kSecond / shorter;
      sample.set(line, 0, rank, work_s * second);
      sample.set(line, 2, rank, work_s * second);
      sample.set(inside, 0, rank, wait_s * second);
      sample.set(inside, 1, rank, wait_s * second);
    }
    sample.finish();
    sample.build().quality.samples = 1000;
    sample.build().run.world_size = sample.experiment().run.ranks;
    if (wait_s > 0) sample.build().blame[0] = {{0, ranks * wait_s * kSecond, 0, 0}};
  }

  views::testing::SampleExperiment sample;
  database::ContextId main = 0;
};

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace culprit::viewer::testing
