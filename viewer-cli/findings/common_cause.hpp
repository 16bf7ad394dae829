#pragma once

#include "database/contents.hpp"
#include "findings/thread_times.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace culprit::viewer {

/// Code that makes others wait although no single loop or procedure in it does so for most of the time.
struct CommonCause {
  database::ContextId context = 0;
  ThreadTimes who;  ///< what it and what it calls cost others, by thread; without those with little of it
};

/// The innermost scope that with what it calls causes more than half of all waiting: the chemistry's solver,
/// of whose waiting twenty loops have a few percent each. None where one thread's single scope causes that
/// much, nor where ranks wait inside of it as well: that is said of every time loop. Cost: the depth of each
/// cause.
std::optional<CommonCause> common_cause(const database::Contents& experiment);

/// `Foam::Rosenbrock34::solve and what it calls, on rank 1`.
std::string common_cause_phrase(const database::Contents& experiment, const CommonCause& cause,
                                std::size_t width, bool unicode);

}  // namespace culprit::viewer
