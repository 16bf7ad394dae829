#pragma once

#include "stacks/address_space.hpp"
#include "stacks/held_threads.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace culprit::stacks {

/// The call path of a thread, as addresses from the innermost frame outwards.
struct Walk {
  struct Step {
    std::uint64_t address = 0;
    bool exact = false;  ///< the innermost one, or one that a signal interrupted: no return address
  };
  std::vector<Step> steps;
  bool whole = false;  ///< it reached the thread's first frame
  bool starved =
      false;  ///< it needed memory that is not in the copy: another stack, or one with large arrays
};

/// Walks copied stacks of one process with libunwind, which gets what it needs from the copy and, of code and
/// unwind information, from the process's memory. Not thread-safe.
class Walker {
 public:
  static constexpr std::size_t kMaxDepth = 2048;

  /// `memory` outlives it.
  explicit Walker(AddressSpace& memory);
  ~Walker();
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  Walk walk(const ThreadCopy& thread);
  /// The same of a thread that is stopped now: what is not in the copy is read from it.
  Walk walk_stopped(const ThreadCopy& thread);
  /// To be called when the process's mappings have changed.
  void forget();

 private:
  struct State;
  Walk walk_on(const ThreadCopy& thread);
  bool leave_clone(const ThreadCopy& thread, Walk& walk);

  std::unique_ptr<State> state_;
};

}  // namespace culprit::stacks
