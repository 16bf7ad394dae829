#include "sampled.hpp"

#include <stdexcept>

#include <dlfcn.h>
#include <link.h>

namespace sampled {

std::uint64_t address(const std::string& library, const char* procedure) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  void* symbol = dlsym(handle, procedure);
  Dl_info info{};
  link_map* map = nullptr;
  if (symbol == nullptr || dladdr1(symbol, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) {
    throw std::runtime_error(std::string("no procedure ") + procedure);
  }
  const std::uint64_t result = reinterpret_cast<std::uint64_t>(symbol) - map->l_addr;
  dlclose(handle);
  return result;
}

}  // namespace sampled
