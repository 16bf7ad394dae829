// Opens an ELF file with its debug files by libdwfl (docs/algorithms.md 15), and keeps libdw from files that
// would harm: names that debug information states may lead to FIFOs and devices, whose opening waits, and
// compressed sections may grow without bounds (compression.hpp). So each place in which libdwfl would look is
// judged first; files that are not read are noted. Size and time of all files that were used are kept for the
// cache, so that a debug file which is installed later makes its entry invalid.
#include "structure/module.hpp"

#include "files/at_death.hpp"
#include "files/named_file.hpp"
#include "structure/compression.hpp"
#include "structure/debug_servers.hpp"
#include "structure/short_symbol.hpp"
#include "structure/vdso.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace culprit::structure {
namespace {

/// Where dwz notes a file that holds what several debug files have in common.
constexpr const char* kSupplementaryLink = ".gnu_debugaltlink";

/// Debug files are asked for through the module's own path and descriptor; nothing else is looked up.
int find_no_elf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) {
  return -1;
}

std::string to_hex(const unsigned char* bytes, int count) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

/// libdwfl reads all of a debug file for its checksum. The largest there are take some seconds.
constexpr std::uint64_t kLargestDebugFile = std::uint64_t{32} << 30U;

/// libdwfl looks for debug files below it, too.
constexpr const char* kDebugRoot = "/usr/lib/debug";

/// A descriptor of a regular file, or -1 with the reason: a FIFO, a device, or a file of the kernel's must
/// not be waited for.
int open_regular(const std::string& path, std::string& why) {
  std::error_code error;
  files::Descriptor file = files::open_named(path, std::numeric_limits<std::uint64_t>::max(), error);
  if (file.good()) return file.release();
  if (error == std::errc::no_message) {
    why = "not an ELF file";  // empty, or a file of the kernel's
  } else if (error == std::errc::invalid_argument || error == std::errc::is_a_directory) {
    why = "not a regular file";
  } else {
    why = error.message();
  }
  return -1;
}

std::filesystem::path without_first(const std::filesystem::path& path) {
  std::filesystem::path rest;
  for (auto part = std::next(path.begin()); part != path.end(); ++part) rest /= *part;
  return rest;
}

/// Size and time of last change of a file.
std::string stamp_of(const struct stat& file) {
  return fmt::format("{} {}.{:09}", file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

constexpr const char* kBoundless = "which would grow beyond 64 MiB and 32 times their size";

std::string name_of(Elf* elf, Elf_Scn* section) {
  GElf_Shdr header{};
  std::size_t names = 0;
  const bool good = gelf_getshdr(section, &header) != nullptr && elf_getshdrstrndx(elf, &names) == 0;
  const char* const name = good ? elf_strptr(elf, names, header.sh_name) : nullptr;
  return name == nullptr ? "" : name;
}

/// Whether the descriptor holds an executable or shared object that libdwfl may be given.
bool acceptable(int fd, std::string& why) {
  Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
  GElf_Ehdr header{};
  const bool is_elf = elf != nullptr && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) != nullptr;
  elf_end(elf);
  ::lseek(fd, 0, SEEK_SET);
  if (!is_elf) {
    why = "not an ELF file";
    return false;
  }
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
    why = "neither an executable nor a shared object";
    return false;
  }
  return true;
}

}  // namespace

Module::~Module() = default;

std::unique_ptr<Module> Module::open(const Request& request, std::string& why) {
  std::unique_ptr<Module> module(new Module);
  if (!module->load(request, why)) return nullptr;
  return module;
}

bool Module::load(const Request& request, std::string& why) {
  elf_version(EV_CURRENT);
  const std::string path = request.path.string();
  name_ = module_name(path);
  const int fd = path == kVdsoPath ? open_vdso(why) : open_regular(path, why);
  if (fd < 0) return false;
  if (!acceptable(fd, why)) {
    ::close(fd);
    return false;
  }
  struct stat status {};
  if (path != kVdsoPath && ::fstat(fd, &status) == 0) {
    stamp_ = stamp_of(status);
    own_ = files::Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  }
  note_directories_of(request.path);
  callbacks_.find_elf = find_no_elf;
  callbacks_.find_debuginfo = find_debug_file;
  callbacks_.section_address = dwfl_offline_section_address;
  if (!request.debug_path.empty()) {
    debug_path_ = request.debug_path;
    debug_path_pointer_ = debug_path_.data();
    callbacks_.debuginfo_path = &debug_path_pointer_;
  }
  dwfl_.reset(dwfl_begin(&callbacks_));
  if (dwfl_) {
    dwfl_report_begin(dwfl_.get());
    module_ = dwfl_report_elf(dwfl_.get(), path.c_str(), path.c_str(), fd, 0, true);
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  }
  if (module_ == nullptr) {
    ::close(fd);
    why = "libdwfl cannot read it";
    return false;
  }
  void** self = nullptr;
  dwfl_module_info(module_, &self, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *self = this;
  GElf_Addr bias = 0;
  elf_ = dwfl_module_getelf(module_, &bias);
  if (elf_ == nullptr) {
    why = "libdwfl cannot read it";
    return false;
  }
  bias_ = bias;
  const unsigned char* bits = nullptr;
  GElf_Addr where = 0;
  const int length = dwfl_module_build_id(module_, &bits, &where);
  if (length > 0 && bits != nullptr) build_id_ = to_hex(bits, length);
  note_missing_end();
  pass_over_boundless_sections();
  read_segments();
  return true;
}

/// libelf takes a file whose table of sections lies beyond its end for one without sections. (The word "read"
/// is what database::why_unread() looks for.)
void Module::note_missing_end() {
  GElf_Ehdr header{};
  std::size_t size = 0;
  if (elf_rawfile(elf_, &size) == nullptr || gelf_getehdr(elf_, &header) == nullptr || header.e_shoff == 0)
    return;
  const std::uint64_t table = std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff <= size && table <= size - header.e_shoff) return;
  notes_.emplace_back("cannot be read to its end: the file was cut short");
}

