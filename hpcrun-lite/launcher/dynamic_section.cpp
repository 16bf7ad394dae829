#include "launcher/dynamic_section.hpp"

#include "files/named_file.hpp"
#include "machine/machine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <elf.h>
#include <unistd.h>

namespace culprit::launcher {
namespace {

/// Far more than any program has. Without a bound, small files could take hours: each may name one string
/// anew.
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 16;
constexpr std::size_t kMostNeeded = 4096;

/// A program's file. Read rather than mapped: somebody may be building it.
class ProgramFile {
 public:
  explicit ProgramFile(const std::string& path) {
    std::error_code error;
    file_ = files::open_named(path, std::numeric_limits<std::uint64_t>::max(), error);
  }

  /// Copies a structure at `offset`; false outside the file.
  template <typename Value>
  bool get(std::uint64_t offset, Value& value) const {
    return read(offset, &value, sizeof value) == sizeof value;
  }
  /// A string that ends within the file, not far from its beginning; empty otherwise.
  [[nodiscard]] std::string text(std::uint64_t offset) const {
    std::array<char, 4096> bytes{};
    const std::size_t size = read(offset, bytes.data(), bytes.size());
    const std::size_t length = strnlen(bytes.data(), size);
    return length == size ? "" : std::string(bytes.data(), length);
  }

 private:
  /// How many bytes there are.
  std::size_t read(std::uint64_t offset, void* to, std::size_t size) const {
    if (!file_.good() || offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) return 0;
    const ssize_t got = pread(file_.get(), to, size, static_cast<off_t>(offset));
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }

  files::Descriptor file_;
};

std::vector<Elf64_Phdr> read_segments(const ProgramFile& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.get(header.e_phoff + std::uint64_t{i} * sizeof segment, segment)) break;
    segments.push_back(segment);
  }
  return segments;
}

/// The file offset of a virtual address; past any file where no segment holds it.
std::uint64_t offset_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return ~std::uint64_t{0};
}

std::vector<std::string> read_needed(const ProgramFile& file, const std::vector<Elf64_Phdr>& segments,
                                     const Elf64_Phdr& dynamic) {
  std::vector<std::uint64_t> names;
  std::uint64_t table = 0;
  Elf64_Dyn entry;
  const std::uint64_t entries = std::min(dynamic.p_filesz / sizeof entry, kMostEntries);
  for (std::uint64_t i = 0; i < entries; ++i) {
    if (!file.get(dynamic.p_offset + i * sizeof entry, entry) || entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED && names.size() < kMostNeeded) names.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) table = entry.d_un.d_ptr;
  }
  const std::uint64_t strings = offset_of(segments, table);
  std::vector<std::string> needed;
  for (const std::uint64_t name : names) {
    if (strings <= ~std::uint64_t{0} - name) needed.push_back(file.text(strings + name));
  }
  return needed;
}

}  // namespace

std::optional<DynamicSection> read_dynamic_section(const std::string& path) {
  const ProgramFile file(path);
  unsigned char identification[EI_NIDENT];
  if (!file.get(0, identification) || std::memcmp(identification, ELFMAG, SELFMAG) != 0) return std::nullopt;
  DynamicSection section;
  Elf64_Ehdr header;
  if (identification[EI_CLASS] != ELFCLASS64) {
    section.machine = Machine::other;
    return section;
  }
  if (!file.get(0, header) || header.e_phentsize != sizeof(Elf64_Phdr)) return section;
  section.machine = header.e_machine == machine::kElfMachine ? Machine::this_one : Machine::other;
  const std::vector<Elf64_Phdr> segments = read_segments(file, header);
  const auto first = [&segments](std::uint32_t type) {
    return std::ranges::find(segments, type, &Elf64_Phdr::p_type);
  };
  if (const auto loader = first(PT_INTERP); loader != segments.end())
    section.loader = file.text(loader->p_offset);
  if (const auto dynamic = first(PT_DYNAMIC); dynamic != segments.end())
    section.needed = read_needed(file, segments, *dynamic);
  return section;
}

}  // namespace culprit::launcher
