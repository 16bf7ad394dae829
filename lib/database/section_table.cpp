#include "database/section_table.hpp"

#include "database/encoding.hpp"
#include "database/sections.hpp"

#include <bitset>
#include <stdexcept>

namespace culprit::database {
namespace {

using format::Section;

struct Header {
  std::uint32_t sections = 0;
  std::uint64_t table = 0, table_checksum = 0;
};

Header check_header(ByteSpan file) {
  Decoder from(file, "the file");
  const ByteSpan magic = from.take(std::min<std::size_t>(sizeof format::kMagic, file.size()));
  if (magic.size() < sizeof format::kMagic || std::memcmp(magic.data(), format::kMagic, magic.size()) != 0) {
    throw Malformed("not a Culprit database (name a file that prof-mpi wrote)");
  }
  if (file.size() < format::kHeaderSize) from.fail("ends too early (merge again)");
  const auto version = from.get<std::uint32_t>();
  if (version != format::kVersion) {
    throw Malformed("database format " + std::to_string(version) + ", this version reads " +
                    std::to_string(format::kVersion) + " (merge again with this version)");
  }
  Header header;
  header.sections = from.get<std::uint32_t>();
  const auto size = from.get<std::uint64_t>();
  header.table = from.get<std::uint64_t>();
  header.table_checksum = from.get<std::uint64_t>();
  from.take(format::kHeaderHashed - 40);
  if (checksum(file.first(format::kHeaderHashed)) != from.get<std::uint64_t>()) {
    from.fail("is damaged: its header does not match its checksum (merge again)");
  }
  if (size > file.size()) from.fail("ends too early (merge again)");
  if (size < file.size()) from.fail("is longer than its header says (merge again)");
  return header;
}

ByteSpan find_table(ByteSpan file, const Header& header) {
  if (header.sections > format::kMaxSections || header.table > file.size() ||
      header.sections * format::kTableEntrySize > file.size() - header.table) {
    throw Malformed("the table of sections lies outside the file (merge again)");
  }
  const ByteSpan table = file.subspan(header.table, header.sections * format::kTableEntrySize);
  if (checksum(table) != header.table_checksum) {
    throw Malformed("the table of sections is damaged: it does not match its checksum (merge again)");
  }
  return table;
}

[[noreturn]] void fail(std::uint32_t number, const char* why) {
  throw Malformed("section " + std::to_string(number) + " " + why + " (merge again)");
}

constexpr std::uint64_t padding(std::uint64_t offset) {
  return (format::kAlignment - offset % format::kAlignment) % format::kAlignment;
}

/// Throws Malformed.
CheckedSections find(ByteSpan file, const std::filesystem::path& path) {
  const Header header = check_header(file);
  Decoder table(find_table(file, header), "the table of sections");
  CheckedSections sections;
  std::bitset<format::kLastSection> seen;
  while (table.remaining() > 0) {
    const auto number = table.get<std::uint32_t>();
    const auto stride = table.get<std::uint32_t>();
    const auto offset = table.get<std::uint64_t>();
    const auto size = table.get<std::uint64_t>();
    const auto sum = table.get<std::uint64_t>();
    if (!format::is_known(number)) continue;
    const auto section = static_cast<Section>(number);
    if (seen[slot(section)]) fail(number, "appears twice");
    seen.set(slot(section));
    if (stride != format::stride(section) || size % stride != 0)
      fail(number, "has elements of the wrong size");
    if (offset % format::kAlignment != 0) fail(number, "is misplaced");
    sections[slot(section)] =
        CheckedBytes(file, offset, size, sum, path, "section " + std::to_string(number));
  }
  for (std::uint32_t number = 1; number < format::kFirstOptional; ++number) {
    if (format::is_known(number) && !seen[number - 1]) fail(number, "is missing");
  }
  return sections;
}

}  // namespace

CheckedSections find_sections(ByteSpan file, const std::filesystem::path& path) {
  try {
    return find(file, path);
  } catch (const Malformed& error) {
    throw DatabaseError(path, error.what());
  }
}

Bytes SectionTable::begin(Section section) {
  Encoder into;
  into.pad(padding(end_));
  end_ += into.size();
  open_ = {.section = section, .offset = end_, .size = 0, .padding = 0, .sums = {}};
  return into.take();
}

void SectionTable::extend(ByteSpan piece) {
  if (open_.size % format::kChunk != 0) throw std::logic_error("a piece of a section behind its last");
  std::uint64_t unused = 0;
  const Bytes behind = checksums_of(piece, unused);
  const std::uint64_t chunks = (piece.size() + format::kChunk - 1) / format::kChunk;
  const std::uint64_t sums = chunks * sizeof(std::uint64_t);
  open_.padding = behind.size() - sums;
  open_.sums.append(ByteSpan(behind).last(sums));
  open_.size += piece.size();
  end_ += piece.size();
}

Bytes SectionTable::end() {
  Encoder into;
  into.pad(open_.padding);
  into.append(open_.sums.bytes());
  entries_.put(static_cast<std::uint32_t>(open_.section));
  entries_.put(static_cast<std::uint32_t>(format::stride(open_.section)));
  entries_.put(open_.offset);
  entries_.put(open_.size);
  entries_.put(checksum(open_.sums.bytes()));
  ++sections_;
  end_ += into.size();
  return into.take();
}

Bytes SectionTable::add(Section section, ByteSpan bytes) {
  Encoder into;
  into.append(begin(section));
  extend(bytes);
  into.append(bytes);
  into.append(end());
  return into.take();
}

Bytes SectionTable::table() {
  Encoder into;
  into.pad(padding(end_));
  table_ = end_ + into.size();
  table_sum_ = checksum(entries_.bytes());
  into.append(entries_.bytes());
  end_ += into.size();
  return into.take();
}

Bytes SectionTable::header() const {
  Encoder header;
  header.append(std::as_bytes(std::span(format::kMagic)));
  header.put(format::kVersion);
  header.put(sections_);
  header.put(end_);
  header.put(table_);
  header.put(table_sum_);
  header.pad(format::kHeaderHashed - header.size());
  header.put(checksum(header.bytes()));
  return header.take();
}

}  // namespace culprit::database
