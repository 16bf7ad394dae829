#include "launcher/dynamic_section.hpp"

#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace culprit::launcher {
namespace {

/// A whole file mapped for reading.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      void* memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (memory != MAP_FAILED) bytes_ = static_cast<const char*>(memory);
    }
    close(descriptor);
  }
  ~MappedFile() {
    if (bytes_ != nullptr) munmap(const_cast<char*>(bytes_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Copies a structure at `offset`; false outside the file.
  template <typename Value>
  bool get(std::uint64_t offset, Value& value) const {
    if (bytes_ == nullptr || offset > size_ || size_ - offset < sizeof value) return false;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return true;
  }
  /// A string that ends within the file; empty otherwise.
  [[nodiscard]] std::string text(std::uint64_t offset) const {
    if (bytes_ == nullptr || offset >= size_) return "";
    const std::size_t length = strnlen(bytes_ + offset, size_ - offset);
    return length == size_ - offset ? "" : std::string(bytes_ + offset, length);
  }

 private:
  const char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

std::vector<Elf64_Phdr> read_segments(const MappedFile& file, const Elf64_Ehdr& header) {
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

std::vector<std::string> read_needed(const MappedFile& file, const std::vector<Elf64_Phdr>& segments,
                                     const Elf64_Phdr& dynamic) {
  std::vector<std::uint64_t> names;
  std::uint64_t strings = ~std::uint64_t{0};
  Elf64_Dyn entry;
  for (std::uint64_t at = 0; at + sizeof entry <= dynamic.p_filesz; at += sizeof entry) {
    if (!file.get(dynamic.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) strings = offset_of(segments, entry.d_un.d_ptr);
  }
  std::vector<std::string> needed;
  for (const std::uint64_t name : names) {
    if (strings <= ~std::uint64_t{0} - name) needed.push_back(file.text(strings + name));
  }
  return needed;
}

}  // namespace

std::optional<DynamicSection> read_dynamic_section(const std::string& path) {
  const MappedFile file(path);
  unsigned char identification[EI_NIDENT];
  if (!file.get(0, identification) || std::memcmp(identification, ELFMAG, SELFMAG) != 0) return std::nullopt;
  DynamicSection section;
  Elf64_Ehdr header;
  if (identification[EI_CLASS] != ELFCLASS64) {
    section.machine = Machine::other;
    return section;
  }
  if (!file.get(0, header) || header.e_phentsize != sizeof(Elf64_Phdr)) return section;
  section.machine = header.e_machine == EM_X86_64 ? Machine::this_one : Machine::other;
  const std::vector<Elf64_Phdr> segments = read_segments(file, header);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) section.loader = file.text(segment.p_offset);
    if (segment.p_type == PT_DYNAMIC) section.needed = read_needed(file, segments, segment);
  }
  return section;
}

}  // namespace culprit::launcher
