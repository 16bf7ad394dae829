#pragma once

#include "measurement/measurement.hpp"
#include "measurement/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

// Time lines for many ranks out of those of a small traced run, for benchmarks.
namespace culprit::bench {

/// The time lines of a run, whose ranks are copied side by side as one world, each copy's messages among
/// themselves, and repeated one after the other: what lies between the last communicator or window that was
/// made and MPI_Finalize. It must complete there. Only main threads' samples and calls are taken.
class TimeLines {
 public:
  /// Of the ranks of a run, in their order. Throws MeasurementError; std::runtime_error where a rank has no
  /// trace, MPI_Init or MPI_Finalize.
  TimeLines(const std::vector<measurement::Measurement>& ranks,
            const std::vector<std::filesystem::path>& paths);

  /// How often the run is repeated for so many calls per rank, and by how much that makes it longer.
  [[nodiscard]] std::size_t repetitions(std::size_t calls) const;
  [[nodiscard]] std::uint64_t longer_ns(std::size_t repetitions) const {
    return (repetitions - 1) * period_ns_;
  }

  /// Writes the trace of `rank` of `ranks` in all; `process` is its process, whose tree is that of the run's
  /// rank `rank` modulo the size of the run. Throws std::system_error.
  void write(const std::filesystem::path& path, const measurement::ProcessInfo& process, std::size_t ranks,
             std::size_t repetitions) const;

 private:
  using Record = measurement::trace::Record;
  struct Line {
    std::vector<measurement::trace::Definition> definitions;
    std::vector<Record> before, repeated, behind;
    std::uint64_t begin_ns = 0, end_ns = 0;  ///< of what is repeated
  };
  static Line read(const measurement::Measurement& measurement, const std::filesystem::path& path);

  std::vector<Line> lines_;
  std::uint64_t period_ns_ = 0;
  std::size_t calls_ = 0;  ///< that are repeated, of the rank with least
};

}  // namespace culprit::bench
