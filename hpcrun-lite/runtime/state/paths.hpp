#pragma once

#include "measurement/limits.hpp"
#include "unwind/known_walk.hpp"

#include <cstddef>
#include <cstdint>

// What a thread remembers of the call paths of its calls, between one and the next.
namespace culprit::runtime {

/// Hashes multiply by it: odd, with its bits well mixed.
inline constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;

/// Interposed functions (poll, MPI_Finalize) whose wrappers are on a thread's stack; innermost last. Kept
/// as plain addresses, so that an entry which a longjmp left behind is recognised by its place on the stack
/// and never followed.
struct InterposedFunctions {
  static constexpr std::uint32_t kMax = 8;
  std::uintptr_t stack[kMax];
  std::uintptr_t function[kMax];
  std::uint32_t depth;
};

/// Where the last interposed functions lie, for as long as modules and file are the same. To look for one
/// in the loader's tables and in those of the file costs as much as all else that a call's path does, and far
/// more when they are not in the caches.
class FunctionPlaces {
 public:
  struct Place {
    std::uintptr_t function;  ///< 0: none
    std::uint64_t offset;
    std::uint32_t module;
  };
  /// The only place where a function's is kept.
  Place& of(std::uintptr_t function) { return places_[(function >> 4 ^ function >> 12) % kMax]; }
  void forget() {
    for (Place& place : places_) place.function = 0;
  }

 private:
  static constexpr std::size_t kMax =
      32;  ///< functions begin at multiples of 16; programs call a dozen of MPI's
  Place places_[kMax];
};

/// The call paths that a thread's MPI calls came from lately, by the places of the calls. A program calls
/// from few of them again and again: to see that such a path has not changed costs less than to walk its
/// inner frames and to look up their nodes. Lives in zeroed memory: none.
class KnownPaths {
 public:
  struct Place {
    std::uint32_t tree;     ///< Thread::tree_number; 0: none
    std::uint32_t modules;  ///< their generation
    std::uint32_t regions;  ///< Regions::changes
    std::uint64_t python;   ///< hash_of(PythonChain)
    measurement::NodeIndex node;
    unwind::KnownWalk walk;
  };

  /// The only place where the path of a call is kept which returns to `site`, and whose wrapper's stack ends
  /// at `sp`, from the same Python functions (hash_of(PythonChain)).
  Place& of(std::uint64_t site, std::uint64_t sp, std::uint64_t python) {
    return places_[((site ^ (sp << 8) ^ python) * kSpread) >> (64 - kBits)];
  }

 private:
  static constexpr unsigned kBits = 5;  // 35 KiB, touched as far as used
  Place places_[std::size_t{1} << kBits];
};

}  // namespace culprit::runtime
