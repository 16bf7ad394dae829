#pragma once

#include "stacks/launchers.hpp"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace culprit::stacks {

/// A part of a job that runs on other hosts.
struct Elsewhere {
  Launcher launcher;
  std::vector<std::string> subject;  ///< what to look at there: `--job openmpi:1460994048`, or a directory
};

/// Leaves those launchers whose owner this is. Whoever starts commands of somebody else's choice must not be
/// root: `notes` say so of the others.
std::vector<Elsewhere> elsewhere_of(std::span<const Launcher> launchers, std::vector<std::string>& notes);

/// This user's launchers on this host that run something on one of these hosts, or below which one of these
/// processes runs.
std::vector<Launcher> launchers_of(const std::set<std::string>& hosts, std::span<const pid_t> processes);

}  // namespace culprit::stacks
