#pragma once

#include <string>

#include <sys/types.h>

namespace culprit::stacks {

/// Why this process may not be looked at, and what to do: `process 4711 (lmp): not permitted: … (…)`. `error`
/// is the errno of the attempt.
std::string explain_refusal(pid_t pid, int error);

/// `alice`, `user 1000` where it has no name.
std::string user_name(uid_t user);

}  // namespace culprit::stacks
