#pragma once

#include <cstdint>
#include <filesystem>

namespace culprit::storage {

/// Bytes of memory that this process can still get: what the system has left without swapping, and what the
/// limits of its control groups leave (versions 1 and 2), whichever is least. 0 where the system does not
/// show. `root`: where /proc and /sys are looked for.
std::uint64_t free_memory(const std::filesystem::path& root = "/");

}  // namespace culprit::storage
