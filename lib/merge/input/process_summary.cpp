// Summarizes processes: the part of a measurement that merging keeps after the first pass (docs/algorithms.md
// 16). Processes of one launch share what they have in common; most compare equal to the one before. The
// canonical order is that of the database's locations: ranks by rank, then the other processes by host and
// pid; of copies the one that ended last comes first, so that the others are left out. The run that is merged
// is the one to which most ranks belong.
#include "merge/input/process_summary.hpp"

#include "measurement/trace.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>

namespace culprit::merge {

namespace {

/// One that is empty is one, too: who opens it says what is wrong with it.
std::uint64_t trace_bytes(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(measurement::trace::trace_path(path), error);
  return error ? 0 : std::max<std::uint64_t>(size, 1);
}

}  // namespace

bool canonically_before(const ProcessSummary& a, const ProcessSummary& b) {
  // Of copies, first the one that shows most.
  const auto key = [](const ProcessSummary& s) {
    return std::tuple<bool, std::int32_t, const std::string&, std::uint64_t, std::uint64_t, std::uint64_t,
                      std::uint64_t, bool, const std::string&>(!s.rank.has_value(), s.rank.value_or(0),
                                                               s.launch->host, s.pid, s.start_ns, s.key,
                                                               ~s.end_ns, s.trace_bytes == 0, s.path);
  };
  return key(a) < key(b);
}

std::shared_ptr<const Launch> Summarizer::share(Launch&& launch) {
  if (last_ && *last_ == launch) return last_;
  const auto [first, last] = launches_.equal_range(launch.host);
  const auto known = std::find_if(first, last, [&](const auto& entry) { return *entry.second == launch; });
  if (known != last) return last_ = known->second;
  last_ = std::make_shared<const Launch>(std::move(launch));
  launches_.emplace(last_->host, last_);
  return last_;
}

std::shared_ptr<const cct::ModuleKey> Summarizer::share(const cct::ModuleKey& key) {
  auto& known = modules_[key];
  if (!known) known = std::make_shared<const cct::ModuleKey>(key);
  return known;
}

namespace {

/// All but the executable.
Launch launch_of(const measurement::ProcessInfo& process) {
  return {.host = process.host,
          .run_id = process.run_id,
          .mpi = process.mpi,
          .program = process.program,
          .directory = process.directory,
          .arguments = process.arguments,
          .world_size = process.world_size,
          .whole_world = process.whole_world,
          .events = process.events,
          .has_realtime = process.has_realtime,
          .notes = process.notes,
          .executable = {}};
}

}  // namespace

namespace {

bool starts_std_threads(const std::string& module) {
  return std::filesystem::path(module).filename().string().starts_with("libstdc++.so");
}

}  // namespace

std::vector<EntryFrame> Summarizer::entry_of(const measurement::Measurement& file,
                                             const measurement::ThreadProfile& thread) {
  const std::size_t nodes = thread.nodes.size();
  std::vector<std::uint32_t> depth(nodes), by_depth, number(nodes);
  for (std::size_t i = 1; i < nodes; ++i) {
    const cct::NodeId parent = thread.nodes[i].parent;
    const bool whole =
        parent != 0 && (depth[parent] > 0 || thread.nodes[parent].frame.kind == cct::FrameKind::thread_root);
    if (!whole) continue;  // stacks that are known in part begin anywhere
    depth[i] = depth[parent] + 1;
    by_depth.push_back(static_cast<std::uint32_t>(i));
  }
  std::ranges::stable_sort(by_depth, {}, [&depth](std::uint32_t node) { return depth[node]; });
  std::vector<EntryFrame> entry;
  for (const std::uint32_t i : by_depth) {
    const cct::Node& node = thread.nodes[i];
    const bool known = depth[i] == 1 || number[node.parent] != 0;
    if (!known || node.frame.module >= file.modules.size()) continue;
    entry.push_back({share(file.modules[node.frame.module].key), node.frame.offset, number[node.parent]});
    number[i] = static_cast<std::uint32_t>(entry.size());
    if (entry.size() == kEntryFrames) break;
  }
  return entry;
}

ProcessSummary Summarizer::summarize(const measurement::Measurement& file, std::string path,
                                     std::uint64_t bytes) {
  const measurement::ProcessInfo& process = file.process;
  const std::uint64_t traced = file.process.traced ? trace_bytes(path) : 0;
  ProcessSummary summary{.path = std::move(path),
                         .bytes = bytes,
                         .pid = process.pid,
                         .rank = process.rank,
                         .start_ns = process.start_ns,
                         .end_ns = process.end_ns,
                         .start_realtime_ns = process.start_realtime_ns,
                         .key = process.key,
                         .forked = process.forked,
                         .end = process.end,
                         .iterations = process.iterations,
                         .trace_bytes = traced,
                         .trace_lost = file.process.traced && traced == 0,
                         .flaws = {},
                         .threads = {}};
  Launch launch = launch_of(process);
  for (const measurement::Module& module : file.modules) {
    if (module.executable) launch.executable = module.key;
    if (!module.no_unwind && module.bridged == 0 && module.partial == 0) continue;
    summary.flaws.push_back({.module = share(module.key),
                             .bridged = module.bridged,
                             .partial = module.partial,
                             .no_unwind = module.no_unwind});
  }
  summary.launch = share(std::move(launch));
  SamplingQuality& quality = quality_[process.run_id];
  quality.samples_lost += process.samples_lost;
  summary.threads.reserve(file.threads.size());
  for (const measurement::ThreadProfile& thread : file.threads) {
    summary.cells += thread.cells.size();
    ThreadSummary& t = summary.threads.emplace_back();
    t.ordinal = thread.ordinal;
    t.start_ns = thread.start_ns;
    t.end_ns = thread.end_ns;
    t.lived_ns = thread.lived_ns;
    quality.sum.add(thread.quality);
    if (thread.quality.most_halvings > 0) ++quality.slowed;
    t.worker = thread.ordinal != 0;
    const std::uint32_t start = thread.start_routine.module;
    if (t.worker && start < file.modules.size() && !file.modules[start].key.path.empty()) {
      t.start_module = share(file.modules[start].key);
      t.start_offset = thread.start_routine.offset;
      if (starts_std_threads(t.start_module->path)) t.entry = entry_of(file, thread);
    }
  }
  votes_.add(summary);
  return summary;
}

namespace {

void write_lines(cct::MessageWriter& message, const std::vector<std::string>& lines) {
  message.value(std::uint64_t{lines.size()});
  for (const std::string& line : lines) message.text(line);
}

std::vector<std::string> read_lines(cct::MessageReader& message) {
  std::vector<std::string> lines;
  const auto count = message.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) lines.push_back(message.text());
  return lines;
}

void write_launch(cct::MessageWriter& message, const Launch& launch) {
  for (const std::string* text :
       {&launch.host, &launch.run_id, &launch.mpi, &launch.program, &launch.directory}) {
    message.text(*text);
  }
  write_lines(message, launch.arguments);
  message.value(launch.world_size);
  message.value(std::uint8_t{launch.whole_world});
  message.value(std::uint64_t{launch.events.size()});
  for (const measurement::EventInfo& event : launch.events) {
    message.text(event.name);
    message.text(event.unit);
    message.value(event.period);
  }
  message.value(std::uint8_t{launch.has_realtime});
  write_lines(message, launch.notes);
  merge::write(message, launch.executable);
}

Launch read_launch(cct::MessageReader& message) {
  Launch launch;
  for (std::string* text : {&launch.host, &launch.run_id, &launch.mpi, &launch.program, &launch.directory}) {
    *text = message.text();
  }
  launch.arguments = read_lines(message);
  launch.world_size = message.value<std::uint32_t>();
  launch.whole_world = message.value<std::uint8_t>() != 0;
  launch.events.resize(message.value<std::uint64_t>());
  for (measurement::EventInfo& event : launch.events) {
    event.name = message.text();
    event.unit = message.text();
    event.period = message.value<std::uint64_t>();
  }
  launch.has_realtime = message.value<std::uint8_t>() != 0;
  launch.notes = read_lines(message);
  launch.executable = read_module_key(message);
  return launch;
}

}  // namespace

