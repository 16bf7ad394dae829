#pragma once

#include "unwind/walker.hpp"

#include <cstddef>

namespace culprit::runtime {

/// Whether a thread worked for us, by its innermost frames: in our code, or in the clock that it reads, which
/// is a third of what a traced call costs. `in_vdso`: the innermost frame is in the vdso.
inline bool works_for_us(const unwind::Frame* frames, std::size_t depth, bool in_vdso) {
  if (depth == 0) return false;
  if (frames[0].own) return true;
  // The C library lies between, unless it jumps there. What an MPI library reads is some calls further in.
  constexpr std::size_t kMostBetween = 1;
  for (std::size_t i = 1; in_vdso && i < depth && i <= 1 + kMostBetween; ++i) {
    if (frames[i].own) return true;
  }
  return false;
}

}  // namespace culprit::runtime
