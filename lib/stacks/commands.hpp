#pragma once

#include <cstddef>
#include <string>
#include <vector>

// Commands of other programs, bounded in time.
namespace culprit::stacks {

struct Command {
  std::vector<std::string> words;        ///< the program's file, or a name that PATH finds, and its arguments
  std::vector<std::string> environment;  ///< NAME=VALUE each
};

struct Answer {
  std::string out, err;  ///< what it has written; of very much, the beginning
  int status = -1;    ///< its exit status, 128 and the signal that ended it, or -1: it could not be started
  bool late = false;  ///< it has not ended in time, and was ended
};

/// Runs a command without a terminal and without input. It is ended after `seconds`, and when this program
/// ends. Blocks; several threads may each run one.
Answer run_command(const Command& command, double seconds);

std::vector<std::string> own_environment();
std::string own_host();

}  // namespace culprit::stacks
