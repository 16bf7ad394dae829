#pragma once

#include "measurement/checksum.hpp"
#include "measurement/limits.hpp"
#include "measurement/measurement.hpp"
#include "measurement/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

// What every trace that the reader returns keeps. Shared by the unit tests and the fuzzer.
namespace validity {

namespace trace = culprit::measurement::trace;

inline std::string invalid(const trace::ProcessTrace& trace, const trace::Record& record,
                           std::uint64_t before) {
  if (record.exit_ns < before) return "order";
  if (record.enter_ns > record.exit_ns) return "duration";
  if (record.wait >= culprit::measurement::kWaitKinds) return "wait";
  if (record.operations.size() > trace::kMaxOperations) return "operations";
  if (record.kind != trace::RecordKind::call && !record.operations.empty()) return "sample";
  if (record.event >= culprit::measurement::kMaxEvents) return "event";
  for (const trace::Operation& operation : record.operations) {
    if (static_cast<int>(operation.kind) >= trace::kOperationKinds) return "operation kind";
    for (const trace::Context context : {operation.context, operation.group, operation.made}) {
      if (context != trace::kNoContext && context >= trace.definitions().size()) return "context";
    }
  }
  return {};
}

/// Why a trace is not valid; empty if it is. Throws MeasurementError where the reader refuses it.
inline std::string invalid_trace(const std::filesystem::path& path) {
  const trace::ProcessTrace trace(path);
  for (std::size_t i = 0; i < trace.definitions().size(); ++i) {
    const auto parent = trace.definitions()[i].parent;
    if (parent != trace::kNoContext && parent >= i) return "parent";
  }
  const std::vector<std::uint32_t> units = {10, 11, 12, 13, 14, 17};
  for (const auto& thread : trace.threads()) {
    for (const bool mapped : {false, true}) {
      trace::ThreadRecords records(
          trace, thread, mapped ? std::span<const std::uint32_t>(units) : std::span<const std::uint32_t>());
      trace::Record record;
      std::uint64_t before = 0;
      while (records.next(record)) {
        if (std::string what = invalid(trace, record, before); !what.empty()) return what;
        if (mapped && record.node >= units.size()) return "node";
        before = record.exit_ns;
      }
    }
  }
  return {};
}

/// Makes the checksums of a trace right again that has no index.
inline void mend_trace(std::vector<char>& bytes) {
  trace::Header header{};
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.checksum = XXH64(&header, offsetof(trace::Header, checksum), 0);
  std::memcpy(bytes.data(), &header, sizeof header);
  for (std::size_t slot = trace::kSlot; slot + sizeof(trace::BlockHeader) <= bytes.size();
       slot += trace::kSlot) {
    trace::BlockHeader block{};
    std::memcpy(&block, bytes.data() + slot, sizeof block);
    if (block.magic != trace::kBlockMagic) continue;
    const std::size_t left = bytes.size() - slot - sizeof block;
    if (block.used <= left) block.checksum = XXH64(bytes.data() + slot + sizeof block, block.used, 0);
    block.header_checksum = XXH64(&block, offsetof(trace::BlockHeader, header_checksum), 0);
    std::memcpy(bytes.data() + slot, &block, sizeof block);
  }
}

}  // namespace validity
