#pragma once

#include "stacks/observation.hpp"

#include <string>
#include <vector>

// Observations made by hand.
namespace culprit::stacks::testing {

inline Frame frame(const std::string& name, std::uint32_t line = 0, const std::string& module = "app") {
  return {.name = name,
          .file = line == 0 ? "" : "/src/app.c",
          .line = line,
          .module = module,
          .inlined = false,
          .mpi = name.starts_with("MPI_")};
}

inline Location rank(std::int32_t number, std::uint32_t thread = 0) {
  return {.rank = number,
          .thread = thread,
          .role = thread == 0 ? "main" : "worker",
          .host = "node",
          .pid = 100 + static_cast<std::uint64_t>(number)};
}

inline Location process(std::uint64_t pid, std::uint32_t thread = 0) {
  return {.rank = -1, .thread = thread, .role = thread == 0 ? "main" : "worker", .host = "node", .pid = pid};
}

/// A thread that all looks show in these places.
inline void add(Observation& observation, const Location& location,
                const std::vector<std::vector<Frame>>& places) {
  observation.locations.push_back(location);
  std::vector<std::size_t> seen;
  for (const std::vector<Frame>& place : places) {
    seen.push_back(observation.paths.size());
    observation.paths.push_back(
        {.root = location.thread == 0 ? Path::Root::program : Path::Root::thread, .frames = place});
  }
  observation.looks = places.size();
  observation.seen.push_back(std::move(seen));
}

inline std::vector<Frame> in_allreduce(std::uint32_t inside = 7) {
  return {frame("_start"), frame("main", 50), frame("solve", 20),
          frame("MPI_Allreduce", inside, "libmpi.so.40"),
          frame(inside % 2 == 0 ? "opal_progress" : "poll", inside, "libopen-pal.so.40")};
}

inline std::vector<Frame> in_read() {
  return {frame("_start"), frame("main", 40), frame("load_mesh", 31), frame("read", 26, "libc.so.6")};
}

}  // namespace culprit::stacks::testing
