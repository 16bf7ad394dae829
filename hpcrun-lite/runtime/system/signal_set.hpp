#pragma once

#include "runtime/system/system_calls.hpp"

#include <csignal>
#include <cstring>

// The C library's signal sets as the kernel's masks, which they begin with.
namespace culprit::runtime {

inline KernelMask mask_in(const sigset_t& set) {
  KernelMask mask = 0;
  memcpy(&mask, &set, sizeof mask);
  return mask;
}

inline void set_mask(sigset_t& set, KernelMask mask) {
  memcpy(&set, &mask, sizeof mask);
}

}  // namespace culprit::runtime
