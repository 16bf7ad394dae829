#include "structure/vdso.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

namespace culprit::structure {
namespace {

/// The vdso is mapped as one file image: it ends with its last segment or its section headers, whichever is
/// later.
std::size_t image_size(const unsigned char* base) {
  Elf64_Ehdr header;
  std::memcpy(&header, base, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  std::size_t size = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, base + header.e_phoff + std::size_t{i} * header.e_phentsize, sizeof segment);
    if (segment.p_type == PT_LOAD) size = std::max<std::size_t>(size, segment.p_offset + segment.p_filesz);
  }
  return size;
}

}  // namespace

int open_vdso(std::string& why) {
  const auto base = static_cast<std::uintptr_t>(::getauxval(AT_SYSINFO_EHDR));
  if (base == 0) {
    why = "this process has no vdso";
    return -1;
  }
  const auto* image = reinterpret_cast<const unsigned char*>(base);
  const std::size_t size = image_size(image);
  const int fd = ::memfd_create("vdso", MFD_CLOEXEC);
  if (fd < 0) {
    why = std::strerror(errno);
    return -1;
  }
  for (std::size_t done = 0; done < size;) {
    const ssize_t written = ::write(fd, image + done, size - done);
    if (written <= 0) {
      why = std::strerror(errno);
      ::close(fd);
      return -1;
    }
    done += static_cast<std::size_t>(written);
  }
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

}  // namespace culprit::structure
