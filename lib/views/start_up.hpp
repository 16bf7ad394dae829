#pragma once

#include "database/database.hpp"

#include <cstdint>
#include <vector>

namespace culprit::views {

/// A further flag of View::flags: frames of the C library and the linker that only lead to main or to a
/// thread's start routine, and what they do themselves.
inline constexpr std::uint8_t kStartUp = 0x80;

/// By context: database::ContextFlags, and kStartUp where it holds. A stripped program's `_start` is known by
/// its place below the root.
std::vector<std::uint8_t> flags_with_start_up(const database::Experiment& experiment);

}  // namespace culprit::views
