#pragma once

#include "database/contents.hpp"
#include "views/figures.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::viewer {

/// A procedure that a suspect calls, and what the culprits work in it above the mean of all threads,
/// together.
struct SuspectPart {
  database::ContextId context = 0;  ///< of its call sites in the suspect, the first
  double excess_s = 0;
};

/// Where several procedures below a suspect hold a fifth of its excess each, these, most first: it is
/// suspected, and not they, since all that it does is uneven alike. `compared`: the threads of its role that
/// are compared. Reads per-thread values.
std::vector<SuspectPart> parts_of(const views::Figures& figures, const database::Suspect& suspect,
                                  std::span<const std::uint32_t> compared);

}  // namespace culprit::viewer
