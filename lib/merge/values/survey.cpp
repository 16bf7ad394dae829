// The first pass over the measurements (docs/algorithms.md 16): each rank of the analysis reads its files one
// at a time, keeps a packed summary of each process, and unites the trees. Summaries go to rank 0, which
// finds the run, its processes and duplicates; structure alone is reduced along a binomial tree, brought into
// canonical form and broadcast. Cost: 0.05 ms of CPU time per profile of 2000 frames; 21 bytes per united
// node and message (docs/scaling.md).
#include "merge/values/survey.hpp"

#include "cct/canonical.hpp"
#include "cct/message.hpp"
#include "cct/tree_union.hpp"
#include "measurement/measurement.hpp"
#include "merge/input/collectively.hpp"
#include "merge/input/lost_files.hpp"
#include "merge/input/own_frames.hpp"
#include "merge/input/read_ahead.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace culprit::merge {
namespace {

constexpr int kUnionTag = 201;

/// The union of some trees, and which of its nodes hold values; beside it, what else only the whole run
/// shows.
struct Trees {
  cct::TreeUnion all;
  FileModules modules;  ///< in it
  std::vector<std::uint8_t> valued;
  Transfers transfers;
  // Of this rank's files
  bool counts_calls = false, counts_polls = false, counts_bytes = false;

  void add(const measurement::Measurement& file);
  void add(const cct::SharedTree& shared, std::span<const std::uint8_t> their_valued);
};

void Trees::add(const measurement::Measurement& file) {
  transfers.add(file);
  const std::span<const cct::ModuleId> ids = modules.of(file, all);
  for (const measurement::ThreadProfile& thread : file.threads) {
    const std::span<const cct::NodeId> image = all.unite(thread.nodes, ids);
    valued.resize(all.tree().size());
    for (std::size_t node = 0; node < image.size(); ++node) {
      // Without a branch, which nobody could predict.
      valued[image[node]] |= static_cast<std::uint8_t>(thread.cell[node] != cct::kNoNode ? 1 : 0);
    }
    for (const measurement::Epoch& epoch : thread.epochs) {
      const bool counted = epoch.kind == measurement::EpochKind::call_count;
      counts_calls = counts_calls || counted;
      const bool polls = epoch.kind == measurement::EpochKind::polls_in_vain;
      counts_polls = counts_polls || polls;
      const bool bytes = epoch.kind == measurement::EpochKind::bytes_moved;
      counts_bytes = counts_bytes || bytes;
      if (counted || polls || bytes || epoch.kind == measurement::EpochKind::waiting_call)
        valued[image[epoch.node]] = 1;
      if (measurement::is_caused(epoch.kind)) valued[image[epoch.node]] = valued[image[0]] = 1;
    }
  }
}

void Trees::add(const cct::SharedTree& shared, std::span<const std::uint8_t> their_valued) {
  const std::vector<cct::NodeId> image = all.unite(shared);
  valued.resize(all.tree().size());
  for (std::size_t node = 0; node < their_valued.size(); ++node) valued[image[node]] |= their_valued[node];
}

/// A tree and which of its nodes hold values, as a message.
exchange::Bytes to_bytes(const cct::SharedTree& shared, const std::vector<std::uint8_t>& valued) {
  cct::MessageWriter message;
  cct::write(message, shared);
  message.values(valued);
  return message.take();
}

struct ValuedTree {
  cct::SharedTree shared;
  std::vector<std::uint8_t> valued;
};

ValuedTree to_tree(const exchange::Bytes& bytes) {
  cct::MessageReader message(bytes);
  ValuedTree tree{.shared = cct::read(message), .valued = message.values<std::uint8_t>()};
  tree.valued.resize(tree.shared.tree.size());
  return tree;
}

/// What is kept of summaries in memory, more goes to a file: some 80 000 processes.
constexpr std::size_t kSummariesInMemory = std::size_t{4} << 20;
constexpr std::size_t kBlockOfSummaries = std::size_t{4} << 10;

/// Collective: how summaries of all ranks' `files` are kept. Of each run a block stays in memory (two bytes
/// per process, where that is more than the above), so that they are merged without reading blocks again and
/// again.
storage::SpillOptions spill_options(exchange::Communicator& comm, const InputFiles& files,
                                    const std::filesystem::path& directory) {
  const std::uint64_t runs = comm.all_sum((files.size() + ProcessRuns::kRun - 1) / ProcessRuns::kRun);
  storage::SpillOptions options;
  options.directory = directory;
  options.purpose = "reading";
  options.memory = std::max<std::size_t>(kSummariesInMemory, 2 * runs * kBlockOfSummaries);
  options.block = kBlockOfSummaries;
  return options;
}

/// What one rank's files hold. Trees by run: which run is merged is known only when all files were seen, and
/// mostly there is one.
struct Local {
  explicit Local(storage::SpillOptions options)
      : spill(std::make_unique<storage::Spill>(std::move(options))), processes(*spill) {}

  Summarizer summarizer;
  std::unique_ptr<storage::Spill> spill;
  ProcessRuns processes;
  std::vector<std::string> unreadable;  ///< a line each
  std::vector<std::string> losses;      ///< of files that lack something, likewise
  std::map<std::string, Trees> trees;

  void read(const InputFiles& files, const Step& step);
};

/// Of what rank a file is by its name (docs/formats.md), where nothing else says it.
std::string rank_in_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  constexpr std::string_view kBefore = "rank-";
  if (!name.starts_with(kBefore)) return {};
  const std::size_t end = name.find_first_not_of("0123456789", kBefore.size());
  const std::size_t first = std::min(name.find_first_not_of('0', kBefore.size()), end - 1);
  if (end == std::string::npos || end == kBefore.size()) return {};
  return name.substr(first, end - first);
}

