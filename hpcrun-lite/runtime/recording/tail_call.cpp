// A function that ends in a tail call leaves its return address where it was: its caller seems to have called
// what it jumps to. So the caller's call instruction names another function than that in which the walk
// began. Where it takes the function from a register, as run-time libraries of OpenMP call the bodies of
// regions, the function is believed to be the one that made the earlier call, if that lies in another module
// than the caller. Cost: a search of the call-frame information.
#include "runtime/recording/tail_call.hpp"

#include "runtime/modules/modules.hpp"
#include "runtime/recording/call_path.hpp"
#include "unwind/call_frame.hpp"
#include "unwind/code_shapes.hpp"

namespace culprit::runtime {
namespace {

using unwind::CodeBytes;
using unwind::CodeModule;

/// Whether `place` lies in the function that begins at `begin`.
bool is_in_function(const CodeModule& module, std::uint64_t begin, std::uint64_t place) {
  unwind::FrameDescription function;
  return place >= module.begin && place < module.end && unwind::find_description(module, place, function) &&
         function.code_begin == begin;
}

/// A place in the function that the call which returns to `return_to` has called, if that is none of ours;
/// `earlier` where it lies there. 0: none is known.
std::uint64_t place_in_callee(std::uint64_t return_to, std::uint64_t earlier) {
  CodeModule caller, callee;
  if (!find_module(nullptr, return_to, caller)) return 0;
  CodeBytes code(&caller, return_to);
  std::uint64_t target = 0;
  if (unwind::names_callee(code, target)) {
    target = unwind::through_stub(caller, target);
    const bool known = find_module(nullptr, target, callee);
    if (known && callee.own) return 0;
    // The end of another instruction may look like such a call, but hardly leads to the beginning of a
    // function.
    if (known && is_in_function(callee, target, target))
      return is_in_function(callee, target, earlier) ? earlier : target;
  }
  CodeBytes again(&caller, return_to);
  const bool other = find_module(nullptr, earlier, callee) && !callee.own && callee.index != caller.index;
  return other && unwind::follows_call(again) ? earlier : 0;
}

}  // namespace

measurement::NodeIndex with_tail_caller(Thread* thread, measurement::NodeIndex node, std::uint64_t sp,
                                        const CallPlace& earlier) {
  const unwind::Frame* const frames = thread->walker.mutable_frames();
  const std::size_t depth = thread->walker.depth();
  std::size_t innermost = 0;
  while (innermost < depth && frames[innermost].own) ++innermost;
  if (innermost == depth || frames[innermost].origin != unwind::FrameOrigin::call) return node;
  // A function that is still on the stack calls from no deeper than it called then.
  const std::uint64_t below = innermost == 0 ? sp : frames[innermost - 1].cfa;
  const bool was_inside = earlier.return_to != 0 && earlier.cfa < below;
  const std::uint64_t place = place_in_callee(frames[innermost].pc, was_inside ? earlier.return_to - 1 : 0);
  return place == 0 ? node : thread->tree->child(node, key_of_address(place, cct::FrameKind::call));
}

}  // namespace culprit::runtime
