#pragma once

#include "runtime/state/regions.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

// The names of the program's regions, once each. Lock-free and async-signal-safe throughout; names are never
// removed.
namespace culprit::runtime {

/// Bytes kept of a name; a longer one is cut between characters.
inline constexpr std::size_t kRegionNameBytes = 127;

/// Different names in a process. Programs that make up names as they go (an iteration's number in them) get
/// kFurtherRegions for the rest: each name is a node wherever it occurs, and nothing distinguishes them.
inline constexpr RegionName kRegionNames = 256;
inline constexpr RegionName kFurtherRegions = 0;

/// Finds or adds the name; null and empty count as "<region>".
RegionName region_name(const char* text);

/// Finds the name; kFurtherRegions where nobody has used it yet.
RegionName known_region_name(const char* text);

/// The name's entry in the measurement's module table, which must be open.
std::uint32_t region_module(RegionName name);

std::uint64_t hash_of_name(const char* text, std::size_t size);

/// The module table's entry for a name, with its hash. `known`: its index + 1, or 0 as long as there is none.
std::uint32_t module_of_name(std::atomic<std::uint32_t>& known, std::uint64_t hash, const char* text);

/// True once a name found no room.
bool region_names_full();

/// In a forked child, whose measurement knows no names yet.
void forget_region_modules();

}  // namespace culprit::runtime
