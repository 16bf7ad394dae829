#pragma once

#include "exchange/communicator.hpp"
#include "merge/input/process_summary.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace culprit::merge {

/// A file whose contents were used before it turned out that they must not be.
struct LostFile {
  std::string path;
  std::string why;  ///< path: why (what to do)
};

/// What was accumulated and written is worth nothing, since some files were lost meanwhile. To be merged
/// again without them.
struct FilesLost : std::runtime_error {
  explicit FilesLost(std::vector<LostFile> lost)
      : std::runtime_error("reading: " + lost.at(0).why), files(std::move(lost)) {}
  std::vector<LostFile> files;  ///< of all ranks
};

/// Collective: throws FilesLost on every rank where any has lost files.
void give_up_lost(exchange::Communicator& comm, const std::vector<LostFile>& lost);

/// Finds, among processes in canonical order, files that must not count beside another: copies of a
/// measurement, and processes that say that they are the same rank of the run at the same time. What a rank
/// forks may say so, and what it becomes by exec.
class Duplicates {
 public:
  void add(const ProcessSummary& process);

  /// The files to be left out.
  [[nodiscard]] const std::vector<LostFile>& found() const { return found_; }

 private:
  /// Of the file that counts, what the next one is compared with.
  struct Counted {
    std::string path, host;
    std::uint64_t pid = 0, start_ns = 0, key = 0;
    std::int64_t begin = 0, end = 0;  ///< CLOCK_REALTIME
    std::optional<std::int32_t> rank;
  };

  void leave_out(const ProcessSummary& process, const std::string& why);

  std::optional<Counted> last_;   ///< of any
  std::optional<Counted> owner_;  ///< of the rank's own processes the one that ended last
  std::vector<LostFile> found_;
};

}  // namespace culprit::merge
