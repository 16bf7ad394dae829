#pragma once

#include "request/command_line.hpp"
#include "stacks/commands.hpp"
#include "stacks/job.hpp"
#include "stacks/observation.hpp"

#include <future>
#include <string>
#include <vector>

namespace culprit::viewer {

/// `stacks` on the other hosts of a job, started by the job's own launcher, some at a time, while this host
/// is looked at. Each is given up after half a minute.
class LooksElsewhere {
 public:
  LooksElsewhere(const stacks::Job& job, const Invocation& invocation);

  [[nodiscard]] bool any() const { return !hosts_.empty(); }
  /// Waits for all, and adds what they saw. Of a host that could not be asked `unseen` gets a line.
  void join(stacks::Observation& observation);

 private:
  struct Host {
    std::string name;
    stacks::Command command;
    std::string remedy;  ///< what to do where this fails
    stacks::Answer answer;
  };
  static void take(const Host& host, double limit_s, stacks::Observation& observation);

  std::vector<Host> hosts_;
  double limit_s_ = 0;
  std::future<void> done_;
};

}  // namespace culprit::viewer
