// Reads the memory of another process: /proc/PID/maps and mem, and the ELF headers in memory, since the files
// may be gone or replaced. Memory of files counts as unchanged since the process was stopped; pages that
// nobody may write are read once and kept. Stack and heap have changed since then, and are refused
// (lasting_word). Devices are never read, since reading them may have effects. Of a file that was deleted the
// kernel's copy is used, else what now has its name, if the build-id is known.
#include "stacks/address_space.hpp"

#include "print/text.hpp"
#include "stacks/processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

namespace culprit::stacks {
namespace {

constexpr std::size_t kMostHeaders = 64;       // program headers of a module
constexpr std::uint64_t kMostNotes = 1 << 16;  // bytes
// How .eh_frame_hdr has to be encoded for its table to be searched: what all linkers write.
constexpr unsigned char kUnsigned4 = 0x03, kRelative4 = 0x1b, kTable = 0x3b;

std::string name_space(const std::string& process) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + process + "/ns/mnt", error).string();
}

/// A device's memory: reading it may have effects. Shared memory and large pages are memory like others.
bool is_of_device(std::string_view path) {
  constexpr std::array<std::string_view, 3> kMemory = {"/dev/shm/", "/dev/zero", "/dev/hugepages/"};
  return path.starts_with("/dev/") && std::ranges::none_of(kMemory, [path](std::string_view beginning) {
           return path.starts_with(beginning);
         });
}

std::optional<Mapping> parse_mapping(const std::string& line) {
  std::istringstream fields(line);
  Mapping mapping;
  std::string rights, device, inode;
  char dash = '\0';
  if (!(fields >> std::hex >> mapping.begin >> dash >> mapping.end >> rights >> mapping.offset >> device >>
        inode) ||
      mapping.begin >= mapping.end || rights.size() < 3)
    return std::nullopt;
  std::getline(fields >> std::ws, mapping.path);
  const bool of_device = is_of_device(mapping.path);
  mapping.readable = rights[0] == 'r' && !of_device;
  mapping.writable = rights[1] == 'w';
  mapping.of_file = (mapping.path.starts_with('/') && !of_device) || mapping.path == "[vdso]";
  return mapping;
}

