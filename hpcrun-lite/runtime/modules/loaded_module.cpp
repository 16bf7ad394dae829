#include "runtime/modules/loaded_module.hpp"

#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <atomic>

namespace culprit::runtime {
namespace {

std::atomic<std::uint32_t> generation{1};
std::atomic<std::uint32_t> unloading{0};

}  // namespace

bool module_is_unloading() {
  return unloading.load(std::memory_order_acquire) != 0;
}

void forget_unloading() {
  unloading.store(0, std::memory_order_relaxed);
}

std::uint32_t module_generation() {
  return generation.load(std::memory_order_acquire);
}

}  // namespace culprit::runtime

/// What an unloaded module's addresses mean may change from here on, and during the call.
CULPRIT_EXPORT int dlclose(void* handle) {
  static CULPRIT_REAL culprit::runtime::Real<int(void*)> real{"dlclose"};
  culprit::runtime::unloading.fetch_add(1, std::memory_order_acq_rel);
  culprit::runtime::generation.fetch_add(1, std::memory_order_acq_rel);
  const int result = real(handle);
  culprit::runtime::generation.fetch_add(1, std::memory_order_acq_rel);
  // A child that was forked in the middle has forgotten it.
  if (culprit::runtime::module_is_unloading())
    culprit::runtime::unloading.fetch_sub(1, std::memory_order_acq_rel);
  return result;
}
