#pragma once

#include "exchange/communicator.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace culprit::merge {

/// A file below the measurement directory.
struct InputEntry {
  std::string path;
  std::uint64_t bytes = 0;
};

/// Collective: rank 0 finds the measurement files below `directory`; every rank gets a contiguous range of
/// them, in the order of their paths, with about the same number of bytes. Throws std::runtime_error on every
/// rank where there are none.
std::vector<InputEntry> divide(exchange::Communicator& comm, const std::filesystem::path& directory);

/// The first index of each of `parts` contiguous ranges of `weights` with about the same sum, and
/// weights.size().
std::vector<std::size_t> even_ranges(const std::vector<std::uint64_t>& weights, std::size_t parts);

/// What reading each of these files costs, in bytes.
std::vector<std::uint64_t> weights_of(const auto& files) {
  std::vector<std::uint64_t> weights;
  weights.reserve(files.size());
  // Opening a file costs something, however small it is.
  constexpr std::uint64_t kBytesOfAnOpen = 4096;
  for (const auto& file : files) weights.push_back(file.bytes + kBytesOfAnOpen);
  return weights;
}

}  // namespace culprit::merge
