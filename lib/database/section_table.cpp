#include "database/section_table.hpp"

#include <bitset>

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

}  // namespace

SectionSpans find_sections(ByteSpan file) {
  const Header header = check_header(file);
  Decoder table(find_table(file, header), "the table of sections");
  SectionSpans sections;
  std::bitset<format::kSections> seen;
  while (table.remaining() > 0) {
    const auto number = table.get<std::uint32_t>();
    const auto stride = table.get<std::uint32_t>();
    const auto offset = table.get<std::uint64_t>();
    const auto size = table.get<std::uint64_t>();
    const auto sum = table.get<std::uint64_t>();
    if (number == 0 || number > format::kSections) continue;
    const auto section = static_cast<Section>(number);
    if (seen[slot(section)]) fail(number, "appears twice");
    seen.set(slot(section));
    if (offset > file.size() || size > file.size() - offset) fail(number, "lies outside the file");
    if (stride != format::stride(section) || size % stride != 0)
      fail(number, "has elements of the wrong size");
    const ByteSpan bytes = file.subspan(offset, size);
    if (!format::self_checked(section) && checksum(bytes) != sum) fail(number, "does not match its checksum");
    sections[slot(section)] = bytes;
  }
  if (!seen.all()) throw Malformed("a section is missing (merge again)");
  return sections;
}

}  // namespace culprit::database
