#pragma once

#include "measurement/live.hpp"
#include "unwind/known_walk.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::runtime {

/// The call paths that a thread's MPI calls came from lately, by the places of the calls. A program calls
/// from few of them again and again: to see that such a path has not changed costs less than to walk its
/// inner frames and to look up their nodes. Lives in zeroed memory: none.
class KnownPaths {
 public:
  struct Place {
    std::uint32_t tree;     ///< Thread::tree_number; 0: none
    std::uint32_t modules;  ///< their generation
    std::uint32_t regions;  ///< Regions::changes
    measurement::NodeIndex node;
    unwind::KnownWalk walk;
  };

  /// The only place where the path of a call is kept which returns to `site`, and whose wrapper's stack ends
  /// at `sp`.
  Place& of(std::uint64_t site, std::uint64_t sp) {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;
    return places_[((site ^ (sp << 8)) * kSpread) >> (64 - kBits)];
  }

 private:
  static constexpr unsigned kBits = 5;  // 35 KiB, touched as far as used
  Place places_[std::size_t{1} << kBits];
};

}  // namespace culprit::runtime