void Module::pass_over_boundless_sections() {
  const std::vector<Elf_Scn*> boundless = boundless_sections(elf_);
  if (boundless.empty()) return;
  notes_.push_back(fmt::format("sections not read, {}: {}{}", kBoundless, name_of(elf_, boundless.front()),
                               boundless.size() > 1 ? " and all that are compressed" : ""));
  std::ranges::for_each(boundless, hide_section);
}

void Module::read_segments() {
  GElf_Ehdr header{};
  std::size_t count = 0, file_size = 0;
  const char* file = elf_rawfile(elf_, &file_size);
  if (gelf_getehdr(elf_, &header) == nullptr || elf_getphdrnum(elf_, &count) != 0 || file == nullptr) return;
  if (header.e_ident[EI_CLASS] == ELFCLASS64) machine_ = header.e_machine;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment{};
    if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr || segment.p_type != PT_LOAD) continue;
    if (segment.p_offset >= file_size) continue;
    const std::uint64_t size = std::min<std::uint64_t>(segment.p_filesz, file_size - segment.p_offset);
    if (size == 0 || segment.p_vaddr + size < segment.p_vaddr) continue;
    segments_.push_back({{segment.p_vaddr, segment.p_vaddr + size},
                         std::as_bytes(std::span(file + segment.p_offset, size)),
                         (segment.p_flags & PF_X) != 0});
  }
}

Dwarf* Module::dwarf(std::uint64_t& bias) const {
  Dwarf_Addr found = 0;
  Dwarf* dwarf = dwfl_module_getdwarf(module_, &found);
  bias = found;
  if (dwarf == nullptr) return nullptr;
  dwarf_new_oom_handler(dwarf, reinterpret_cast<Dwarf_OOM>(files::end_without_memory));
  const char* name = nullptr;
  const void* bits = nullptr;
  // libdw opens the supplementary file by itself where something refers to it, unless it has one: what must
  // not be opened is replaced by the file itself, in which such references mean nothing.
  if (dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bits) > 0 && !may_seek(name)) dwarf_setalt(dwarf, dwarf);
  return dwarf;
}

std::string Module::files() {
  const bool described = !section(".debug_info").bytes.empty() || !section(".zdebug_info").bytes.empty();
  const bool named = !section(".symtab").bytes.empty();
  if (described && named) return stamp_ + supplementary_file(elf_);
  // Whatever lacks has libdwfl seek the debug file. Symbols are asked for where they do, since asking for
  // debug information may mean to uncompress it.
  GElf_Addr bias = 0;
  if (named) {
    (void)dwfl_module_getdwarf(module_, &bias);
  } else {
    (void)dwfl_module_getsymtab(module_);
  }
  return stamp_ + (described ? supplementary_file(elf_) : "") + debug_files_;
}

/// libdwfl's callback: what it would find by itself, noted.
// NOLINTNEXTLINE(readability-function-size): libdwfl's
int Module::find_debug_file(Dwfl_Module* module, void** self, const char* name, Dwarf_Addr base,
                            const char* file, const char* link, GElf_Word checksum, char** found) {
  auto* const own = static_cast<Module*>(*self);
  const std::string plain =
      std::filesystem::path(file == nullptr ? name : file).filename().string() + ".debug";
  const char* const sought = link == nullptr ? plain.c_str() : link;
  if (!own->may_seek(sought) || !own->may_seek(sought, ".debug") || !own->may_seek_below_root(sought))
    return -1;
  bound_question(own->dwfl_.get());
  const int fd = dwfl_standard_find_debuginfo(module, self, name, base, file, link, checksum, found);
  if (fd < 0) return fd;
  if (!own->may_read(fd, *found)) {
    ::close(fd);
    std::free(std::exchange(*found, nullptr));
    return -1;
  }
  own->note_debug_file(fd, *found);
  return fd;
}