/// Why a file cannot be read, and what is lost with it.
std::string describe_unreadable(const measurement::MeasurementError& error, const std::string& path) {
  const std::string rank = rank_in_name(path);
  const std::string lost = rank.empty() ? "" : "; all of it, of rank " + rank + ", is missing";
  return path + ": " + error.what() + lost;
}

void Local::read(const InputFiles& files, const Step& step) {
  measurement::Reader reader;
  InputFiles::Cursor next(files);
  ReadAhead ahead(reader, [&] { return next.next() ? next.path().c_str() : nullptr; });
  for (InputFiles::Cursor file_at(files); file_at.next();) {
    const std::string& path = file_at.path();
    try {
      measurement::Measurement& file = reader.read(path, measurement::Extent::structure);
      drop_own_frames(file);
      std::string whose = path + ": ";
      if (file.process.rank) whose.append("rank ").append(std::to_string(*file.process.rank)).append(": ");
      for (const std::string& loss : file.losses) losses.push_back(whose + loss);
      if (file.process.threads_lost > 0)
        losses.push_back(whose + measurement::describe_lost_threads(file.process.threads_lost));
      processes.add(summarizer.summarize(file, path, file_at.bytes()));
      trees[file.process.run_id].add(file);
    } catch (const measurement::MeasurementError& error) {
      unreadable.push_back(describe_unreadable(error, path));
    }
    ahead.step();
    step();
  }
}

/// Collective: rank 0 gets the processes of one run, and says which files are of another. Returns the run, on
/// rank 0. Throws FilesLost where any is there twice.
std::string find_processes(exchange::Communicator& comm, Local& local, Survey& survey) {
  std::string run;
  std::vector<LostFile> duplicates;
  PackedRuns mine = local.processes.take();
  std::vector<PackedRuns> runs = gather(comm, local.summarizer, std::move(mine), *local.spill);
  collectively(comm, [&] {
    if (comm.rank() != 0) return;
    run = local.summarizer.prevailing_run();
    std::vector<std::string> strangers;
    Duplicates twice;
    survey.processes =
        ProcessTable(std::move(local.spill), std::move(runs), [&](const ProcessSummary& process) {
          const std::string& id = process.launch->run_id;
          const bool stranger = !id.empty() && id != run;
          if (stranger)
            strangers.push_back(process.path + ": belongs to run " + id + ", not to " + run +
                                " like the others, and is left out (keep one run per directory)");
          if (!stranger) twice.add(process);
          return !stranger;
        });
    duplicates = twice.found();
    std::ranges::sort(strangers);  // as files are read
    survey.problems.insert(survey.problems.end(), strangers.begin(), strangers.end());
    survey.quality = local.summarizer.quality(run);
    if (!run.empty()) survey.quality.add(local.summarizer.quality({}));
  });
  give_up_lost(comm, duplicates);
  return run;
}

/// This rank's trees of the run, and of processes that know no run.
Trees trees_of(std::map<std::string, Trees>& trees, const std::string& run) {
  Trees all = std::move(trees[run]);
  if (!run.empty()) {
    if (const auto unnamed = trees.find(""); unnamed != trees.end()) {
      all.add(unnamed->second.all.shared(), unnamed->second.valued);
      all.counts_calls = all.counts_calls || unnamed->second.counts_calls;
      all.counts_polls = all.counts_polls || unnamed->second.counts_polls;
      all.counts_bytes = all.counts_bytes || unnamed->second.counts_bytes;
    }
  }
  return all;
}

/// Collective: the union of all ranks' trees in canonical form, on every rank.
void unite(exchange::Communicator& comm, Trees& trees, Survey& survey) {
  const bool root = exchange::reduce_tree(
      comm, trees, kUnionTag, [](const Trees& value) { return to_bytes(value.all.shared(), value.valued); },
      to_tree, [](Trees& into, const ValuedTree& from) { into.add(from.shared, from.valued); });
  exchange::Bytes message;
  if (root) {
    const cct::Canonical canonical = cct::canonical(trees.all.shared());
    std::vector<std::uint8_t> valued(canonical.node.size());
    for (std::size_t node = 0; node < trees.valued.size(); ++node)
      valued[canonical.node[node]] = trees.valued[node];
    message = to_bytes(canonical.shared, valued);
  }
  comm.broadcast(message, 0);
  ValuedTree whole = to_tree(message);
  survey.shared = std::move(whole.shared);
  survey.valued = std::move(whole.valued);
}

}  // namespace

Survey survey(exchange::Communicator& comm, const InputFiles& files, const std::filesystem::path& directory,
              const Step& step) {
  Local local(spill_options(comm, files, directory));
  collectively(comm, [&] { local.read(files, step); });
  Survey survey;
  survey.problems = gather_lines(comm, local.unreadable);
  survey.unreadable = survey.problems.size();
  for (std::string& loss : gather_lines(comm, local.losses)) survey.problems.push_back(std::move(loss));
  std::string run = find_processes(comm, local, survey);
  const auto name = std::as_bytes(std::span(run));
  exchange::Bytes bytes(name.begin(), name.end());
  comm.broadcast(bytes, 0);
  run.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  survey.run = run;
  Trees trees = trees_of(local.trees, run);
  local.trees.clear();
  survey.counts_calls = comm.all_sum(trees.counts_calls ? 1 : 0) != 0;
  survey.counts_polls = comm.all_sum(trees.counts_polls ? 1 : 0) != 0;
  survey.counts_bytes = comm.all_sum(trees.counts_bytes ? 1 : 0) != 0;
  unite(comm, trees, survey);
  trees.transfers.agree(comm);
  survey.transfers = std::move(trees.transfers);
  return survey;
}

}  // namespace culprit::merge
