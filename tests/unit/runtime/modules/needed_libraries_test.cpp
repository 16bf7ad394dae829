// Which module is linked with which, as the loader has them in this process.
#include "runtime/modules/needed_libraries.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <link.h>

namespace culprit::runtime {
namespace {

struct Found {
  std::string name;
  LoadedModule module;
};

int add(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  LoadedModule module;
  module.bias = info->dlpi_addr;
  module.begin = ~std::uint64_t{0};
  module.name = info->dlpi_name;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const std::uint64_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (begin < module.begin) module.begin = begin;
    module.end = begin + info->dlpi_phdr[i].p_memsz;
  }
  static_cast<std::vector<Found>*>(data)->push_back({info->dlpi_name, module});
  return 0;
}

LoadedModule module_named(const char* part) {
  std::vector<Found> all;
  dl_iterate_phdr(add, &all);
  for (const Found& each : all) {
    if (each.name.find(part) != std::string::npos) return each.module;
  }
  return {};
}

TEST_CASE("What a module is linked with is read from its dynamic section") {
  const LoadedModule library = module_named("libc.so"), user = module_named("libstdc++.so");
  REQUIRE(library.begin != 0);
  REQUIRE(user.begin != 0);
  CHECK(needs_library(user, library));
  CHECK_FALSE(needs_library(library, user));
  CHECK_FALSE(needs_library(library, library));
}

TEST_CASE("Memory without an ELF header is linked with nothing") {
  const std::vector<unsigned char> memory(8192, 0x7f);
  LoadedModule none;
  none.begin = none.bias = reinterpret_cast<std::uint64_t>(memory.data());
  none.end = none.begin + memory.size();
  CHECK_FALSE(needs_library(none, module_named("libc.so")));
  CHECK_FALSE(needs_library(module_named("libstdc++.so"), none));
  none.end = none.begin + 8;
  CHECK_FALSE(needs_library(none, none));
}

}  // namespace
}  // namespace culprit::runtime
