#pragma once

#include "database/database.hpp"
#include "merge/values/flat.hpp"
#include "merge/values/shape.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::merge {

/// Where values go when they are accumulated, worked out once for all threads. What is equal in every thread
/// has one place:
///  - A context with one child and no values of its own has that child's inclusive values. Such a chain, down
///  to the first context that differs, is a *group*. (A call and the procedure that it calls are one; deep
///  recursion, too.)
///  - A context without children has exclusive values equal to its inclusive ones; so has everything whose
///  exclusive values are those of one such context (a procedure of which one statement was sampled).
///  - Other contexts with the same contributions (a procedure and its only loop) share a row.
struct Plan {
  /// `valued`: per node of the united tree, whether any thread has values at it. The super-root's are always
  /// expected. `further`: contexts that have values beside, whether they are a node's or not.
  Plan(const Shape& shape, std::span<const std::uint8_t> valued,
       std::span<const database::ContextId> further = {});

  /// Groups: numbered so that a parent's number is smaller.
  std::vector<std::uint32_t> group_of;      ///< per context
  std::vector<std::uint32_t> group_parent;  ///< per group, kNone for that of context 0
  IdLists group_flat;  ///< per group: the flat scopes, but leaves, whose inclusive value its value adds to

  /// Slots: the contexts that values are recorded at, ascending.
  std::vector<database::ContextId> slots;
  std::vector<std::uint32_t> slot_of;  ///< per node of the united tree; kNone: no values are expected there
  std::vector<std::uint8_t>
      slot_leaf;           ///< per slot: its context has no children, so its values are its group's
  IdLists slot_exclusive;  ///< per slot: the exclusive rows that its value adds to

  /// Flat sources: the innermost flat scopes that slots are instances of. What a value adds to depends on
  /// nothing else.
  std::vector<std::uint32_t> slot_source;  ///< per slot; kNone: in no procedure
  std::size_t flat_sources = 0;
  IdLists source_flat;  ///< per source: the flat scopes whose exclusive value its value adds to
  std::vector<std::uint8_t>
      flat_leaf;  ///< per flat scope: nothing is below its instances: inclusive is exclusive

  /// Where a context's exclusive values are: those of a group (inclusive ones), of a row, or nowhere (both
  /// kNone).
  std::vector<std::uint32_t> exclusive_group, exclusive_row;
  std::size_t exclusive_rows = 0;

  /// Of a context that is known to have values.
  [[nodiscard]] std::size_t slot_at(database::ContextId context) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(slots, context) - slots.begin());
  }
  [[nodiscard]] std::size_t groups() const { return group_parent.size(); }

 private:
  void find_slots(const Shape& shape, std::span<const std::uint8_t> valued,
                  std::span<const database::ContextId> further);
  void find_groups(const Shape& shape, const FlatTargets& flat);
  void find_flat(const Shape& shape, const FlatTargets& flat);
  void find_exclusive(const Shape& shape);
};

}  // namespace culprit::merge
