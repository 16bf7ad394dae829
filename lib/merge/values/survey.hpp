#pragma once

#include "cct/canonical.hpp"
#include "exchange/communicator.hpp"
#include "merge/idleness/transfer_costs.hpp"
#include "merge/input/divide.hpp"
#include "merge/input/process_table.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace culprit::merge {

/// Called after each file of this rank.
using Step = std::function<void()>;

/// Which processes there are, and which contexts.
struct Survey {
  std::string run;                    ///< its id; the same on every rank
  ProcessTable processes;             ///< rank 0: all of the run; others: empty
  SamplingQuality quality;            ///< rank 0: of their threads
  std::uint64_t unreadable = 0;       ///< rank 0: files left out as unreadable
  std::vector<std::string> problems;  ///< rank 0: one line per file that is left out: file: why (what to do)
  cct::SharedTree shared;             ///< the union of all threads' trees: canonical, the same on every rank
  std::vector<std::uint8_t> valued;   ///< per node of it: whether any thread has values there
  Transfers transfers;                ///< the same on every rank
  bool counts_calls = false;          ///< wrappers counted MPI calls; the same on every rank
  bool counts_polls = false;          ///< likewise polls in vain
  bool counts_bytes = false;          ///< likewise what was read and written
};

/// Collective: first pass over the input, `files` on this rank, one at a time. Leaves out what is unreadable
/// or of another run. Throws FilesLost where a measurement or a rank is there twice. Every rank unites the
/// trees of its files; the unions are reduced along a binomial tree (structure only; docs/algorithms.md 1),
/// brought into canonical form and broadcast. `directory`: where summaries may go that do not fit into
/// memory.
Survey survey(exchange::Communicator& comm, const InputFiles& files, const std::filesystem::path& directory,
              const Step& step);

}  // namespace culprit::merge