std::uint64_t rounded_up(std::uint64_t size) {
  constexpr std::uint64_t kAlign = 4;
  return (size + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

AddressSpace::AddressSpace(pid_t pid) : pid_(pid) {
  const std::string theirs = name_space(std::to_string(pid));
  elsewhere_ = !theirs.empty() && theirs != name_space("self");
  refresh();
}

bool AddressSpace::refresh() {
  const std::string file = "/proc/" + std::to_string(pid_) + "/maps";
  std::string text = read_text(file);
  if (text.empty()) {
    const files::Descriptor maps(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    error_ = maps.good() || errno == ENOENT || errno == ESRCH ? 0 : errno;
    return false;
  }
  if (text == text_) return false;
  text_ = std::move(text);
  // The memory of before an exec stays that of before.
  memory_ =
      files::Descriptor(::open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  error_ = memory_.good() ? 0 : errno;
  mappings_.clear();
  modules_.clear();
  pages_.clear();
  std::istringstream lines(text_);
  for (std::string line; std::getline(lines, line);) {
    if (auto mapping = parse_mapping(line)) mappings_.emplace(mapping->end, std::move(*mapping));
  }
  return true;
}

const Mapping* AddressSpace::mapping_at(std::uint64_t address) const {
  const auto found = mappings_.upper_bound(address);
  return found != mappings_.end() && found->second.begin <= address ? &found->second : nullptr;
}

std::size_t AddressSpace::read(std::uint64_t address, std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(memory_.get(), into.data() + done, into.size() - done, static_cast<off_t>(address + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

template <class Value>
std::optional<Value> AddressSpace::value_at(std::uint64_t address) const {
  Value value{};
  const auto bytes = std::as_writable_bytes(std::span(&value, 1));
  return read(address, bytes) == bytes.size() ? std::optional(value) : std::nullopt;
}

const AddressSpace::Page* AddressSpace::page_at(std::uint64_t address) {
  const auto [entry, fresh] = pages_.try_emplace(address / kPage);
  if (fresh) {
    Page page;
    if (read(address / kPage * kPage, page) == kPage) entry->second = page;
  }
  return entry->second ? &*entry->second : nullptr;
}

std::optional<std::uint64_t> AddressSpace::lasting_word(std::uint64_t address) {
  const Mapping* const mapping = mapping_at(address);
  if (mapping == nullptr || !mapping->readable || !mapping->of_file) return std::nullopt;
  const std::uint64_t within = address % kPage;
  // Pointers to language run-time libraries lie among a module's data, which is written to.
  if (mapping->writable || within > kPage - sizeof(std::uint64_t)) return value_at<std::uint64_t>(address);
  const Page* const page = page_at(address);
  if (page == nullptr) return std::nullopt;
  std::uint64_t word = 0;
  std::memcpy(&word, page->data() + within, sizeof word);
  return word;
}

std::optional<std::uint64_t> AddressSpace::word(std::uint64_t address) const {
  const Mapping* const mapping = mapping_at(address);
  if (mapping != nullptr && !mapping->readable) return std::nullopt;
  return value_at<std::uint64_t>(address);
}

bool AddressSpace::is_over() const {
  std::array<std::byte, 1> byte{};
  const auto any = std::ranges::find_if(
      mappings_, [](const auto& each) { return each.second.of_file && each.second.readable; });
  return any == mappings_.end() || read(any->second.begin, byte) == 0;
}

bool AddressSpace::is_data(std::uint64_t address) const {
  const Mapping* const mapping = mapping_at(address);
  return mapping != nullptr && mapping->readable && !mapping->of_file;
}

/// A module's ELF header lies at the beginning of its file, which is its lowest mapping.
const LoadedModule* AddressSpace::module_at(std::uint64_t address) {
  auto at = mappings_.upper_bound(address);
  if (at == mappings_.end() || at->second.begin > address || !at->second.of_file) return nullptr;
  const std::string& path = at->second.path;
  while (at->second.offset != 0 || at->second.path != path) {
    if (at == mappings_.begin()) return nullptr;
    --at;
  }
  const auto [entry, fresh] = modules_.try_emplace(at->second.begin);
  if (fresh) entry->second = read_module(at->second);
  const auto& module = entry->second;
  return module && address >= module->begin && address < module->end ? &*module : nullptr;
}

std::optional<LoadedModule> AddressSpace::read_module(const Mapping& first) {
  const auto header = value_at<Elf64_Ehdr>(first.begin);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  std::vector<Elf64_Phdr> headers(std::min<std::size_t>(header->e_phnum, kMostHeaders));
  const auto bytes = std::as_writable_bytes(std::span(headers));
  if (headers.empty() || read(first.begin + header->e_phoff, bytes) != bytes.size()) return std::nullopt;
  const auto load = std::ranges::find_if(
      headers, [](const Elf64_Phdr& each) { return each.p_type == PT_LOAD && each.p_offset < kPage; });
  if (load == headers.end()) return std::nullopt;
  LoadedModule module;
  module.begin = first.begin;
  module.bias = first.begin - (load->p_vaddr - load->p_offset);
  for (const Elf64_Phdr& each : headers) {
    const std::uint64_t begin = module.bias + each.p_vaddr;
    if (each.p_type == PT_LOAD) module.end = std::max(module.end, begin + each.p_memsz);
    if (each.p_type == PT_GNU_EH_FRAME) read_search_table(module, begin);
    if (each.p_type == PT_NOTE && module.key.build_id.empty())
      module.key.build_id = build_id_at(begin, std::min(each.p_filesz, kMostNotes));
  }
  name_file(module, first);
  return module;
}

/// Of a file that was deleted, or replaced by a new one, the kernel keeps what the process runs: as its
/// program, and for privileged users as that mapping. What now has its name is read only where its build-id
/// is the same.
void AddressSpace::name_file(LoadedModule& module, const Mapping& first) const {
  constexpr std::string_view kDeleted = " (deleted)";
  const std::string process = "/proc/" + std::to_string(pid_);
  module.key.path = first.path;
  if (!first.path.ends_with(kDeleted)) {
    if (elsewhere_ && first.path.starts_with('/')) module.key.path.insert(0, process + "/root");
    return;
  }
  const std::string path = first.path.substr(0, first.path.size() - kDeleted.size());
  module.name = path.substr(path.rfind('/') + 1);
  std::error_code error;
  const bool program = std::filesystem::read_symlink(process + "/exe", error).string() == first.path;
  std::ostringstream mapping;
  mapping << process << "/map_files/" << std::hex << first.begin << '-' << first.end;
  const std::string kept = program ? process + "/exe" : mapping.str();
  if (::access(kept.c_str(), R_OK) == 0) {
    module.key.path = kept;
  } else if (!module.key.build_id.empty()) {
    module.key.path = path;
  }
}

void AddressSpace::read_search_table(LoadedModule& module, std::uint64_t header) {
  constexpr std::uint64_t kPointer = 4, kCount = 8, kFirst = 12;
  const auto encodings = value_at<std::array<unsigned char, kPointer>>(header);
  const auto entries = value_at<std::uint32_t>(header + kCount);
  if (!encodings || !entries) return;
  const auto& [version, pointer, count, table] = *encodings;
  if (version != 1 || pointer != kRelative4 || count != kUnsigned4 || table != kTable) return;
  module.table = header;
  module.entries = *entries;
  module.first_entry = header + kFirst;
}

std::string AddressSpace::build_id_at(std::uint64_t begin, std::uint64_t size) {
  std::vector<std::byte> notes(size);
  notes.resize(read(begin, notes));
  for (std::uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::uint64_t name = at + sizeof note;
    const std::uint64_t content = name + rounded_up(note.n_namesz);
    const std::uint64_t end = content + rounded_up(note.n_descsz);
    if (end > notes.size() || end <= at) break;
    const bool gnu = note.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID) {
      constexpr const char* kDigits = "0123456789abcdef";
      std::string text;
      for (std::uint64_t i = content; i < content + note.n_descsz; ++i) {
        const auto byte = std::to_integer<unsigned>(notes[i]);
        text += {kDigits[byte >> 4U], kDigits[byte & 0xfU]};
      }
      return text;
    }
    at = end;
  }
  return "";
}

}  // namespace culprit::stacks
