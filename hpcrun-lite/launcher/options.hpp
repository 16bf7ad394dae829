#pragma once

#include <optional>
#include <string>
#include <vector>

namespace culprit::launcher {

/// What the command line and its twins in the environment ask for.
struct Options {
  std::string events;  ///< comma-separated, checked
  std::string output;  ///< empty: the default name
  std::string ranks;   ///< empty: all; checked
  bool delay = false;
  bool files = false;
  bool trace = false;
  std::string trace_limit;          ///< bytes, checked; empty without a trace
  std::string trace_threads_above;  ///< microseconds, checked; empty: as usual, or without a trace
  bool quiet = false;
  bool verbose = false;
  std::vector<std::string> program;  ///< the program and its arguments
};

/// Reads the command line. Nothing where an option such as --help was answered on standard output. Throws
/// Failure on wrong usage.
std::optional<Options> read_options(int argc, char** argv);

}  // namespace culprit::launcher
