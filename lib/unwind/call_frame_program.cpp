// The call-frame instructions of the processor that this is built for.
#include "unwind/call_frame_program.hpp"

namespace culprit::unwind {

template bool row_at(const CodeModule& module, const FrameDescription& description, std::uint64_t pc,
                     RowWorkspace& workspace) noexcept;

}  // namespace culprit::unwind
