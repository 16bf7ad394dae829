#include "modules.hpp"

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

std::set<std::uint64_t> calls(const std::filesystem::path& file) {
  std::set<std::uint64_t> found;
  const std::uint64_t sink = symbol_value(file, "sink");
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  each_section(file, [&](Elf*, Elf_Scn* section, const GElf_Shdr& header, const std::string& name) {
    if (name != ".text") return false;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    ZydisDecodedInstruction decoded;
    for (std::size_t at = 0; at < data->d_size; at += decoded.length) {
      const char* code = static_cast<const char*>(data->d_buf) + at;
      if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, nullptr, code, data->d_size - at, &decoded)))
        break;
      const std::uint64_t address = header.sh_addr + at;
      const bool to_sink = decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
                           address + decoded.length + decoded.raw.imm[0].value.u == sink;
      if (decoded.meta.category == ZYDIS_CATEGORY_CALL || to_sink) found.insert(address);
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
