// A function that ends in a tail call leaves its return address where it was: its caller seems to have called
// what it jumps to, but its call instruction names another function.
#include "runtime/recording/tail_call.hpp"

#include "runtime/modules/modules.hpp"
#include "runtime/recording/call_path.hpp"
#include "unwind/callee.hpp"

namespace culprit::runtime {

measurement::NodeIndex calling_place(Thread* thread, measurement::NodeIndex node, std::uint64_t sp,
                                     const CallPlace& earlier) {
  const unwind::Frame* const frames = thread->walker.mutable_frames();
  const std::size_t depth = thread->walker.depth();
  std::size_t innermost = 0;
  while (innermost < depth && frames[innermost].own) ++innermost;
  if (innermost == depth || frames[innermost].origin != unwind::FrameOrigin::call) return node;
  // A function that is still on the stack calls from no deeper than it called then.
  const std::uint64_t below = innermost == 0 ? sp : frames[innermost - 1].cfa;
  const bool was_inside = earlier.return_to != 0 && earlier.cfa < below;
  const std::uint64_t place = unwind::place_in_callee(find_module, nullptr, frames[innermost].pc,
                                                      was_inside ? earlier.return_to - 1 : 0);
  if (place != 0) return thread->tree->child(node, key_of_address(place, cct::FrameKind::call));
  const unwind::Frame& frame = frames[innermost];
  if (frame.user != node) return node;  // the tree is full
  return thread->tree->child(
      thread->tree->parent(node),
      {.offset = frame.offset, .module = frame.module, .kind = cct::FrameKind::sample});
}

}  // namespace culprit::runtime
