// The library that is loaded and unloaded.
#include "part.hpp"

#include <stdexcept>

extern "C" __attribute__((noinline)) std::uint64_t plugin_work(std::uint64_t seed, unsigned steps) {
  try {
    if (stress::digest(seed + 1, steps) != 0) throw std::runtime_error("thrown in the plugin");
  } catch (const std::exception&) {
    return stress::digest(seed, steps);
  }
  return 0;
}
