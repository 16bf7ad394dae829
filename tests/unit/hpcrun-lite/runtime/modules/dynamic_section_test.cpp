#include "runtime/modules/dynamic_section.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <dlfcn.h>

// The slots of this program, and of the libraries that it is linked with, as the loader left them.
namespace culprit::runtime {
namespace {

std::vector<dl_phdr_info> loaded_modules() {
  std::vector<dl_phdr_info> modules;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        static_cast<std::vector<dl_phdr_info>*>(list)->push_back(*info);
        return 0;
      },
      &modules);
  return modules;
}

dl_phdr_info named(const char* part) {
  for (const dl_phdr_info& info : loaded_modules()) {
    if (strstr(info.dlpi_name, part) != nullptr) return info;
  }
  FAIL("not loaded");
  return {};
}

std::vector<ImportSlot> slots_of(const dl_phdr_info& info, const std::string& name) {
  std::vector<ImportSlot> found;
  DynamicSection(info).each_slot([&](const ImportSlot& slot) {
    if (slot.name == name) found.push_back(slot);
  });
  return found;
}

TEST_CASE("A slot of a library has the version that it asks for, and what it is bound to") {
  const dl_phdr_info library = named("libstdc++");
  const auto slots = slots_of(library, "malloc");
  REQUIRE_FALSE(slots.empty());
  static_cast<void>(std::string(100, 'x').size());  // calls it
  const DynamicSection section(library);
  for (const ImportSlot& slot : slots) {
    CHECK(std::string(section.version_of(slot)).starts_with("GLIBC_2."));
    CHECK(section.is_writable(slot.word));
    CHECK((*slot.word == dlsym(RTLD_DEFAULT, "malloc") || section.holds(*slot.word)));
  }
}

TEST_CASE("A library may call what it defines itself") {
  const dl_phdr_info library = named("libstdc++");
  const auto own = slots_of(library, "_Znwm"), others = slots_of(library, "malloc");
  REQUIRE_FALSE((own.empty() || others.empty()));
  const DynamicSection section(library);
  void* const itself =
      dlopen(library.dlpi_name, RTLD_LAZY | RTLD_NOLOAD);  // what comes before may define it, too
  REQUIRE(itself != nullptr);
  CHECK(section.defines(own.front(), dlsym(itself, "_Znwm")));
  CHECK_FALSE(section.defines(own.front(), dlsym(itself, "_Znam")));
  dlclose(itself);
  CHECK_FALSE(section.defines(others.front(), dlsym(RTLD_DEFAULT, "malloc")));
}

TEST_CASE("A weak reference to nothing has a slot without version") {
  const dl_phdr_info library = named("libstdc++");
  for (const ImportSlot& slot : slots_of(library, "__gmon_start__")) {
    const DynamicSection section(library);
    CHECK(section.version_of(slot) == nullptr);
    CHECK((*slot.word == nullptr ||
           section.holds(*slot.word)));  // not bound yet: an entry of the linkage table
  }
}

TEST_CASE("Any loaded module is read, also one that calls nothing") {
  for (const dl_phdr_info& info : loaded_modules()) {
    const DynamicSection section(info);
    std::size_t slots = 0;
    section.each_slot([&](const ImportSlot& slot) {
      ++slots;
      CHECK(section.holds(slot.word));
      CHECK(slot.name != nullptr);
    });
    CHECK((slots > 0 || info.dlpi_name[0] != '\0'));
  }
}

}  // namespace
}  // namespace culprit::runtime
