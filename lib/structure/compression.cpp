// Finds compressed sections that would fill memory if libdw uncompressed them: beyond 64 MiB and 32 times
// their size in the file. The headers of sections that are compressed by themselves state their size;
// .gnu_debugdata, which is compressed as a whole, is uncompressed up to that limit to find out, and may hold
// compressed sections in turn.
#include "structure/compression.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <gelf.h>
#include <lzma.h>

namespace culprit::structure {
namespace {

constexpr std::uint64_t kNoMatter = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMostTimes = 32;
/// For the decoder's dictionary: twice what `xz -9` takes.
constexpr std::uint64_t kMostForDecoder = std::uint64_t{128} << 20U;

std::uint64_t most_from(std::uint64_t size) {
  return std::max(kNoMatter, size * kMostTimes);
}

std::string_view bytes_of(Elf_Scn* section) {
  const Elf_Data* const data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

/// What the section says that it takes uncompressed; 0 where it is not compressed by itself.
std::uint64_t uncompressed_size(Elf_Scn* section, const GElf_Shdr& header, std::string_view name) {
  if ((header.sh_flags & SHF_COMPRESSED) != 0) {
    GElf_Chdr compressed{};
    return gelf_getchdr(section, &compressed) == nullptr ? 0 : compressed.ch_size;
  }
  // GNU's older form: "ZLIB", the size with the most significant byte first.
  constexpr std::string_view kMagic = "ZLIB";
  const std::string_view bytes = bytes_of(section);
  if (!name.starts_with(".zdebug") || !bytes.starts_with(kMagic)) return 0;
  std::uint64_t size = 0;
  for (const char byte : bytes.substr(kMagic.size(), sizeof size))
    size = size << 8U | static_cast<unsigned char>(byte);
  return size;
}

/// Calls `use` with each section, its header and its name.
template <class Use>
void for_each_section(Elf* elf, Use use) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header{};
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* const name = elf_strptr(elf, names, header.sh_name);
    if (name != nullptr) use(section, header, std::string_view(name));
  }
}

bool holds_compressed(std::string& file) {
  Elf* const elf = elf_memory(file.data(), file.size());
  bool found = false;
  for_each_section(elf, [&](Elf_Scn*, const GElf_Shdr& header, std::string_view) {
    found = found || (header.sh_flags & SHF_COMPRESSED) != 0;
  });
  elf_end(elf);
  return found;
}

/// Whether what xz made of a file is more than that, or a file with compressed sections in turn. Damaged data
/// ends where it is damaged, for libdw as well.
bool is_boundless(std::string_view compressed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_auto_decoder(&stream, kMostForDecoder, 0) != LZMA_OK) return true;
  stream.next_in = reinterpret_cast<const std::uint8_t*>(compressed.data());
  stream.avail_in = compressed.size();
  std::string file;
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK && file.size() <= most_from(compressed.size())) {
    constexpr std::size_t kPiece = 1 << 16U;
    const std::size_t before = file.size();
    file.resize(before + kPiece);
    stream.next_out = reinterpret_cast<std::uint8_t*>(file.data() + before);
    stream.avail_out = kPiece;
    state = lzma_code(&stream, LZMA_FINISH);
    file.resize(file.size() - stream.avail_out);
  }
  lzma_end(&stream);
  return file.size() > most_from(compressed.size()) || state == LZMA_MEMLIMIT_ERROR || holds_compressed(file);
}

}  // namespace

std::vector<Elf_Scn*> boundless_sections(Elf* elf) {
  std::vector<Elf_Scn*> compressed, boundless;
  std::uint64_t before = 0, after = 0;
  for_each_section(elf, [&](Elf_Scn* section, const GElf_Shdr& header, std::string_view name) {
    if (const std::uint64_t size = uncompressed_size(section, header, name); size > 0) {
      compressed.push_back(section);
      before += header.sh_size;
      after = after + size < after ? UINT64_MAX : after + size;
    } else if (name == ".gnu_debugdata" && is_boundless(bytes_of(section))) {
      boundless.push_back(section);
    }
  });
  if (after > most_from(before)) boundless.insert(boundless.end(), compressed.begin(), compressed.end());
  return boundless;
}

void hide_section(Elf_Scn* section) {
  GElf_Shdr header{};
  if (gelf_getshdr(section, &header) == nullptr) return;
  header.sh_name = 0;
  header.sh_type = SHT_NULL;
  header.sh_flags = 0;
  gelf_update_shdr(section, &header);
}

}  // namespace culprit::structure
