#include "modules.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>

namespace culprit::unwind::testing {

namespace {

bool find_vdso(std::uint64_t pc, CodeModule& module) {
  const std::uint64_t image = getauxval(AT_SYSINFO_EHDR);
  if (image == 0) return false;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(image + header->e_phoff);
  module = CodeModule{.begin = image, .end = image, .bias = image, .index = 1};
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD) module.end = image + segments[i].p_vaddr + segments[i].p_memsz;
    if (segments[i].p_type == PT_GNU_EH_FRAME) module.eh_frame_hdr = image + segments[i].p_vaddr;
  }
  return pc >= module.begin && pc < module.end;
}

}  // namespace

bool find_loaded_module(void* /*context*/, std::uint64_t pc, CodeModule& module) {
  dl_find_object found{};
  if (_dl_find_object(reinterpret_cast<void*>(pc), &found) != 0) return find_vdso(pc, module);
  module.begin = reinterpret_cast<std::uint64_t>(found.dlfo_map_start);
  module.end = reinterpret_cast<std::uint64_t>(found.dlfo_map_end);
  module.bias = found.dlfo_link_map->l_addr;
  module.eh_frame_hdr = reinterpret_cast<std::uint64_t>(found.dlfo_eh_frame);
  module.index = static_cast<std::uint32_t>(module.begin >> 12U);
  module.own = false;
  return true;
}

Bounds this_stack() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* low = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<std::uint64_t>(low), reinterpret_cast<std::uint64_t>(low) + size};
}

std::unique_ptr<Walker> make_walker() {
  auto walker = std::make_unique<Walker>();
  const Bounds stack = this_stack();
  walker->reset(find_loaded_module, nullptr, stack.low, stack.high);
  return walker;
}

}  // namespace culprit::unwind::testing
