// dlopen, a call and a throw through the loaded code, dlclose: code comes and goes under the sampler.
#include "part.hpp"

#include <string>

#include <dlfcn.h>

namespace stress {
namespace {
std::string plugin;  // NOLINT(cert-err58-cpp): an empty string throws nothing
}

void set_plugin(const char* path) {
  plugin = path;
}

std::uint64_t load_and_unload() {
  std::uint64_t sum = 1;
  for (unsigned i = 0; i < 10; ++i) {
    void* library = dlopen(plugin.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) fail("dlopen");
    const auto work =
        reinterpret_cast<std::uint64_t (*)(std::uint64_t, unsigned)>(dlsym(library, "plugin_work"));
    if (work == nullptr) fail("dlsym");
    fold(sum, work(i, 2000));
    fold(sum, dlclose(library) == 0 ? 1 : 0);
  }
  return sum;
}

}  // namespace stress
