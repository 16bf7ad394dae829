// Rules of the processor that this is built for.
#include "unwind/rule_reduction.hpp"

namespace culprit::unwind {

template Rule reduce_row(const Row& row, const FrameDescription& description, std::uint64_t limit,
                         std::uint64_t pc) noexcept;
template Rule compile_rule(const CodeModule& module, std::uint64_t pc, RowWorkspace& workspace) noexcept;

}  // namespace culprit::unwind
