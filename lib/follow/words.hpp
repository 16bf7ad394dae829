#pragma once

#include "follow/live_tree.hpp"

#include <string>
#include <string_view>

namespace culprit::follow {

/// `solve.c:41`; empty where no line is known.
std::string line_in_words(const Code& code, std::uint32_t file, std::uint32_t line);
/// `assemble at solve.c:41`, `MPI_Allreduce (solve at solve.c:52)`, `code without a name`.
std::string in_words(const Spot& spot, const Code& code);
/// `61 %`.
std::string percent(double share);
/// A name without its parameters.
std::string short_name(std::string_view name);

}  // namespace culprit::follow
