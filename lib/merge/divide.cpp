#include "merge/divide.hpp"

#include "cct/message.hpp"
#include "merge/together.hpp"
#include "metrics/accumulator.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace culprit::merge {
namespace {

struct File {
  std::string path;
  std::uint64_t bytes = 0;
};

exchange::Bytes to_bytes(const std::vector<File>& files) {
  cct::MessageWriter message;
  message.value(std::uint64_t{files.size()});
  for (const File& file : files) {
    message.text(file.path);
    message.value(file.bytes);
  }
  return message.take();
}

std::vector<File> to_files(const exchange::Bytes& bytes) {
  cct::MessageReader message(bytes);
  std::vector<File> files(message.value<std::uint64_t>());
  for (File& file : files) {
    file.path = message.text();
    file.bytes = message.value<std::uint64_t>();
  }
  return files;
}

/// Rank 0 looks; every rank gets the same list.
std::vector<File> find_files(exchange::Communicator& comm, const std::filesystem::path& directory) {
  exchange::Bytes message;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    std::vector<File> files;
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
    message = to_bytes(files);
  });
  comm.broadcast(message, 0);
  return to_files(message);
}

std::vector<std::uint64_t> weights_of(const auto& files) {
  std::vector<std::uint64_t> weights;
  weights.reserve(files.size());
  // Opening a file costs something, however small it is.
  constexpr std::uint64_t kBytesOfAnOpen = 4096;
  for (const auto& file : files) weights.push_back(file.bytes + kBytesOfAnOpen);
  return weights;
}

struct Summaries {
  std::vector<ProcessSummary> processes;
  std::vector<std::string> problems;
};

/// Reads this rank's share of the summaries and brings all together on rank 0.
Summaries gather_summaries(exchange::Communicator& comm, const std::vector<File>& files) {
  const auto ranges = even_ranges(weights_of(files), static_cast<std::size_t>(comm.size()));
  const auto here = static_cast<std::size_t>(comm.rank());
  Summaries mine;
  for (std::size_t i = ranges[here]; i < ranges[here + 1]; ++i) {
    try {
      mine.processes.push_back(summarize(files[i].path, files[i].bytes));
    } catch (const std::exception& error) {
      mine.problems.push_back(files[i].path + ": " + error.what());
    }
  }
  cct::MessageWriter message;
  message.value(std::uint64_t{mine.processes.size()});
  for (const ProcessSummary& summary : mine.processes) write(message, summary);
  Summaries all{.processes = {}, .problems = gather_lines(comm, mine.problems)};
  for (const exchange::Bytes& bytes : comm.gather(message.take(), 0)) {
    cct::MessageReader reader(bytes);
    const auto count = reader.value<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) all.processes.push_back(read_process_summary(reader));
  }
  return all;
}

/// Leaves only the processes of one run; says which files are of another.
void keep_one_run(Division& division) {
  const std::string run = prevailing_run(division.processes);
  std::erase_if(division.processes, [&](const ProcessSummary& process) {
    const std::string& id = process.process.run_id;
    const bool stranger = !id.empty() && id != run;
    if (stranger) {
      division.problems.push_back(process.path + ": belongs to run " + id + ", not to " + run +
                                  " like the others, and is left out (keep one run per directory)");
    }
    return stranger;
  });
}

}  // namespace

std::string prevailing_run(const std::vector<ProcessSummary>& processes) {
  const bool ranked = std::ranges::any_of(
      processes, [](const ProcessSummary& p) { return p.process.rank && !p.process.run_id.empty(); });
  std::map<std::string, std::uint64_t> votes;
  for (const ProcessSummary& process : processes) {
    if (process.process.run_id.empty() || (ranked && !process.process.rank)) continue;
    ++votes[process.process.run_id];
  }
  const auto most = std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  return most == votes.end() ? std::string() : most->first;
}

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

Division divide(exchange::Communicator& comm, const std::filesystem::path& directory) {
  const std::vector<File> files = find_files(comm, directory);
  Summaries summaries = gather_summaries(comm, files);
  Division division;
  division.processes = std::move(summaries.processes);
  division.unreadable = summaries.problems.size();
  division.problems = std::move(summaries.problems);
  std::vector<exchange::Bytes> shares(static_cast<std::size_t>(comm.size()));
  together(comm, [&] {
    if (comm.rank() != 0) return;
    keep_one_run(division);
    std::ranges::sort(division.processes, canonically_before);
    if (division.processes.empty()) {
      throw std::runtime_error("reading: " + directory.string() +
                               ": no readable measurement (first: " + division.problems.at(0) + ")");
    }
    const auto ranges = even_ranges(weights_of(division.processes), shares.size());
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
      std::vector<File> share;
      for (std::size_t i = ranges[rank]; i < ranges[rank + 1]; ++i) {
        share.push_back({.path = division.processes[i].path, .bytes = division.processes[i].bytes});
      }
      shares[rank] = to_bytes(share);
    }
  });
  for (const File& file : to_files(comm.all_to_all(std::move(shares)).at(0)))
    division.mine.push_back(file.path);
  division.total = comm.all_sum(division.mine.size());
  return division;
}

}  // namespace culprit::merge