bool Module::is_harmless(const std::filesystem::path& debug_file) const {
  struct stat status {};
  if (::stat(debug_file.c_str(), &status) != 0) return true;
  if (files::judge_named(status, kLargestDebugFile)) return false;
  std::error_code error;
  const files::Descriptor file = files::open_named(debug_file, kLargestDebugFile, error);
  return !file.good() || may_read(file.get(), debug_file.c_str());
}

/// Whether libdw may read a debug file: it uncompresses sections, and files as a whole, to the end.
bool Module::may_read(int fd, const char* path) const {
  Elf* const elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  const char* why = nullptr;
  if (elf_kind(elf) != ELF_K_ELF) {
    why = "which is no ELF file";
  } else if (!boundless_sections(elf).empty()) {
    why = "whose compressed sections would grow beyond 64 MiB and 32 times their size";
  }
  elf_end(elf);
  if (why == nullptr) return true;
  std::string note = fmt::format("debug file not read, {}: {}", why, path == nullptr ? "" : path);
  if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(std::move(note));
  return false;
}

void Module::note_directories_of(const std::filesystem::path& file) {
  directories_.push_back(file.parent_path());
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(file, error);
  if (!error) directories_.push_back(resolved.parent_path());
}

bool Module::may_seek(const char* name, const char* below) const {
  return std::ranges::all_of(directories_, [&](const std::filesystem::path& directory) {
    return is_harmless(directory / below / name);
  });
}

/// Below the root, libdwfl looks in the module's whole path, then in ever less of it: a link may lead out of
/// each.
bool Module::may_seek_below_root(const char* name) const {
  const std::filesystem::path root = debug_path_.empty() ? kDebugRoot : debug_path_;
  for (const std::filesystem::path& directory : directories_) {
    std::filesystem::path below = directory.relative_path();
    for (; !below.empty(); below = without_first(below))
      if (!is_harmless(root / below / name)) return false;
  }
  return is_harmless(root / name);
}

bool Module::changed() const {
  struct stat now {};
  return own_.good() && ::fstat(own_.get(), &now) == 0 && stamp_of(now) != stamp_;
}

void Module::note_debug_file(int fd, const char* path) {
  if (path != nullptr) note_directories_of(path);
  struct stat status {};
  debug_files_ += ::fstat(fd, &status) == 0 ? "; debug " + stamp_of(status) : "; debug";
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  debug_files_ += supplementary_file(elf);
  elf_end(elf);
}

/// The build-id of the file that dwz moved common parts to, if it is there.
std::string Module::supplementary_file(Elf* of) const {
  if (of == nullptr || section_of(of, kSupplementaryLink).bytes.empty()) return {};
  Dwarf* const debug = dwarf_begin_elf(of, DWARF_C_READ, nullptr);
  const char* name = nullptr;
  const void* bits = nullptr;
  const ssize_t length = debug == nullptr ? 0 : dwelf_dwarf_gnu_debugaltlink(debug, &name, &bits);
  std::string found;
  if (length > 0 && may_seek(name) && dwarf_getalt(debug) != nullptr)
    found = "; supplementary " + to_hex(static_cast<const unsigned char*>(bits), static_cast<int>(length));
  dwarf_end(debug);
  return found;
}

std::span<const std::byte> Module::bytes(std::uint64_t address) const {
  for (const Segment& segment : segments_)
    if (segment.range.contains(address)) return segment.bytes.subspan(address - segment.range.low);
  return {};
}

std::uint64_t Module::pointer(std::uint64_t address) const {
  if (!relocations_) relocations_ = read_relocations();
  const auto found = std::ranges::lower_bound(*relocations_, address, {}, &Relocation::place);
  if (found != relocations_->end() && found->place == address) return found->value;
  std::uint64_t value = 0;
  const auto here = bytes(address);
  if (here.size() >= sizeof value) std::memcpy(&value, here.data(), sizeof value);
  return value;
}

std::vector<Module::Relocation> Module::read_relocations() const {
  std::vector<Relocation> relocations;
  const bool known = is_x86_64() || is_aarch64();
  const std::uint64_t relative = is_aarch64() ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
  const auto bytes = known ? section(".rela.dyn").bytes : std::span<const std::byte>();
  for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela)) {
    Elf64_Rela relocation;
    std::memcpy(&relocation, bytes.data() + at, sizeof relocation);
    if (ELF64_R_TYPE(relocation.r_info) != relative) continue;
    relocations.push_back({relocation.r_offset, static_cast<std::uint64_t>(relocation.r_addend)});
  }
  std::ranges::sort(relocations, {}, &Relocation::place);
  return relocations;
}

bool Module::executable(std::uint64_t address) const {
  for (const Segment& segment : segments_)
    if (segment.range.contains(address)) return segment.executable;
  return false;
}

Module::Section Module::section(const char* wanted) const {
  return section_of(elf_, wanted);
}

Module::Section Module::section_of(Elf* elf, const char* wanted) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header{};
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::strcmp(name, wanted) != 0) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {header.sh_addr, header.sh_entsize,
            std::span(static_cast<const std::byte*>(data->d_buf), data->d_size)};
  }
  return {};
}

}  // namespace culprit::structure
