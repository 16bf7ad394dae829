#pragma once

#include "measurement/checksum.hpp"
#include "measurement/header_sum.hpp"
#include "measurement/measurement.hpp"
#include "measurement/record_checksums.hpp"
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
namespace layout = culprit::measurement::layout;

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
      if (cell.stretch.is_gap() && cell.stretch.after() >= thread.nodes.size()) return "stretch";
    }
    for (const auto& epoch : thread.epochs) {
      if (epoch.node >= thread.nodes.size()) return "epoch's node";
      const culprit::measurement::Stretch stretch{epoch.size_class};
      if (is_stretch(epoch.kind) && stretch.is_gap() && stretch.after() >= thread.nodes.size())
        return "epoch's stretch";
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

template <typename T>
T load(const std::vector<char>& bytes, std::size_t at) {
  T object{};
  if (at + sizeof object <= bytes.size()) std::memcpy(&object, bytes.data() + at, sizeof object);
  return object;
}
template <typename T>
void store(std::vector<char>& bytes, std::size_t at, const T& object) {
  if (at + sizeof object <= bytes.size()) std::memcpy(bytes.data() + at, &object, sizeof object);
}

/// Of the modules' records that the block at `block` refers to.
inline void mend_modules(std::vector<char>& bytes, std::size_t block) {
  for (std::size_t i = 0; i < culprit::measurement::kMaxModules; ++i) {
    const auto unit =
        load<std::uint32_t>(bytes, block + layout::kSlotUnit * layout::kUnit + i * sizeof(std::uint32_t));
    const std::size_t at = block + std::size_t{unit} * layout::kUnit;
    auto record = load<layout::ModuleRecord>(bytes, at);
    const std::size_t text = std::size_t{record.build_id_size} + record.path_size;
    if (unit == 0 || at + sizeof record + text > bytes.size()) continue;
    record.checksum = layout::module_checksum(
        record, reinterpret_cast<const std::byte*>(bytes.data() + at + sizeof record));
    if (record.stated != 0) record.stated = layout::stat_checksum(record);
    store(bytes, at, record);
  }
}

/// The same for a live file. Of its threads it says that their sums are not known.
inline void mend_live(std::vector<char>& bytes) {
  auto header = load<layout::Header>(bytes, 0);
  header.checksum.changes_done = header.checksum.changes_begun;
  header.checksum.sum = layout::header_sum(header);
  for (layout::Note& note : header.note) note.checksum = layout::note_checksum(note);
  store(bytes, 0, header);
  for (std::size_t at = layout::kGranule; at < bytes.size(); at += layout::kGranule) {
    auto block = load<layout::BlockHeader>(bytes, at);
    if (block.magic != layout::kBlockMagic) {
      store(bytes, at, std::uint32_t{0});
      continue;
    }
    block.checksum = layout::block_checksum(block);
    store(bytes, at, block);
    if (block.type == static_cast<std::uint32_t>(layout::BlockType::modules)) mend_modules(bytes, at);
    const std::size_t place = at + layout::kThreadHeaderUnit * layout::kUnit;
    auto head = load<layout::ThreadHeader>(bytes, place);
    head.flags &= ~layout::kFlagSummed;
    if (block.type == static_cast<std::uint32_t>(layout::BlockType::thread)) store(bytes, place, head);
  }
}

}  // namespace validity
