#pragma once

#include "structure/flow_graph.hpp"
#include "structure/line_table.hpp"
#include "structure/loops.hpp"
#include "structure/subprograms.hpp"

#include <cstdint>
#include <vector>

namespace culprit::structure {

/// Which inlined instance an address of one procedure belongs to: the innermost whose ranges hold it.
class InlineMap {
 public:
  explicit InlineMap(const std::vector<Inlined>& inlined);
  /// Index of the instance, kNone: the procedure itself.
  [[nodiscard]] std::uint32_t find(std::uint64_t address) const;
  /// The instance and those around it, outermost first.
  [[nodiscard]] std::vector<std::uint32_t> chain(std::uint32_t instance) const;
  /// Whether `inner` is `outer` or lies in it; kNone, the procedure, holds everything.
  [[nodiscard]] bool within(std::uint32_t inner, std::uint32_t outer) const;

 private:
  const std::vector<Inlined>& inlined_;
  std::vector<std::uint64_t> starts_;     // ascending; segment i ends where i + 1 starts
  std::vector<std::uint32_t> instances_;  // of each segment
};

/// Loops and inlined instances of one procedure brought into one nesting.
///
/// A loop lies in the innermost instance that holds all the branches which control it and most of its
/// instructions; an instance entered anew in every round of the loop lies in the loop. Controlling branches
/// are the conditional ones that leave the loop at its header or latches, else elsewhere.
///
/// A loop's line is the smallest of those of its controlling branches, as seen from the instance it lies in:
/// code inlined into the loop stands for its call site. (The header's own first instruction is no witness:
/// optimisers give it lines from before the loop.) A loop directly within one of the same line is no scope of
/// its own: compilers split loops to peel or rotate them (and make copies of them: unite_copies()).
class Nesting {
 public:
  Nesting(const std::vector<Inlined>& inlined, const FlowGraph& graph, const LoopForest& forest,
          const LineTable& lines);

  struct Element {
    Scope::Kind kind;
    std::uint32_t index;  ///< of the instance, or of the loop in the forest
  };
  /// What the scopes around an address follow from: the innermost instance and the innermost loop that hold
  /// it.
  struct Position {
    std::uint32_t instance = kNone, loop = kNone;
    friend auto operator<=>(const Position&, const Position&) = default;  // NOLINT(modernize-use-nullptr)
  };
  [[nodiscard]] Position position(std::uint64_t address) const;
  /// The scopes around a position, outermost first. Where an instruction lies in a loop of one instance but
  /// belongs to another (code was moved), the instance decides; where it belongs to a caller of the loop's
  /// instance, the loop.
  [[nodiscard]] std::vector<Element> path(Position position) const;
  [[nodiscard]] Place place(std::uint32_t loop) const { return placed_[loop].place; }
  [[nodiscard]] std::uint64_t header_address(std::uint32_t loop) const;

 private:
  [[nodiscard]] bool branch_leaves(const Loop& loop, const Instruction& branch) const;
  [[nodiscard]] std::vector<std::uint64_t> controls(const Loop& loop) const;
  [[nodiscard]] std::uint32_t instance_of(const Loop& loop, const std::vector<std::uint64_t>& controls,
                                          std::uint32_t around) const;
  [[nodiscard]] Place seen_from(std::uint32_t instance, std::uint64_t address) const;
  [[nodiscard]] Place place_of(const Loop& loop, const std::vector<std::uint64_t>& controls,
                               std::uint32_t instance) const;
  [[nodiscard]] SourceLines lines_of(std::uint32_t loop) const;
  [[nodiscard]] bool holds(const Loop& loop, std::uint64_t address) const;
  void append_loop(std::uint32_t loop, std::vector<Element>& path) const;
  void append_instances(std::uint32_t from, std::uint32_t to, std::vector<Element>& path) const;

  const std::vector<Inlined>& inlined_;
  const FlowGraph& graph_;
  const LoopForest& forest_;
  const LineTable& lines_;
  InlineMap map_;
  std::vector<std::uint32_t> instances_;  // of each instruction
  std::vector<PlacedLoop> placed_;        // of each loop
};

}  // namespace culprit::structure
