#pragma once

#include "cct/message.hpp"
#include "cct/tree.hpp"
#include "measurement/measurement.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace culprit::merge {

/// What merging knows of a thread before it reads its tree.
struct ThreadSummary {
  std::uint32_t ordinal = 0;
  std::uint64_t start_ns = 0, end_ns = 0;
  measurement::Quality quality;
  bool worker = false;          ///< not its process's main thread
  cct::ModuleKey start_module;  ///< of the routine that a worker was started with
  std::uint64_t start_offset = 0;
};

/// Where walks of the stack could not go by call-frame information.
struct ModuleFlaws {
  cct::ModuleKey module;
  std::uint64_t bridged = 0;  ///< measurement::Module's
  std::uint64_t partial = 0;
  bool no_unwind = false;
};

/// What merging knows of a process and its measurement file before it reads any tree.
struct ProcessSummary {
  std::string path;
  std::uint64_t bytes = 0;
  bool sealed = false;
  measurement::ProcessInfo process;
  cct::ModuleKey executable;
  std::vector<ModuleFlaws> flaws;      ///< of modules that have any
  std::vector<ThreadSummary> threads;  ///< by ordinal

  /// Whether it did not come to an end of its own.
  [[nodiscard]] bool cut_short() const { return !measurement::orderly(process.end); }
};

/// The order of locations: ranks by rank, then processes that are no rank by host and pid; a process that was
/// measured in several files (before and after exec) by its files' start.
bool canonically_before(const ProcessSummary& a, const ProcessSummary& b);

/// Reads the summary of one file. Throws measurement::MeasurementError.
ProcessSummary summarize(const std::string& path, std::uint64_t bytes);

void write(cct::MessageWriter& message, const ProcessSummary& summary);
ProcessSummary read_process_summary(cct::MessageReader& message);

void write(cct::MessageWriter& message, const cct::ModuleKey& key);
cct::ModuleKey read_module_key(cct::MessageReader& message);

}  // namespace culprit::merge