SamplingQuality Summarizer::quality(const std::string& run) const {
  const auto found = quality_.find(run);
  return found == quality_.end() ? SamplingQuality{} : found->second;
}

void Summarizer::write(cct::MessageWriter& message, const SharedByProcesses& shared) const {
  message.value(std::uint64_t{quality_.size()});
  for (const auto& [run, quality] : quality_) {
    message.text(run);
    message.value(quality);
  }
  votes_.write(message);
  message.value(std::uint64_t{shared.launches.size()});
  for (const auto& launch : shared.launches) write_launch(message, *launch);
  message.value(std::uint64_t{shared.modules.size()});
  for (const auto& key : shared.modules) merge::write(message, *key);
}

SharedByProcesses Summarizer::read(cct::MessageReader& message) {
  for (auto runs = message.value<std::uint64_t>(); runs != 0; --runs) {
    const std::string run = message.text();
    quality_[run].add(message.value<SamplingQuality>());
  }
  votes_.read(message);
  SharedByProcesses shared;
  for (auto left = message.value<std::uint64_t>(); left != 0; --left)
    shared.launches.push_back(share(read_launch(message)));
  for (auto left = message.value<std::uint64_t>(); left != 0; --left)
    shared.modules.push_back(share(read_module_key(message)));
  return shared;
}

void RunVotes::add(const ProcessSummary& process) {
  if (process.launch->run_id.empty()) return;
  Votes& votes = by_run_[process.launch->run_id];
  ++(process.rank ? votes.of_ranks : votes.of_others);
}

std::string RunVotes::prevailing() const {
  const bool ranked = std::ranges::any_of(by_run_, [](const auto& run) { return run.second.of_ranks != 0; });
  const auto most = std::ranges::max_element(
      by_run_, {}, [&](const auto& run) { return ranked ? run.second.of_ranks : run.second.of_others; });
  return most == by_run_.end() ? std::string() : most->first;
}

void RunVotes::write(cct::MessageWriter& message) const {
  message.value(std::uint64_t{by_run_.size()});
  for (const auto& [run, votes] : by_run_) {
    message.text(run);
    message.value(votes);
  }
}

void RunVotes::read(cct::MessageReader& message) {
  for (auto left = message.value<std::uint64_t>(); left != 0; --left) {
    Votes& votes = by_run_[message.text()];
    const auto theirs = message.value<Votes>();
    votes.of_ranks += theirs.of_ranks;
    votes.of_others += theirs.of_others;
  }
}

void write(cct::MessageWriter& message, const cct::ModuleKey& key) {
  message.text(key.path);
  message.text(key.build_id);
  message.value(key.size);
  message.value(key.mtime_ns);
}

cct::ModuleKey read_module_key(cct::MessageReader& message) {
  cct::ModuleKey key;
  key.path = message.text();
  key.build_id = message.text();
  key.size = message.value<std::uint64_t>();
  key.mtime_ns = message.value<std::int64_t>();
  return key;
}

}  // namespace culprit::merge
