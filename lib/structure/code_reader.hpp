#pragma once

#include "structure/flow_graph.hpp"
#include "structure/function_bounds.hpp"
#include "structure/jump_tables.hpp"
#include "structure/machine_code.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace culprit::structure {

/// Makes flow graphs of a module's procedures with all that the module shows beyond the instructions: jump
/// tables, exception handlers, callees that never return.
class CodeReader {
 public:
  CodeReader(const Module& module, const FunctionBounds& bounds);
  /// Whether the module's machine code can be read at all.
  [[nodiscard]] bool able() const { return module_.is_x86_64() || module_.is_aarch64(); }
  /// The graph of the procedure with these ranges, its entry's first. Empty where they hold more code than
  /// any procedure does.
  [[nodiscard]] FlowGraph read(const std::vector<Range>& ranges);

 private:
  bool never_returns(std::uint64_t callee);
  const Module& module_;
  const FunctionBounds& bounds_;
  Decoder decoder_;
  JumpTables tables_;
  std::unordered_map<std::uint64_t, bool> never_returns_;
};

}  // namespace culprit::structure
