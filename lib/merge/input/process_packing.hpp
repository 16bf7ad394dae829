#pragma once

#include "database/encoding.hpp"
#include "merge/input/process_summary.hpp"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace culprit::merge {

/// Summaries as bytes: some 40 and what distinguishes a path from the one before it. Each begins with its
/// size.
class ProcessPacker {
 public:
  void add(const ProcessSummary& process, database::Encoder& into);
  /// The next summary is unpacked without those before it.
  void begin() { path_.clear(); }

  [[nodiscard]] const SharedByProcesses& shared() const { return shared_; }

 private:
  std::uint64_t number(const std::shared_ptr<const Launch>& launch);
  std::uint64_t number(const std::shared_ptr<const cct::ModuleKey>& module);

  SharedByProcesses shared_;
  std::unordered_map<const void*, std::uint64_t> numbers_;
  std::string path_;  ///< of the summary before
  database::Encoder packed_;
};

/// Bytes of the size that a packed summary begins with.
inline constexpr std::size_t kPackedSize = sizeof(std::uint32_t);

/// The reverse of ProcessPacker::add, but for the size: `process` is the one before it, or a new one where
/// the packer began. Throws database::Malformed.
void unpack(database::ByteSpan packed, const SharedByProcesses& shared, ProcessSummary& process);

}  // namespace culprit::merge
