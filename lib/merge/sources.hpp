#pragma once

#include "database/database.hpp"

#include <span>
#include <string>
#include <vector>

namespace culprit::merge {

/// No source file larger than this is copied: it is generated code that nobody reads.
inline constexpr std::uint64_t kMaxSourceBytes = std::uint64_t{2} << 20;
/// All copies together; enough for the sampled part of any program, and it bounds the database.
inline constexpr std::uint64_t kMaxSourcesBytes = std::uint64_t{64} << 20;

/// Copies the source files that contexts name, ascending by path, as far as they are readable regular files
/// within the bounds. What cannot be copied is left out.
std::vector<database::SourceFile> copy_sources(std::span<const database::Context> contexts,
                                               std::span<const std::string> strings);

}  // namespace culprit::merge
