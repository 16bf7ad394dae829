#pragma once

#include "cct/message.hpp"
#include "cct/module_table.hpp"
#include "cct/tree.hpp"

#include <vector>

namespace culprit::cct {

/// A tree together with the table that its frames' modules index.
struct SharedTree {
  ModuleTable modules;
  Tree tree;
};

/// Adds `from` to `into` (union of modules and of contexts). Returns, per node of `from`, its node in `into`.
std::vector<NodeId> unite(SharedTree& into, const SharedTree& from);

/// The canonical form of a tree (docs/algorithms.md 1): modules in the order of their keys, nodes in
/// pre-order, children sorted by (module, offset, kind). It depends on the set of contexts only, never on the
/// order of insertion.
struct Canonical {
  SharedTree shared;
  std::vector<NodeId> node;      ///< old node → canonical node
  std::vector<ModuleId> module;  ///< old module → canonical module
};
Canonical canonical(const SharedTree& shared);

/// A tree and its modules as part of a message between ranks (cct/message.hpp). Node and module ids survive
/// the round trip.
void write(MessageWriter& message, const SharedTree& shared);

/// The reverse of write. Throws ArchiveError on any bytes that do not hold a tree.
SharedTree read(MessageReader& message);

}  // namespace culprit::cct
