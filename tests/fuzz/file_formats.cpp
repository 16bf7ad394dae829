#include "file_formats.hpp"

#include "database/format.hpp"
#include "repair.hpp"
#include "trace_validity.hpp"
#include "validity.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace fuzz {
namespace {

namespace layout = culprit::measurement::layout;
namespace sealed = culprit::measurement::sealed;
namespace trace = culprit::measurement::trace;
namespace format = culprit::database::format;
using validity::load;
using validity::store;

/// As much of it as there is.
Bytes slice(const Bytes& bytes, std::size_t at, std::size_t size) {
  const std::size_t from = std::min(at, bytes.size());
  const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(from);
  return {first, first + static_cast<std::ptrdiff_t>(std::min(size, bytes.size() - from))};
}

void append(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

template <typename T>
void append(Bytes& bytes, const T& object) {
  bytes.resize(bytes.size() + sizeof object);
  store(bytes, bytes.size() - sizeof object, object);
}

// A sealed measurement: the header with the table, and a part for each section.

constexpr std::uint32_t kMostSections = 64;

Parts split_sealed(const Bytes& bytes) {
  const auto header = load<sealed::Header>(bytes, 0);
  const std::size_t table = std::size_t{header.section_count} * sizeof(sealed::SectionEntry);
  if (bytes.size() < sizeof header || header.section_count > kMostSections ||
      header.header_size != sizeof header || header.entry_size != sizeof(sealed::SectionEntry))
    return {};
  Parts parts = {slice(bytes, 0, sizeof header + table)};
  for (std::uint32_t i = 0; i < header.section_count; ++i) {
    const auto entry = load<sealed::SectionEntry>(bytes, sizeof header + i * sizeof(sealed::SectionEntry));
    parts.push_back(slice(bytes, entry.offset, entry.size));
  }
  return parts;
}

Bytes join_sealed(Parts parts) {
  Bytes bytes = std::move(parts[0]);
  bytes.resize(sizeof(sealed::Header) + (parts.size() - 1) * sizeof(sealed::SectionEntry));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t at = sizeof(sealed::Header) + (i - 1) * sizeof(sealed::SectionEntry);
    auto entry = load<sealed::SectionEntry>(bytes, at);
    entry.offset = bytes.size();
    entry.size = parts[i].size();
    store(bytes, at, entry);
    append(bytes, parts[i]);
  }
  auto header = load<sealed::Header>(bytes, 0);
  std::memcpy(header.magic, sealed::kMagic, sizeof header.magic);
  header.version = sealed::kVersion;
  header.header_size = sizeof header;
  header.entry_size = sizeof(sealed::SectionEntry);
  header.section_count = static_cast<std::uint32_t>(parts.size() - 1);
  header.file_size = bytes.size();
  store(bytes, 0, header);
  validity::mend(bytes);
  return bytes;
}

// A live measurement. The parts have fixed sizes: what lies where does not shift when one of them changes.

constexpr std::size_t kHead = offsetof(layout::Header, names) + sizeof(layout::Names);
constexpr std::size_t kStart = 1536;    // of each granule
constexpr std::size_t kRecords = 2048;  // and of those where modules' records begin
constexpr std::size_t kPiece = kStart + kRecords;
constexpr std::size_t kRecordsAt = std::size_t{layout::kFirstModuleUnit} * layout::kUnit;
constexpr std::size_t kMostGranules = 12;

Parts split_live(const Bytes& bytes) {
  if (bytes.size() < kHead) return {};
  Parts parts = {slice(bytes, 0, kHead)};
  for (std::size_t at = kHead; at < bytes.size(); at += kPiece) parts.push_back(slice(bytes, at, kPiece));
  return parts;
}

Bytes join_live(Parts parts) {
  Bytes bytes;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].resize(i == 0 ? kHead : kPiece);
    append(bytes, parts[i]);
  }
  return bytes;
}

// A trace: its header and its blocks.

constexpr std::size_t kMostBlocks = 16;

Parts split_trace(const Bytes& bytes) {
  if (bytes.size() < sizeof(trace::Header)) return {};
  Parts parts = {slice(bytes, 0, sizeof(trace::Header))};
  for (std::size_t at = sizeof(trace::Header);
       bytes.size() - at >= sizeof(trace::BlockHeader) && parts.size() <= kMostBlocks;) {
    const auto block = load<trace::BlockHeader>(bytes, at);
    parts.push_back(slice(bytes, at, sizeof block + std::min(block.used, trace::kPayload)));
    at += parts.back().size();
  }
  return parts;
}

