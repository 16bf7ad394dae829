#include "modules.hpp"

#include <cstring>
#include <functional>
#include <sstream>

#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

namespace {

/// Calls `visit` for every section until it returns true.
void each_section(const std::filesystem::path& file,
                  const std::function<bool(Elf*, Elf_Scn*, const GElf_Shdr&, const std::string&)>& visit) {
  elf_version(EV_CURRENT);
  const int fd = ::open(file.c_str(), O_RDONLY);
  Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
  std::size_t names = 0;
  elf_getshdrstrndx(elf, &names);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    gelf_getshdr(section, &header);
    if (visit(elf, section, header, elf_strptr(elf, names, header.sh_name))) break;
  }
  elf_end(elf);
  ::close(fd);
}

}  // namespace

std::vector<std::uint64_t> section_addresses(const std::filesystem::path& file, const std::string& section,
                                             std::uint64_t step) {
  std::vector<std::uint64_t> addresses;
  each_section(file, [&](Elf*, Elf_Scn*, const GElf_Shdr& header, const std::string& name) {
    if (name != section) return false;
    for (std::uint64_t at = 0; at < header.sh_size; at += step) addresses.push_back(header.sh_addr + at);
    return true;
  });
  return addresses;
}

std::uint64_t symbol_value(const std::filesystem::path& file, const std::string& symbol) {
  std::uint64_t value = 0;
  each_section(file, [&](Elf* elf, Elf_Scn* section, const GElf_Shdr& header, const std::string&) {
    if (header.sh_type != SHT_SYMTAB) return false;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Sym entry;
    for (int i = 0; gelf_getsym(data, i, &entry) != nullptr; ++i)
      if (symbol == elf_strptr(elf, header.sh_link, entry.st_name)) value = entry.st_value;
    return true;
  });
  return value;
}

namespace {

/// Calls `visit` with the address of each call, and of each jump to `sink`, in x86-64 code at `address`.
template <typename Visit>
void each_call_x86_64(const Elf_Data& data, std::uint64_t address, std::uint64_t sink, Visit visit) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecodedInstruction decoded;
  for (std::size_t at = 0; at < data.d_size; at += decoded.length) {
    const char* code = static_cast<const char*>(data.d_buf) + at;
    if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, nullptr, code, data.d_size - at, &decoded)))
      break;
    const bool to_sink = decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
                         address + at + decoded.length + decoded.raw.imm[0].value.u == sink;
    if (decoded.meta.category == ZYDIS_CATEGORY_CALL || to_sink) visit(address + at);
  }
}

/// The same in aarch64 code: BL, BLR, and B to `sink` (Arm Architecture Reference Manual, C4.1).
template <typename Visit>
void each_call_aarch64(const Elf_Data& data, std::uint64_t address, std::uint64_t sink, Visit visit) {
  for (std::size_t at = 0; at + 4 <= data.d_size; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, static_cast<const char*>(data.d_buf) + at, sizeof word);
    const bool immediate = (word & 0x7c000000U) == 0x14000000U, links = (word >> 31U) != 0;
    const auto words = static_cast<std::int32_t>(word << 6U) >> 6;
    const std::uint64_t target = address + at + 4 * static_cast<std::uint64_t>(std::int64_t{words});
    const bool by_register = (word & 0xfffffc1fU) == 0xd63f0000U;
    if ((immediate && (links || target == sink)) || by_register) visit(address + at);
  }
}

}  // namespace

std::set<std::uint64_t> calls(const std::filesystem::path& file) {
  std::set<std::uint64_t> found;
  const std::uint64_t sink = symbol_value(file, "sink");
  each_section(file, [&](Elf* elf, Elf_Scn* section, const GElf_Shdr& header, const std::string& name) {
    if (name != ".text") return false;
    const Elf_Data& data = *elf_rawdata(section, nullptr);
    const auto take = [&found](std::uint64_t address) { found.insert(address); };
    GElf_Ehdr of_file;
    if (gelf_getehdr(elf, &of_file)->e_machine == EM_AARCH64) {
      each_call_aarch64(data, header.sh_addr, sink, take);
    } else {
      each_call_x86_64(data, header.sh_addr, sink, take);
    }
    return true;
  });
  return found;
}

culprit::structure::ModuleStructure recover_all(const std::filesystem::path& file,
                                                const std::vector<std::uint64_t>& addresses) {
  culprit::structure::Request request;
  request.path = file;
  request.addresses = addresses;
  return culprit::structure::recover(request);
}

namespace {

std::string file_name(const culprit::structure::ModuleStructure& module, std::uint32_t file) {
  return file == culprit::structure::kNone ? "?" : module.files[file];
}

/// All that is known of one point, in words.
std::string reported(const culprit::structure::ModuleStructure& module,
                     const culprit::structure::Point& point) {
  std::ostringstream out;
  const culprit::structure::Procedure& procedure = module.procedures[point.procedure];
  out << procedure.name << ' ' << procedure.linkage << ' ' << procedure.low << '-' << procedure.high << ' '
      << file_name(module, procedure.file) << ':' << procedure.line << '|' << file_name(module, point.file)
      << ':' << point.line;
  for (std::uint32_t at = point.scope; at != culprit::structure::kNone; at = module.scopes[at].parent) {
    const culprit::structure::Scope& scope = module.scopes[at];
    out << '|' << static_cast<int>(scope.kind) << scope.name << ' ' << file_name(module, scope.file) << ':'
        << scope.line << ' ' << file_name(module, scope.call_file) << ':' << scope.call_line;
  }
  if (point.callee != culprit::structure::kNone) out << '|' << module.callees[point.callee];
  return out.str();
}

}  // namespace

std::vector<std::string> reported(const culprit::structure::ModuleStructure& module) {
  std::vector<std::string> all;
  for (const culprit::structure::Point& point : module.points) all.push_back(reported(module, point));
  return all;
}
