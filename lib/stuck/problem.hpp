#pragma once

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

}  // namespace culprit::stuck
