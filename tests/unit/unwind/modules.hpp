#pragma once

#include "unwind/walker.hpp"

#include <cstdint>
#include <memory>

namespace culprit::unwind::testing {

/// Finds modules of this process through glibc's _dl_find_object, and the vdso. A FindModule; context is
/// unused.
bool find_loaded_module(void* context, std::uint64_t pc, CodeModule& module);

/// A walker for this thread's stack.
std::unique_ptr<Walker> make_walker();

/// The bounds of this thread's stack.
struct Bounds {
  std::uint64_t low, high;
};
Bounds this_stack();

}  // namespace culprit::unwind::testing
