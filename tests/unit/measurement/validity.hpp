#pragma once

#include "measurement/checksum.hpp"
#include "measurement/measurement.hpp"
#include "measurement/sealed_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

// What every measurement that the reader returns keeps, and how to let damage reach behind the checksums.
// Shared by the unit tests and the fuzzer.
namespace validity {

namespace cct = culprit::cct;
namespace sealed = culprit::measurement::sealed;

inline std::string invalid_node(const culprit::measurement::ThreadProfile& thread, cct::NodeId i,
                                std::size_t modules) {
  const auto& node = thread.nodes[i];
  if ((i == 0) != (node.parent == cct::kNoNode)) return "root";
  if ((i == 0) != (node.frame.kind == cct::FrameKind::root)) return "root's kind";
  if (static_cast<int>(node.frame.kind) >= cct::kFrameKinds) return "kind";
  if (node.frame.module != cct::kNoModule && node.frame.module >= modules) return "module";
  if (thread.cell[i] != cct::kNoNode && thread.cell[i] >= thread.cells.size()) return "cell index";
  if (i == 0) return {};
  cct::NodeId at = i - 1;  // pre-order: the parent is the node before or one of its ancestors
  while (at != cct::kNoNode && at != node.parent) at = thread.nodes[at].parent;
  return at == cct::kNoNode ? "pre-order" : "";
}

/// Why a measurement is not valid; empty if it is.
inline std::string invalid(const culprit::measurement::Measurement& m) {
  const std::size_t events = m.process.events.size() - (m.process.has_realtime ? 1 : 0);
  for (const auto& thread : m.threads) {
    const auto start = thread.start_routine.module;
    if (start != cct::kNoModule && start >= m.modules.size()) return "start routine's module";
    if (thread.cell.size() != thread.nodes.size()) return "cell index size";
    if (!thread.units.empty() && thread.units.size() != thread.nodes.size()) return "units";
    if (thread.events.size() != thread.cells.size() * events) return "event values";
    for (const auto& cell : thread.cells) {
      if (static_cast<int>(cell.mark) >= culprit::measurement::kWaitKinds) return "wait mark";
    }
    for (cct::NodeId i = 0; i < thread.nodes.size(); ++i) {
      if (auto why = invalid_node(thread, i, m.modules.size()); !why.empty()) return why;
    }
  }
  return {};
}

/// Makes the checksums of a sealed file right again; does what it can where the file is damaged beyond that.
inline void mend(std::vector<char>& bytes) {
  sealed::Header header{};
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::uint64_t table = std::uint64_t{header.section_count} * header.entry_size;
  if (header.header_size <= bytes.size() && table <= bytes.size() - header.header_size &&
      header.entry_size >= sizeof(sealed::SectionEntry)) {
    for (std::uint32_t i = 0; i < header.section_count; ++i) {
      sealed::SectionEntry entry{};
      char* at = bytes.data() + header.header_size + std::size_t{i} * header.entry_size;
      std::memcpy(&entry, at, sizeof entry);
      if (entry.offset > bytes.size() || entry.size > bytes.size() - entry.offset) continue;
      entry.checksum = XXH64(bytes.data() + entry.offset, entry.size, 0);
      std::memcpy(at, &entry, sizeof entry);
    }
    header.table_checksum = XXH64(bytes.data() + header.header_size, table, 0);
  }
  header.header_checksum = XXH64(&header, offsetof(sealed::Header, header_checksum), 0);
  std::memcpy(bytes.data(), &header, sizeof header);
}

}  // namespace validity
