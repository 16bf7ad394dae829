// Partitions the measurement files over the ranks of the analysis (docs/algorithms.md 16): contiguous ranges
// in the order of paths, about the same number of bytes each, an open counted as 4 KiB. Of a path only what
// differs from the one before is kept.
#include "merge/input/divide.hpp"

#include "measurement/find.hpp"
#include "measurement/measurement.hpp"
#include "measurement/run_marker.hpp"
#include "merge/input/collectively.hpp"
#include "metrics/accumulator.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <sys/stat.h>

namespace culprit::merge {
namespace {

/// What reading a file costs, in bytes.
std::uint64_t weight_of(std::uint64_t bytes) {
  // Opening a file costs something, however small it is.
  constexpr std::uint64_t kBytesOfAnOpen = 4096;
  return bytes + kBytesOfAnOpen;
}

/// Enters a file, and returns its size; 0 where it is not known.
std::uint64_t look_at(const std::filesystem::path& path, Provenance& provenance) {
  constexpr mode_t kRead = 4;
  struct stat file {};
  // The owner of a link is among those who say what is merged.
  if (::lstat(path.c_str(), &file) != 0) return 0;
  provenance.owners.insert(file.st_uid);
  if (S_ISLNK(file.st_mode)) {
    if (::stat(path.c_str(), &file) != 0) return 0;
    provenance.owners.insert(file.st_uid);
  }
  if (!S_ISREG(file.st_mode)) return 0;
  provenance.readership.restrict_to(file, kRead);
  return static_cast<std::uint64_t>(file.st_size);
}

InputFiles find_files(const std::filesystem::path& directory, const std::filesystem::path& shared,
                      Provenance& provenance) {
  InputFiles files;
  std::filesystem::path first;
  try {
    static_cast<void>(
        measurement::read_run_marker(directory));  // of a version that this program knows, or none
    measurement::for_each_measurement(directory, [&](const std::filesystem::path& path) {
      if (first.empty()) first = path;
      files.add(path.native(), look_at(path, provenance));
    });
  } catch (const measurement::MeasurementError& error) {
    throw std::runtime_error("reading: " + error.path().string() + ": " + error.what());
  }
  if (files.size() == 0) {
    throw std::runtime_error(
        "reading: " + directory.string() +
        ": holds no measurement (was anything sampled? run: hpcrun-lite -o DIR program)");
  }
  // All have the same directories, but for shards, which are made together.
  provenance.readership.restrict_to(first, shared);
  return files;
}

std::vector<InputFiles> share_out(const InputFiles& files, std::size_t parts) {
  std::uint64_t total = 0;
  for (InputFiles::Cursor file(files); file.next();) total += weight_of(file.bytes());
  std::vector<InputFiles> shares(parts);
  std::uint64_t before = 0;
  for (InputFiles::Cursor file(files); file.next();) {
    shares[part_of(before, total, parts)].add(file.path(), file.bytes());
    before += weight_of(file.bytes());
  }
  return shares;
}

}  // namespace

void InputFiles::add(std::string_view path, std::uint64_t bytes) {
  const auto begins_alike = std::ranges::mismatch(last_, path).in1 - last_.begin();
  const auto same = static_cast<std::size_t>(begins_alike);
  const std::string_view rest = path.substr(same);
  const std::string_view rest_of_last = std::string_view(last_).substr(same);
  const auto ends_alike =
      std::mismatch(rest.rbegin(), rest.rend(), rest_of_last.rbegin(), rest_of_last.rend()).first -
      rest.rbegin();
  const auto same_at_end = static_cast<std::size_t>(ends_alike);
  packed_.put_varint(same);
  packed_.put_varint(same_at_end);
  packed_.put_string(rest.substr(0, rest.size() - same_at_end));
  packed_.put_varint(bytes);
  last_ = path;
  ++size_;
}

bool InputFiles::Cursor::next() {
  if (from_.remaining() == 0) return false;
  const std::size_t same = from_.get_varint();
  const std::size_t same_at_end = from_.get_varint();
  path_.replace(same, path_.size() - same - same_at_end, from_.get_string());
  bytes_ = from_.get_varint();
  return true;
}

InputFiles InputFiles::without(const Lost& lost) const {
  InputFiles rest;
  for (Cursor file(*this); file.next();) {
    if (!lost.contains(file.path())) rest.add(file.path(), file.bytes());
  }
  return rest;
}

exchange::Bytes InputFiles::take() && {
  return packed_.take();
}

InputFiles InputFiles::from(const exchange::Bytes& message) {
  InputFiles files;
  files.packed_.append(message);
  for (Cursor file(files); file.next();) ++files.size_;
  return files;
}

std::size_t part_of(std::uint64_t before, std::uint64_t total, std::size_t parts) {
  if (total == 0) return 0;
  const metrics::Uint128 part = metrics::Uint128{before} * parts / total;
  return static_cast<std::size_t>(std::min(part, metrics::Uint128{parts - 1}));
}

InputFiles divide(exchange::Communicator& comm, const std::filesystem::path& directory,
                  const std::filesystem::path& shared, Provenance& provenance) {
  std::vector<InputFiles> shares;
  collectively(comm, [&] {
    provenance = {};
    if (comm.rank() == 0)
      shares = share_out(find_files(directory, shared, provenance), static_cast<std::size_t>(comm.size()));
  });
  return InputFiles::from(
      scatter(comm, [&](int rank) { return std::move(shares[static_cast<std::size_t>(rank)]).take(); }));
}

}  // namespace culprit::merge
