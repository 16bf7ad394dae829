#pragma once

#include "database/database.hpp"

#include <cstdint>
#include <vector>

namespace culprit::views {

/// Blame in ns: idleness summed over the threads of a role, and its variants on minimum and maximum idleness.
struct Blame {
  std::uint64_t sum = 0, min = 0, max = 0;

  void add(const Blame& other) {
    sum += other.sum;
    min += other.min;
    max += other.max;
  }
};

/// Blame by context (algorithms.md 5.3), exclusive and inclusive, from the experiment's sparse rows.
class BlameIndex {
 public:
  explicit BlameIndex(const database::Experiment& experiment);

  /// B_E: idleness whose deepest balanced ancestor is `context`.
  [[nodiscard]] Blame exclusive(std::uint32_t role, database::ContextId context) const;
  /// B_I: the same over the whole subtree.
  [[nodiscard]] Blame inclusive(std::uint32_t role, database::ContextId context) const;

 private:
  [[nodiscard]] Blame between(std::uint32_t role, database::ContextId first, database::ContextId end) const;

  const database::Experiment& experiment_;
  std::vector<std::vector<Blame>> before_;  ///< per role: sums over the rows before the i-th, and over all
};

/// Blame by flat scope. Exclusive, for a procedure: what falls on its own code, loops and inlined code (files
/// and modules: the sum over their procedures); for other scopes: on the scope itself. Inclusive: on the
/// scope's outermost instances and all below them. What falls on a call site counts for the scope that holds
/// the call.
class FlatBlame {
 public:
  explicit FlatBlame(const database::Experiment& experiment);

  [[nodiscard]] Blame get(std::uint32_t role, database::FlatId scope, bool inclusive) const;

 private:
  struct Figures {
    Blame inclusive, exclusive;
  };
  std::vector<std::vector<Figures>> scopes_;  ///< [role][scope]
};

}  // namespace culprit::views