Bytes join_trace(Parts parts) {
  Bytes bytes;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t least = i == 0 ? sizeof(trace::Header) : sizeof(trace::BlockHeader);
    const std::size_t most = i == 0 ? least : trace::kSlot;
    parts[i].resize(std::clamp(parts[i].size(), least, most));
    if (i != 0) {
      auto block = load<trace::BlockHeader>(parts[i], 0);
      block.used = static_cast<std::uint32_t>(parts[i].size() - sizeof block);
      store(parts[i], 0, block);
    }
    append(bytes, parts[i]);
  }
  return bytes;
}

/// One entry for each block, as its header says.
void append_index(Bytes& file, std::size_t blocks, trace::Header& header) {
  header.index_entries = static_cast<std::uint32_t>(blocks);
  header.index_offset = file.size();
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto block = load<trace::BlockHeader>(file, (i + 1) * trace::kSlot);
    append(file, trace::IndexEntry{.stream = block.stream,
                                   .sequence = block.sequence,
                                   .used = block.used,
                                   .unused = 0,
                                   .base_ns = block.base_ns,
                                   .last_ns = block.last_ns});
  }
  header.index_checksum = XXH64(file.data() + header.index_offset,
                                file.size() - static_cast<std::size_t>(header.index_offset), 0);
}

// A database: what lies before the sections (header, tiles), the table, and a part for each section.

struct TableEntry {
  std::uint32_t number, element;
  std::uint64_t offset, size, checksum;
};
static_assert(sizeof(TableEntry) == format::kTableEntrySize);

constexpr std::size_t kCountAt = 12, kSizeAt = 16, kTableAt = 24;  // in the header

Parts split_database(const Bytes& bytes) {
  const auto count = load<std::uint32_t>(bytes, kCountAt);
  const auto table = load<std::uint64_t>(bytes, kTableAt);
  if (bytes.size() < format::kHeaderSize || count == 0 || count > kMostSections || table > bytes.size())
    return {};
  const auto first = load<TableEntry>(bytes, table).offset;
  Parts parts = {slice(bytes, 0, first), slice(bytes, table, count * sizeof(TableEntry))};
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto entry = load<TableEntry>(bytes, table + i * sizeof(TableEntry));
    parts.push_back(slice(bytes, entry.offset, entry.size));
  }
  return parts;
}

void align(Bytes& bytes) {
  bytes.resize((bytes.size() + format::kAlignment - 1) / format::kAlignment * format::kAlignment);
}

Bytes join_database(Parts parts) {
  Bytes bytes = std::move(parts[0]);
  Bytes table = std::move(parts[1]);
  const std::size_t count = parts.size() - 2;
  bytes.resize(std::max<std::size_t>(bytes.size(), format::kHeaderSize));
  table.resize(count * sizeof(TableEntry));
  for (std::size_t i = 0; i < count; ++i) {
    auto entry = load<TableEntry>(table, i * sizeof(TableEntry));
    Bytes& section = parts[i + 2];
    section.resize(section.size() / std::max(entry.element, 1U) * std::max(entry.element, 1U));
    align(bytes);
    entry.offset = bytes.size();
    entry.size = section.size();
    store(table, i * sizeof(TableEntry), entry);
    append(bytes, section);
    align(bytes);
    bytes.resize(bytes.size() + (section.size() + format::kChunk - 1) / format::kChunk * 8);
  }
  store(bytes, kCountAt, static_cast<std::uint32_t>(count));
  store(bytes, kTableAt, std::uint64_t{bytes.size()});
  append(bytes, table);
  store(bytes, kSizeAt, std::uint64_t{bytes.size()});
  const auto raw = std::as_bytes(std::span(bytes));
  std::vector<std::byte> file(raw.begin(), raw.end());
  culprit::database::repair_checksums(file);
  return bytes_of(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
}

}  // namespace

const Format kSealed = {.split = split_sealed, .join = join_sealed};
const Format kLive = {.split = split_live, .join = join_live};
const Format kTrace = {.split = split_trace, .join = join_trace};
const Format kDatabase = {.split = split_database, .join = join_database};

