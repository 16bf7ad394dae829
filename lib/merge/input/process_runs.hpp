#pragma once

#include "exchange/communicator.hpp"
#include "merge/input/process_packing.hpp"
#include "merge/input/process_summary.hpp"
#include "storage/spilled_bytes.hpp"

#include <cstdint>
#include <vector>

namespace culprit::merge {

/// Packed summaries in runs that are each in canonical order.
struct PackedRuns {
  explicit PackedRuns(storage::Spill& spill) : bytes(spill) {}

  SharedByProcesses shared;
  storage::SpilledBytes bytes;
  std::vector<std::uint64_t> ends;  ///< of each run; it begins where the one before ends
};

/// Goes through packed summaries from one place to another, which must stay where they are.
class ProcessCursor {
 public:
  ProcessCursor(const storage::SpilledBytes& bytes, std::uint64_t begin, std::uint64_t end,
                const SharedByProcesses& shared)
      : bytes_(&bytes), shared_(&shared), at_(begin), end_(end) {}

  /// False: there are no more. Throws storage::SpillError.
  bool next();
  /// Until the next next().
  [[nodiscard]] const ProcessSummary& process() const { return process_; }

 private:
  const storage::SpilledBytes* bytes_;
  const SharedByProcesses* shared_;
  std::uint64_t at_, end_;
  database::Bytes packed_;
  ProcessSummary process_;
};

/// Collects summaries in whatever order they come. Of any number it keeps one run in memory.
class ProcessRuns {
 public:
  /// A run takes some hundred bytes of memory per process; and what is read from all at once, a block each.
  static constexpr std::size_t kRun = 4096;

  explicit ProcessRuns(storage::Spill& spill, std::size_t run = kRun) : runs_(spill), most_(run) {}

  void add(ProcessSummary&& process);
  /// All that were added.
  PackedRuns take();

 private:
  void pack();

  PackedRuns runs_;
  std::size_t most_;
  std::vector<ProcessSummary> pending_;
  ProcessPacker packer_;
};

/// Collective: rank 0 gets all ranks' runs, piece by piece into `spill`, and `summarizer` what they say of
/// the runs as a whole; the others get nothing.
std::vector<PackedRuns> gather(exchange::Communicator& comm, Summarizer& summarizer, PackedRuns&& mine,
                               storage::Spill& spill);

}  // namespace culprit::merge
