#include "merge/survey.hpp"

#include "cct/archive.hpp"
#include "cct/message.hpp"
#include "cct/tree_union.hpp"
#include "measurement/measurement.hpp"
#include "merge/own_frames.hpp"
#include "merge/read_ahead.hpp"
#include "merge/together.hpp"

#include <algorithm>
#include <map>

namespace culprit::merge {
namespace {

constexpr int kUnionTag = 201;

/// The union of some trees, and which of its nodes hold values; beside it, what else only the whole run
/// tells.
struct Trees {
  cct::TreeUnion all;
  std::vector<std::uint8_t> valued;
  Transfers transfers;

  void add(const measurement::Measurement& file);
  void add(const cct::SharedTree& shared, std::span<const std::uint8_t> their_valued);
};

void Trees::add(const measurement::Measurement& file) {
  transfers.add(file);
  std::vector<cct::ModuleKey> keys;
  keys.reserve(file.modules.size());
  for (const measurement::Module& module : file.modules) keys.push_back(module.key);
  const std::vector<cct::ModuleId> modules = all.add_modules(keys);
  for (const measurement::ThreadProfile& thread : file.threads) {
    const std::span<const cct::NodeId> image = all.unite(thread.nodes, modules);
    valued.resize(all.tree().size());
    for (std::size_t node = 0; node < image.size(); ++node) {
      // Without a branch, which nobody could predict.
      valued[image[node]] |= static_cast<std::uint8_t>(thread.cell[node] != cct::kNoNode ? 1 : 0);
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

/// What one rank's files hold. Trees by run: which run is merged is known only when all files were seen, and
/// mostly there is one.
struct Local {
  Summarizer summarizer;
  std::vector<ProcessSummary> processes;
  std::vector<std::string> problems;
  std::map<std::string, Trees> trees;
};

Local read_files(std::span<const InputEntry> files, const Step& step) {
  Local local;
  local.processes.reserve(files.size());  // of so many, what doubling reserves in vain would count
  measurement::Reader reader;
  auto next = files.begin();
  ReadAhead ahead(reader, [&] { return next == files.end() ? nullptr : (next++)->path.c_str(); });
  for (const InputEntry& entry : files) {
    try {
      measurement::Measurement& file = reader.read(entry.path, measurement::Extent::structure);
      drop_own_frames(file);
      local.processes.push_back(local.summarizer.summarize(file, entry.path, entry.bytes));
      local.trees[file.process.run_id].add(file);
    } catch (const measurement::MeasurementError& error) {
      local.problems.push_back(entry.path + ": " + error.what());
    }
    ahead.step();
    step();
  }
  return local;
}

/// Rank 0 gets all summaries.
std::vector<ProcessSummary> gather(exchange::Communicator& comm, Local& local) {
  std::vector<ProcessSummary> all;
  cct::MessageWriter message;
  if (comm.rank() == 0) {
    all = std::move(local.processes);
  } else {
    local.summarizer.write(message, local.processes);
    local.processes = {};
  }
  const std::vector<exchange::Bytes> parts = comm.gather(message.take(), 0);
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    cct::MessageReader reader(parts[rank]);
    local.summarizer.read(reader, all);
  }
  return all;
}

/// Leaves only the processes of one run, and says which files are of another. Returns the run.
std::string keep_one_run(Survey& survey) {
  std::string run = prevailing_run(survey.processes);
  std::erase_if(survey.processes, [&](const ProcessSummary& process) {
    const std::string& id = process.launch->run_id;
    const bool stranger = !id.empty() && id != run;
    if (stranger) {
      survey.problems.push_back(process.path + ": belongs to run " + id + ", not to " + run +
                                " like the others, and is left out (keep one run per directory)");
    }
    return stranger;
  });
  return run;
}

/// This rank's trees of the run, and of processes that know no run.
Trees trees_of(std::map<std::string, Trees>& trees, const std::string& run) {
  Trees all = std::move(trees[run]);
  if (!run.empty()) {
    if (const auto unnamed = trees.find(""); unnamed != trees.end())
      all.add(unnamed->second.all.shared(), unnamed->second.valued);
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

std::string prevailing_run(const std::vector<ProcessSummary>& processes) {
  const bool ranked = std::ranges::any_of(
      processes, [](const ProcessSummary& p) { return p.rank && !p.launch->run_id.empty(); });
  std::map<std::string, std::uint64_t> votes;
  for (const ProcessSummary& process : processes) {
    if (process.launch->run_id.empty() || (ranked && !process.rank)) continue;
    ++votes[process.launch->run_id];
  }
  const auto most = std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  return most == votes.end() ? std::string() : most->first;
}

Survey survey(exchange::Communicator& comm, std::span<const InputEntry> files, const Step& step) {
  Local local;
  together(comm, [&] { local = read_files(files, step); });
  Survey survey;
  survey.processes = gather(comm, local);
  survey.problems = gather_lines(comm, local.problems);
  survey.unreadable = survey.problems.size();
  exchange::Bytes run;
  if (comm.rank() == 0) {
    const std::string name = keep_one_run(survey);
    survey.quality = local.summarizer.quality(name);
    if (!name.empty()) survey.quality.add(local.summarizer.quality({}));
    std::ranges::sort(survey.processes, canonically_before);
    const auto bytes = std::as_bytes(std::span(name));
    run.assign(bytes.begin(), bytes.end());
  }
  comm.broadcast(run, 0);
  Trees trees = trees_of(local.trees, std::string(reinterpret_cast<const char*>(run.data()), run.size()));
  local.trees.clear();
  unite(comm, trees, survey);
  trees.transfers.agree(comm);
  survey.transfers = std::move(trees.transfers);
  return survey;
}

}  // namespace culprit::merge
