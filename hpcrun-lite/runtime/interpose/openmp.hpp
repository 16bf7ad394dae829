#pragma once

#include "runtime/sampling/blame.hpp"

namespace culprit::runtime {

/// Lives while the calling thread waits for others of its team, in a run-time library that may do the
/// program's work meanwhile.
class TeamWait {
 public:
  TeamWait() : thread_(culprit_rt_thread.counted ? this_thread() : nullptr) {
    if (thread_ == nullptr) return;
    around_ = turn_unmarked(thread_, Activity::idles);
  }
  ~TeamWait() {
    if (thread_ != nullptr) turn_unmarked(thread_, around_);
  }
  TeamWait(const TeamWait&) = delete;
  TeamWait& operator=(const TeamWait&) = delete;

 private:
  Thread* thread_;
  Activity around_ = Activity::none;
};

/// Lives while the calling thread works for the program, wherever it was called from.
class TeamWork {
 public:
  TeamWork() : thread_(culprit_rt_thread.counted ? this_thread() : nullptr) {
    if (thread_ != nullptr) around_ = turn_unmarked(thread_, Activity::works);
  }
  ~TeamWork() {
    if (thread_ != nullptr) turn_unmarked(thread_, around_);
  }
  TeamWork(const TeamWork&) = delete;
  TeamWork& operator=(const TeamWork&) = delete;

 private:
  Thread* thread_;
  Activity around_ = Activity::none;
};

/// Whether `function` is of a library that reports its teams by itself (OMPT): libomp, which has libgomp's
/// entry points, too. Remembers the answer for the last library asked for.
bool is_followed_by_ompt(const void* function);

}  // namespace culprit::runtime
