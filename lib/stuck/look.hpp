#pragma once

#include "stuck/picture.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace culprit::stuck {

/// Looks at the job whose measurement directory this is, once or several times. Only reads files, and asks
/// the system about processes of this host.
class Job {
 public:
  explicit Job(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// The job as it is now. `with_paths`: also where threads are, which takes longer at the first time. From
  /// the second look on, a process of another host lives if it has written a heartbeat since the first one.
  /// Throws std::runtime_error, what() as `why (what to do)`, where it is no measurement directory.
  Picture look(bool with_paths);

  /// From now on such a process lives if it has written a heartbeat since the last look.
  void compare_with_last_look() { heartbeats_ = newest_; }

  /// Files that the last look could not read: `path: why`.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::filesystem::path directory_;
  std::map<std::string, std::uint64_t> heartbeats_;  ///< to compare with: of the first look, by path
  std::map<std::string, std::uint64_t> newest_;      ///< of the last one
  std::vector<std::string> problems_;
};

}  // namespace culprit::stuck
