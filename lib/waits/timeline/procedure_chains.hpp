#pragma once

#include "waits/timeline/invocations.hpp"

#include <cstdint>
#include <vector>

namespace culprit::waits {

/// Chains of procedures, inlined ones included: what is left of a call path without call sites, lines and
/// loops (docs/algorithms.md 8). Code that several such paths lead to is compared as one. Without a tree,
/// each call path is a chain of its own. Thread-safe once made.
class ProcedureChains {
 public:
  static constexpr std::uint32_t kRoot = 0;

  ProcedureChains() = default;
  /// The tree's procedures; MPI calls are the innermost ones of theirs.
  explicit ProcedureChains(const CallPaths& paths);

  /// The chain of a call path of the tree.
  [[nodiscard]] std::uint32_t of(std::uint32_t context) const {
    return context < of_.size() ? of_[context] : context + 1;
  }
  /// The chain without its innermost procedure; of the root itself.
  [[nodiscard]] std::uint32_t parent(std::uint32_t chain) const {
    return chain < parent_.size() ? parent_[chain] : kRoot;
  }
  /// The chain that both begin with.
  [[nodiscard]] std::uint32_t common(std::uint32_t a, std::uint32_t b) const;

 private:
  std::vector<std::uint32_t> of_;      // by context
  std::vector<std::uint32_t> parent_;  // by chain; parents come before their children
};

}  // namespace culprit::waits
