#pragma once

#include "cct/frame.hpp"
#include "measurement/kinds.hpp"
#include "measurement/live.hpp"
#include "runtime/state/thread.hpp"
#include "unwind/walker.hpp"

#include <cstdint>

// From a walk of the stack to a node of the thread's tree.
namespace culprit::runtime {

/// The frame that stands for code at `address`: its module and offset, or the raw address where no module is.
/// Async-signal-safe.
cct::FrameKey key_of_address(std::uint64_t address, cct::FrameKind kind);

/// What call-frame information did not say.
struct WalkFlaws {
  bool partial = false;   ///< the walk stopped early
  bool too_deep = false;  ///< since it had taken all the steps that a walk may take
  bool bridged = false;   ///< some frame's caller was found otherwise

  [[nodiscard]] bool any() const { return partial || bridged; }
};

/// Walks the calling thread's stack from `start` and returns the node of its call path. The thread must be
/// recording, with a tree, and with the sampling signal blocked. Async-signal-safe.
[[gnu::hot]] measurement::NodeIndex current_path(Thread* thread, const unwind::Registers& start,
                                                 WalkFlaws& flaws);

/// The same for the calls of an MPI wrapper, of which the first finds the node, and leaves it in `path`.
/// `here`: where to start if the path holds no start.
[[gnu::hot]] measurement::NodeIndex find_call_path(Thread* thread, const unwind::Registers& here,
                                                   CulpritPath& path);
inline measurement::NodeIndex call_path(Thread* thread, const unwind::Registers& here, CulpritPath& path) {
  return path.tree == thread->tree_number ? path.node : find_call_path(thread, here, path);
}

/// Optimized functions end in a jump to the last function that they call, and are gone from the stack there:
/// one whose last call gives a lock back, for instance. Of `node`, the end of the path in `thread`'s tree
/// that it walked last from stack pointer `sp`: the node for the place where that walk began. For a function
/// that ended in a tail call to there, that function; else the line of the innermost call. `earlier`: a call
/// that this function may have made, by which it is known where its caller does not name it; none: all 0.
/// Async-signal-safe, recording.
measurement::NodeIndex calling_place(Thread* thread, measurement::NodeIndex node, std::uint64_t sp,
                                     const CallPlace& earlier);

/// What code is marked with.
struct CodeMark {
  measurement::WaitKind kind = measurement::WaitKind::none;
  bool left = false;  ///< the thread's mark is of a call that a jump left
};

/// The mark of the code at `start`, whose path the thread walked last, with these flaws: a mark counts while
/// the frame that it was made in is on the stack, and not for a handler of the program's amid the call.
/// Async-signal-safe.
[[gnu::hot]] CodeMark current_mark(Thread* thread, const unwind::Registers& start, WalkFlaws flaws);

/// Counts the flaws of the thread's last walk, for which `elapsed` nanoseconds stand, in the thread and in
/// the modules concerned. Async-signal-safe.
void count_flaws(Thread* thread, WalkFlaws flaws, std::uint64_t elapsed);

}  // namespace culprit::runtime