Bytes compact_live(const Bytes& file) {
  Bytes bytes = slice(file, 0, kHead);
  for (std::size_t at = layout::kGranule; at < file.size(); at += layout::kGranule) {
    append(bytes, slice(file, at, kStart));
    append(bytes, slice(file, at + kRecordsAt, kRecords));
  }
  return bytes;
}

Bytes expand_live(const Bytes& compact) {
  Bytes file = slice(compact, 0, kHead);
  file.resize(sizeof(layout::Header));
  auto header = load<layout::Header>(file, 0);
  std::memcpy(header.magic, layout::kLiveMagic, sizeof header.magic);
  header.version = layout::kLiveVersion;
  header.geometry.header_size = sizeof header;
  header.geometry.granule = layout::kGranule;
  header.geometry.unit = layout::kUnit;
  header.event_count = header.event_count % 4 + 1;
  header.geometry.cell_units =
      layout::cell_units(header.event_count - (header.flags & layout::kFlagRealtime));
  store(file, 0, header);
  for (std::size_t i = 0; kHead + i * kPiece < compact.size() && i < kMostGranules; ++i) {
    const Bytes piece = slice(compact, kHead + i * kPiece, kPiece);
    const std::size_t granule = file.size();
    file.resize(granule + layout::kGranule);
    std::ranges::copy(slice(piece, 0, kStart), file.begin() + static_cast<std::ptrdiff_t>(granule));
    std::ranges::copy(slice(piece, kStart, kRecords),
                      file.begin() + static_cast<std::ptrdiff_t>(granule + kRecordsAt));
  }
  validity::mend_live(file);
  return file;
}

Bytes compact_trace(const Bytes& file) {
  Bytes bytes = slice(file, 0, sizeof(trace::Header));
  for (std::size_t slot = trace::kSlot; slot < file.size(); slot += trace::kSlot) {
    const auto block = load<trace::BlockHeader>(file, slot);
    if (block.magic == trace::kBlockMagic)
      append(bytes, slice(file, slot, sizeof block + std::min(block.used, trace::kPayload)));
  }
  return bytes;
}

Bytes expand_trace(const Bytes& compact) {
  const Parts parts = split_trace(compact);
  if (parts.empty()) return compact;
  const std::size_t blocks = parts.size() - 1;
  Bytes file(blocks == 0 ? sizeof(trace::Header) : (blocks + 1) * trace::kSlot);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t slot = (i + 1) * trace::kSlot;
    std::ranges::copy(parts[i + 1], file.begin() + static_cast<std::ptrdiff_t>(slot));
    auto block = load<trace::BlockHeader>(file, slot);
    block.magic = trace::kBlockMagic;
    block.used = static_cast<std::uint32_t>(parts[i + 1].size() - sizeof block);
    store(file, slot, block);
  }
  auto header = load<trace::Header>(parts[0], 0);
  std::memcpy(header.magic, trace::kMagic, sizeof header.magic);
  header.version = trace::kVersion;
  header.header_size = sizeof header;
  header.slot = trace::kSlot;
  header.slots = static_cast<std::uint32_t>(blocks + 1);
  store(file, 0, header);
  validity::mend_trace(file);
  if (header.index_entries == 0) return file;
  append_index(file, blocks, header);
  header.checksum = XXH64(&header, offsetof(trace::Header, checksum), 0);
  store(file, 0, header);
  return file;
}

void claim(Bytes& compact, const culprit::measurement::ProcessInfo& process) {
  auto header = load<trace::Header>(compact, 0);
  header.pid = process.pid;
  header.start_ns = process.start_ns;
  header.start_realtime_ns = process.start_realtime_ns;
  header.key = process.key;
  store(compact, 0, header);
}

Bytes join_files(Parts files) {
  Bytes bytes;
  for (const Bytes& file : files) {
    append(bytes, static_cast<std::uint32_t>(file.size()));
    append(bytes, file);
  }
  return bytes;
}

Parts split_files(const Bytes& bytes, std::size_t count) {
  Parts files;
  for (std::size_t at = 0; files.size() < count && bytes.size() - at >= sizeof(std::uint32_t);) {
    const auto size = load<std::uint32_t>(bytes, at);
    files.push_back(slice(bytes, at + sizeof size, size));
    at += sizeof size + files.back().size();
  }
  return files.size() == count ? files : Parts{};
}

}  // namespace fuzz
