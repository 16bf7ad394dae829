#pragma once

#include "structure/machine_code.hpp"
#include "structure/module.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace culprit::structure {

/// An edge that the instructions themselves do not show: into an exception handler.
struct Handler {
  Range calls;  ///< calls in here may throw into it
  std::uint64_t address = 0;
};

/// The basic blocks of one procedure and the edges between them.
class FlowGraph {
 public:
  struct Block {
    Range range;
    std::uint32_t first = 0, last = 0;      ///< its instructions, the last inclusive
    std::vector<std::uint32_t> successors;  ///< ascending
    bool branches = false;                  ///< ends in a conditional branch
  };

  /// What is known of a procedure besides its instructions.
  struct Surroundings {
    std::function<bool(std::uint64_t)> never_returns;  ///< of a call's target
    /// Targets of a computed jump (an index into the instructions); empty where they cannot be determined.
    std::function<std::vector<std::uint64_t>(std::span<const Instruction>, std::size_t)> jump_targets;
    std::vector<Handler> handlers;
  };

  /// `ranges`: the procedure's code, the first range starting at its entry.
  FlowGraph(const Decoder& decoder, std::vector<Range> ranges, const Surroundings& surroundings);

  /// Ascending by address.
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  [[nodiscard]] const std::vector<Instruction>& instructions() const { return instructions_; }
  /// Where execution starts: the entry's block, then blocks that no known edge reaches. An edge from such an
  /// unexplained part into one that was reached before is left out, so that it cannot hide a loop.
  [[nodiscard]] const std::vector<std::uint32_t>& roots() const { return roots_; }
  /// The block that holds `address`, kNone where none does.
  [[nodiscard]] std::uint32_t block_at(std::uint64_t address) const;

 private:
  void find_targets(const Surroundings& surroundings);
  void cut_blocks(const Surroundings& surroundings);
  void link(const Surroundings& surroundings);
  void link_unreached(std::uint64_t entry);
  [[nodiscard]] std::uint32_t instruction_at(std::uint64_t address) const;
  void reach(std::uint32_t from, std::vector<bool>& reached) const;

  std::vector<Instruction> instructions_;
  std::vector<bool> stops_;  // of each instruction: a call that never returns
  std::vector<std::pair<std::uint32_t, std::vector<std::uint64_t>>> computed_;  // instruction → its targets
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> roots_;
};

}  // namespace culprit::structure
