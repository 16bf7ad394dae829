/* Preloaded: a process that sees no vdso. Names in it are those of the kernel that merges, and the emulator
 * has none. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>

unsigned long getauxval(unsigned long type) {
  unsigned long (*const real)(unsigned long) =
      (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
  return type == AT_SYSINFO_EHDR ? 0 : real(type);
}
