#pragma once

#include "cct/canonical.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace culprit::cct {

/// Unites the trees of many threads. Threads that ran the same code have the same tree: one whose node list
/// was seen before (equal by a 128-bit hash) costs one pass over its nodes and no look-up.
class TreeUnion {
 public:
  /// Per node of a united tree, its node in the union. Shared between alike trees; never null.
  using Mapping = std::shared_ptr<const std::vector<NodeId>>;

  /// The modules of `keys` (e.g. of one measurement) as ids of the union; pass the result to unite.
  std::vector<ModuleId> add_modules(std::span<const ModuleKey> keys) { return shared_.modules.unite(keys); }

  /// Adds one tree; see Tree::unite.
  Mapping unite(std::span<const Node> nodes, std::span<const ModuleId> modules);
  /// Adds another union, e.g. another rank's. Returns, per node of `from`, its node here.
  std::vector<NodeId> unite(const SharedTree& from) { return cct::unite(shared_, from); }

  [[nodiscard]] const SharedTree& shared() const { return shared_; }
  [[nodiscard]] const Tree& tree() const { return shared_.tree; }
  [[nodiscard]] const ModuleTable& modules() const { return shared_.modules; }

  /// Trees that were recognised instead of looked up.
  [[nodiscard]] std::uint64_t recognised() const { return recognised_; }

 private:
  struct Fingerprint {
    std::uint64_t low = 0, high = 0;
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  };
  struct FingerprintHash {
    std::size_t operator()(const Fingerprint& fingerprint) const { return fingerprint.low; }
  };

  /// Hashes the node list with the union's module ids, free of padding.
  Fingerprint fingerprint(std::span<const Node> nodes, std::span<const ModuleId> modules);
  void remember(const Fingerprint& fingerprint, const Mapping& mapping);

  SharedTree shared_;
  std::unordered_map<Fingerprint, Mapping, FingerprintHash> known_;
  std::size_t remembered_nodes_ = 0;  ///< Σ sizes of the mappings in known_
  std::uint64_t recognised_ = 0;
  std::vector<std::uint64_t> packed_;  ///< scratch of fingerprint()
};

}  // namespace culprit::cct
