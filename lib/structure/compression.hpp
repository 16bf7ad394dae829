#pragma once

#include <vector>

#include <libelf.h>

namespace culprit::structure {

/// The sections of an ELF file that would fill memory if they were uncompressed: those that are compressed
/// each for itself (SHF_COMPRESSED, .zdebug_*), where together they grow without measure; and .gnu_debugdata,
/// where that does or holds such sections. Without measure is beyond 64 MiB and 32 times of what they take in
/// the file. Debug information grows three to six times, but a megabyte can stand for gigabytes, which libdw
/// would allocate. Uncompresses .gnu_debugdata up to that measure to find out.
std::vector<Elf_Scn*> boundless_sections(Elf* elf);

/// Makes libdw pass the section over; in memory only. `elf` is one that may be changed
/// (ELF_C_READ_MMAP_PRIVATE, as libdwfl opens files).
void hide_section(Elf_Scn* section);

}  // namespace culprit::structure
