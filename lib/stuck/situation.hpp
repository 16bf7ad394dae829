#pragma once

#include "stuck/waits_for.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::stuck {

enum class ProblemKind : std::uint8_t {
  deadlock,
  missing_in_collective,
  mismatch,
  no_partner,
  thread_deadlock,
  not_moving
};

/// As json has it.
constexpr std::string_view name_of(ProblemKind kind) {
  constexpr std::string_view kNames[] = {"deadlock",   "missing-in-collective", "mismatch",
                                         "no-partner", "thread-deadlock",       "not-moving"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct Problem {
  ProblemKind kind = ProblemKind::deadlock;
  std::vector<std::int32_t> ranks;  ///< ascending; those of the cycle, those that are missing, …
  std::string text;                 ///< one sentence or two
  std::string verdict = {};         ///< in place of that of its kind
};

/// A thread that has been in one call since the first look.
struct Waiting {
  std::size_t process = 0, thread = 0;  ///< in the picture
  double since_s = 0;
  std::vector<std::int32_t> ranks;  ///< that it waits for
};

/// A thread that is in no call, or in another one than at the first look.
struct Moving {
  std::size_t process = 0, thread = 0;
};

/// A thread that stands in one call.
struct Standing {
  const Process* process = nullptr;
  const Thread* thread = nullptr;
  Waiting row;
  WaitsFor waits;
};

/// Who can still act. A rank can unless all of its threads stand in calls that only ranks which cannot may
/// end, or it is gone. Found by starting from those that run and going on to whom they can set free, until
/// nobody is added: O(edges from waiting calls to ranks).
class Situation {
 public:
  Situation(const Picture& now, const Picture* before);

  [[nodiscard]] const Ranks& ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<Standing>& standing() const { return standing_; }
  [[nodiscard]] const std::vector<Moving>& moving() const { return moving_; }
  /// It stands in calls, and nobody who can act ends them.
  [[nodiscard]] bool is_blocked(std::int32_t rank) const { return is(State::blocked, rank); }
  /// It ended, died or is stopped.
  [[nodiscard]] bool is_gone(std::int32_t rank) const { return is(State::gone, rank); }
  [[nodiscard]] bool is_waiting(std::int32_t rank) const {
    return is(State::waiting, rank) || is(State::blocked, rank);
  }
  [[nodiscard]] std::size_t blocked() const;

 private:
  enum class State : std::uint8_t { free, waiting, blocked, gone };
  [[nodiscard]] bool is(State state, std::int32_t rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < state_.size() &&
           state_[static_cast<std::size_t>(rank)] == state;
  }
  void look_at(std::size_t process, bool only_look, const Process* before);
  void find_blocked();

  Ranks ranks_;
  std::vector<Standing> standing_;
  std::vector<Moving> moving_;
  std::vector<State> state_;
};

/// Of a job that is over there is one look only: shorter waits may have been about to end.
inline constexpr double kShortestAtEnd = 2;

// The rules, each of which adds what it finds (docs/job-hangs.md).
void find_deadlocks(const Situation& situation, std::vector<Problem>& problems);
void find_thread_deadlocks(const Picture& now, const Picture* before, std::vector<Problem>& problems);
void find_mismatches(const Situation& situation, std::vector<Problem>& problems);
void find_missing(const Situation& situation, std::vector<Problem>& problems);
void find_without_partner(const Situation& situation, std::vector<Problem>& problems);
void find_waits_for_gone(const Situation& situation, std::vector<Problem>& problems);
void find_gone(const Situation& situation, std::vector<Problem>& problems);
void find_unmoving(const Situation& situation, const Picture* before, double patience_s,
                   std::vector<Problem>& problems);

}  // namespace culprit::stuck
