#pragma once

#include "command_line.hpp"
#include "merge/merge.hpp"

#include <exception>
#include <string>

namespace culprit::prof_mpi {

inline constexpr int kFailure = 1;
inline constexpr int kDegraded = 3;

/// The exit status of a merge that ended.
int status_of(const merge::Outcome& outcome);

/// What shared the work.
struct Workers {
  int count = 1;
  const char* are = "thread";
};

/// Reports how it went: the summary on stdout, problems on stderr.
void print_outcome(const merge::Outcome& outcome, const CommandLine& line, const Workers& workers);

/// One line for what was thrown, without the tool's name: `what: file: why (what to do)`.
std::string cause_of(const std::exception_ptr& error, const CommandLine& line);

/// Prints `prof-mpi: cause` on stderr.
void print_failure(const std::string& cause);

}  // namespace culprit::prof_mpi
