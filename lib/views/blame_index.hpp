#pragma once

#include "database/contents.hpp"

#include <cstdint>

namespace culprit::views {

using Blame = database::BlameSums;

/// Blame by context (docs/algorithms.md 5.3), exclusive and inclusive.
class BlameIndex {
 public:
  /// `experiment` must outlive this.
  explicit BlameIndex(const database::Contents& experiment) : experiment_(experiment) {}

  /// B_E: idleness whose deepest balanced ancestor is `context`.
  [[nodiscard]] Blame exclusive(std::uint32_t role, database::ContextId context) const {
    return experiment_.blame.between(role, context, context + 1);
  }
  /// B_I: the same over the whole subtree.
  [[nodiscard]] Blame inclusive(std::uint32_t role, database::ContextId context) const {
    return experiment_.blame.between(role, context, experiment_.contexts[context].end);
  }

 private:
  const database::Contents& experiment_;
};

}  // namespace culprit::views
