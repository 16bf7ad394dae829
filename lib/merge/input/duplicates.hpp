#pragma once

#include "merge/input/lost_files.hpp"
#include "merge/input/process_summary.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::merge {

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
