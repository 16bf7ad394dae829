#include "merge/divide.hpp"

#include "cct/message.hpp"
#include "measurement/measurement.hpp"
#include "merge/together.hpp"
#include "metrics/accumulator.hpp"

#include <numeric>
#include <span>
#include <stdexcept>
#include <system_error>

namespace culprit::merge {
namespace {

exchange::Bytes to_bytes(std::span<const InputEntry> files) {
  cct::MessageWriter message;
  message.value(std::uint64_t{files.size()});
  for (const InputEntry& file : files) {
    message.text(file.path);
    message.value(file.bytes);
  }
  return message.take();
}

std::vector<InputEntry> to_files(const exchange::Bytes& bytes) {
  cct::MessageReader message(bytes);
  std::vector<InputEntry> files(message.value<std::uint64_t>());
  for (InputEntry& file : files) {
    file.path = message.text();
    file.bytes = message.value<std::uint64_t>();
  }
  return files;
}

std::vector<InputEntry> find_files(const std::filesystem::path& directory) {
  std::vector<InputEntry> files;
  try {
    for (const std::filesystem::path& path : measurement::find_measurements(directory)) {
      std::error_code unknown_size;
      const auto bytes = std::filesystem::file_size(path, unknown_size);
      files.push_back({.path = path.string(), .bytes = unknown_size ? 0 : bytes});
    }
  } catch (const measurement::MeasurementError& error) {
    throw std::runtime_error("reading: " + error.path().string() + ": " + error.what());
  }
  if (files.empty()) {
    throw std::runtime_error(
        "reading: " + directory.string() +
        ": holds no measurement (was anything sampled? run: hpcrun-lite -o DIR program)");
  }
  return files;
}

}  // namespace

std::vector<std::size_t> even_ranges(const std::vector<std::uint64_t>& weights, std::size_t parts) {
  const std::uint64_t total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<std::size_t> first(parts + 1, weights.size());
  std::uint64_t before = 0;
  std::size_t part = 0;
  for (std::size_t i = 0; i < weights.size() && part < parts; ++i) {
    // Range `part` begins at the first item whose start lies at or beyond the part's share of the total.
    while (part < parts && metrics::Uint128{before} * parts >= metrics::Uint128{total} * part)
      first[part++] = i;
    before += weights[i];
  }
  return first;
}

std::vector<InputEntry> divide(exchange::Communicator& comm, const std::filesystem::path& directory) {
  std::vector<exchange::Bytes> shares(static_cast<std::size_t>(comm.size()));
  together(comm, [&] {
    if (comm.rank() != 0) return;
    const std::vector<InputEntry> files = find_files(directory);
    const auto ranges = even_ranges(weights_of(files), shares.size());
    for (std::size_t rank = 0; rank < shares.size(); ++rank)
      shares[rank] = to_bytes(std::span(files).subspan(ranges[rank], ranges[rank + 1] - ranges[rank]));
  });
  return to_files(comm.all_to_all(std::move(shares)).at(0));
}

}  // namespace culprit::merge
