#pragma once

#include <filesystem>

namespace culprit::files {

/// The running program's own file, links resolved: as /proc says, or, where /proc is not mounted, what it was
/// started by. Empty where neither says.
std::filesystem::path own_program();

}  // namespace culprit::files
