#pragma once

#include "database/database.hpp"
#include "merge/values/shape.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::merge {

/// Lists of ids, one per item, in one piece.
class IdLists {
 public:
  void add_list() { first_.push_back(static_cast<std::uint32_t>(ids_.size())); }
  void add(std::uint32_t id) {
    ids_.push_back(id);
    first_.back() = static_cast<std::uint32_t>(ids_.size());
  }
  [[nodiscard]] std::span<const std::uint32_t> operator[](std::size_t item) const {
    return std::span(ids_).subspan(first_[item], first_[item + 1] - first_[item]);
  }

 private:
  std::vector<std::uint32_t> first_{0};  ///< end of each list; the first entry is the beginning of all
  std::vector<std::uint32_t> ids_;
};

/// How a thread's values at contexts become its values at flat scopes (docs/algorithms.md 4), with recursion,
/// in one pass.
///
/// Inclusive: a context is an instance of its flat scope and of all that enclose it (file, module, all). A
/// flat scope's inclusive value is the sum over its *outermost* instances: those with no instance of the same
/// scope above them. They are disjoint subtrees, so nothing is counted twice, through direct or mutual
/// recursion alike. Exclusive: the sum over all instances, by the hybrid rule of docs/algorithms.md 3; files
/// and modules have the exclusive value of all their procedures.
class FlatTargets {
 public:
  explicit FlatTargets(const Shape& shape);

  /// The flat scopes whose inclusive value the inclusive value of context `x` adds to.
  [[nodiscard]] std::span<const database::FlatId> inclusive(database::ContextId x) const {
    return inclusive_[x];
  }
  /// The flat scopes whose exclusive value time recorded at context `x` itself adds to.
  [[nodiscard]] std::span<const database::FlatId> exclusive(database::ContextId x) const {
    return exclusive_[x];
  }

 private:
  void find_outermost(const Shape& shape);
  void find_exclusive(const Shape& shape);

  IdLists inclusive_, exclusive_;
};

/// The contexts whose exclusive value time recorded at context `x` adds to: itself; the loop or inlined
/// procedure that it directly belongs to; the procedure frame around it (docs/algorithms.md 3). For every
/// context.
IdLists exclusive_contexts(const Shape& shape);

}  // namespace culprit::merge
