#pragma once

#include "follow/machine.hpp"
#include "follow/summary.hpp"
#include "measurement/watch_live.hpp"
#include "stuck/look.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace culprit::follow {

/// Follows the run whose measurement directory this is. Only reads files, and asks the system about processes
/// of this host; no signal, no lock.
class Follower {
 public:
  explicit Follower(std::filesystem::path directory);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// Looks at all processes; what they did since the look before is the interval. Throws std::runtime_error,
  /// what() as `why (what to do)`, where the directory cannot be listed.
  void look();

  [[nodiscard]] bool has_processes() const { return !processes_.empty(); }
  /// Of processes that ended before the first look, too.
  [[nodiscard]] bool has_measurements() const { return has_processes() || !sealed_.empty(); }
  /// Whether the last look has an interval: there was a look before with processes.
  [[nodiscard]] bool has_interval() const { return looks_ > 1; }
  /// Whether a process runs, as far as the last look saw.
  [[nodiscard]] bool runs() const;
  /// Whether there are measurements, and none has been of a process that runs for a second: between a script
  /// and the program that it starts there may be none.
  [[nodiscard]] bool ended() const;
  /// Of the last look; its CPU time counts to that look's.
  [[nodiscard]] Summary summary();
  [[nodiscard]] const LiveTree& tree() const { return tree_; }
  /// CPU time of the last look without what attributing code took, which each function takes once, and
  /// without the question who lives, which is asked the more rarely the longer it takes.
  [[nodiscard]] double cost_s() const { return cost_s_; }
  /// Files that the last look could not read: `path: why`.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Process;

  void find_processes();
  void find(const std::filesystem::path& path);
  void look_at(Process& process);
  void place_contexts(Process& process);
  void add_gains(std::size_t number);
  void count_iterations();
  void ask_who_lives();
  void take_lives(const stuck::Picture& picture);
  [[nodiscard]] std::vector<ProcessLabel> labels() const;
  [[nodiscard]] std::string machine(const std::vector<ProcessLabel>& processes, bool lately) const;

  std::filesystem::path directory_;
  std::string host_;
  Code code_;
  LiveTree tree_;
  measurement::LiveWatch::Scratch scratch_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<std::string, Process*> by_path_;
  std::map<std::uint64_t, Process*> by_key_;
  std::set<std::string> sealed_;  ///< files of processes that had ended when they were found
  Sums interval_, whole_;
  Iterations iterations_;
  Standstill standstill_;
  const Process* counted_ = nullptr;  ///< whose iterations are
  std::size_t looks_ = 0;             ///< with processes
  std::size_t looks_summed_ = 0;      ///< the last one that standstill_ has seen
  double interval_s_ = 0;
  std::chrono::steady_clock::time_point last_look_, asked_;
  std::optional<std::chrono::steady_clock::time_point>
      stands_since_;  ///< the first look at which nothing ran
  std::unique_ptr<stuck::Job> job_;
  double question_s_ = 0;  ///< CPU time of the last question who lives
  bool nobody_lives_ = false;
  double cost_s_ = 0;
  double run_s_ = 0;  ///< since the first process started, as it was shown last
  std::vector<std::string> problems_;
};

}  // namespace culprit::follow
