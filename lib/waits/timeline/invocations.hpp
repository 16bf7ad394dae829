#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace culprit::waits {

/// The united tree, as far as variation over time needs it.
struct CallPaths {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> parent;  ///< by context; kNone at the root. Parents come before their children
  std::vector<std::uint32_t>
      procedure;  ///< by context: which procedure's frame it is, over all call paths; or kNone

  /// Whether `context` is a frame of the procedure or below one.
  [[nodiscard]] bool lies_in(std::uint32_t context, std::uint32_t of) const {
    for (; context < parent.size(); context = parent[context]) {
      if (procedure[context] == of) return true;
    }
    return false;
  }
};

/// A call of a path that is the first MPI call path of some procedure on its time line. There may be
/// millions: 32 bytes, which are packed in a row.
struct RecurringCall {
  std::uint32_t event = 0;  ///< its index on the time line
  std::uint32_t context = 0;
  std::uint32_t depth = 0;  ///< of the outermost scope that control came back to since the call of it before;
                            ///< of the first one, any
  std::uint32_t unused = 0;  ///< not left out: what lies there is packed with the rest
  std::uint64_t enter_ns = 0;
  std::uint64_t calls_ns = 0;  ///< that all calls of the line before it took
};

/// How a procedure begins anew on a time line: by its stamps, or with those calls of a path before which
/// control came back to a scope at a depth, or farther out; and with the first. Of stamped ones only `count`
/// is known besides.
struct Invocations {
  std::uint32_t procedure = CallPaths::kNone;
  bool stamped = false;
  std::uint32_t context = CallPaths::kNone;  ///< the first MPI call path below the procedure
  std::uint32_t depth = 0;
  std::uint32_t end_event = 0;  ///< behind the last call below the procedure
  std::uint64_t count = 0;
  std::uint64_t end_ns = 0;        ///< when that call was left
  std::uint64_t end_calls_ns = 0;  ///< what it and all calls of the line before it took
};

/// Those of one time line.
struct LineInvocations {
  std::size_t first = 0, last = 0;  ///< its recurring calls: from `first` to before `last`
  bool in_order = true;             ///< each call was entered after the one before was left
  std::vector<Invocations> of;      ///< one of each procedure that was seen

  /// nullptr: the procedure was not seen.
  [[nodiscard]] const Invocations* find(std::uint32_t procedure) const {
    const auto found = std::find_if(
        of.begin(), of.end(), [procedure](const Invocations& one) { return one.procedure == procedure; });
    return found == of.end() ? nullptr : &*found;
  }
};

}  // namespace culprit::waits
