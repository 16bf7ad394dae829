#pragma once

#include "exchange/communicator.hpp"
#include "merge/process_summary.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace culprit::merge {

/// Which measurement files are merged, and by whom.
struct Division {
  std::vector<ProcessSummary> processes;  ///< rank 0: all, in canonical order; others: empty
  std::vector<std::string> mine;          ///< this rank's files: a contiguous range of that order
  std::uint64_t total = 0;                ///< files of all ranks
  std::uint64_t unreadable = 0;           ///< rank 0: files left out as unreadable
  std::vector<std::string> problems;      ///< rank 0: one line per file that is left out
};

/// Collective: finds the measurement files below `directory`, reads their summaries in parallel, leaves out
/// what is unreadable or of another run, and gives every rank a contiguous range of the canonical order with
/// about the same number of bytes. Throws std::runtime_error on every rank where nothing is left.
Division divide(exchange::Communicator& comm, const std::filesystem::path& directory);

/// The first index of each of `parts` contiguous ranges of `weights` with about the same sum, and
/// weights.size().
std::vector<std::size_t> even_ranges(const std::vector<std::uint64_t>& weights, std::size_t parts);

/// The run that most of these processes belong to (ranks decide where there are any; ties: the smaller id).
std::string prevailing_run(const std::vector<ProcessSummary>& processes);

}  // namespace culprit::merge
