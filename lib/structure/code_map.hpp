#pragma once

#include "structure/module.hpp"
#include "structure/structure.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace culprit::structure {

/// What is known of a module's code, function by function: pieces of it, of all of whose addresses the same
/// is said. Where recover() says of the addresses asked for alone, this says of all addresses of the
/// functions that hold them; of others it says nothing.
class CodeMap {
 public:
  CodeMap() = default;
  /// `said.points` are parallel to `pieces`, in any order; what several hold is the first one's by address.
  /// `lasting`: see there.
  CodeMap(std::vector<Range> pieces, ModuleStructure said, bool lasting = true);

  /// Adds what `other` says of addresses that nothing is known of yet.
  void add(CodeMap other);

  /// Those of `addresses` that nothing is known of.
  [[nodiscard]] std::vector<std::uint64_t> unknown(std::span<const std::uint64_t> addresses) const;

  /// The structure around `addresses` (ascending), each of which lies in a piece: as recover() shows it.
  [[nodiscard]] ModuleStructure around(std::span<const std::uint64_t> addresses) const;

  /// Whether the same will be said as long as the module and its debug file stay as they are: not where
  /// debug information is split over files that other tools move, rebuild and delete (.dwo).
  [[nodiscard]] bool lasting() const { return lasting_; }
  /// Ascending, disjoint.
  [[nodiscard]] const std::vector<Range>& pieces() const { return pieces_; }
  /// What is said of each piece.
  [[nodiscard]] const ModuleStructure& said() const { return said_; }

 private:
  [[nodiscard]] std::optional<std::size_t> piece_at(std::uint64_t address) const;
  void put_in_order();

  std::vector<Range> pieces_;
  ModuleStructure said_;
  bool lasting_ = true;
};

/// The bytes of a map, as docs/formats.md states them ("Structure cache").
std::vector<std::byte> encode(const CodeMap& map);
/// Empty where the bytes are no map. Trusts nothing.
std::optional<CodeMap> decode_code_map(std::span<const std::byte> bytes);

}  // namespace culprit::structure
