#include "merge/process_summary.hpp"

#include "measurement/trace.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <unordered_map>

namespace culprit::merge {

namespace {

std::uint64_t trace_bytes(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(measurement::trace::trace_path(path), error);
  return error ? 0 : size;
}

}  // namespace

bool canonically_before(const ProcessSummary& a, const ProcessSummary& b) {
  const auto key = [](const ProcessSummary& s) {
    return std::tuple<bool, std::int32_t, const std::string&, std::uint64_t, std::uint64_t,
                      const std::string&>(!s.rank.has_value(), s.rank.value_or(0), s.launch->host, s.pid,
                                          s.start_ns, s.path);
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
                         .end = process.end,
                         .iterations = process.iterations,
                         .trace_bytes = traced,
                         .flaws = {},
                         .threads = {}};
  Launch launch{.host = process.host,
                .run_id = process.run_id,
                .mpi = process.mpi,
                .program = process.program,
                .directory = process.directory,
                .arguments = process.arguments,
                .world_size = process.world_size,
                .events = process.events,
                .has_realtime = process.has_realtime,
                .notes = process.notes,
                .executable = {}};
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
  summary.threads.reserve(file.threads.size());
  for (const measurement::ThreadProfile& thread : file.threads) {
    summary.cells += thread.cells.size();
    ThreadSummary& t = summary.threads.emplace_back();
    t.ordinal = thread.ordinal;
    t.start_ns = thread.start_ns;
    t.end_ns = thread.end_ns;
    quality.add({.sum = thread.quality, .slowed = thread.quality.most_halvings > 0 ? 1U : 0U});
    t.worker = thread.ordinal != 0;
    const std::uint32_t start = thread.start_routine.module;
    if (t.worker && start < file.modules.size() && !file.modules[start].key.path.empty()) {
      t.start_module = share(file.modules[start].key);
      t.start_offset = thread.start_routine.offset;
    }
  }
  return summary;
}

namespace {

/// The different things that pointers lead to, numbered.
template <class T>
class Numbered {
 public:
  void add(const T* thing) {
    if (thing != nullptr && ids_.try_emplace(thing, ids_.size()).second) all_.push_back(thing);
  }
  /// Its number plus one; 0 for null.
  [[nodiscard]] std::uint32_t of(const T* thing) const {
    return thing == nullptr ? 0 : static_cast<std::uint32_t>(ids_.at(thing) + 1);
  }
  [[nodiscard]] const std::vector<const T*>& all() const { return all_; }

 private:
  std::unordered_map<const T*, std::size_t> ids_;
  std::vector<const T*> all_;
};

template <class T>
std::shared_ptr<const T> thing(const std::vector<std::shared_ptr<const T>>& all, std::uint32_t number) {
  return number == 0 ? nullptr : all.at(number - 1);
}

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

/// The numbers of a process and of its threads and flaws, in one piece each: there are many.
struct ProcessNumbers {
  std::uint64_t bytes = 0, cells = 0, pid = 0, start_ns = 0, end_ns = 0;
  std::int64_t start_realtime_ns = 0;
  std::uint64_t iterations = 0, trace_bytes = 0;
  std::int32_t rank = 0;
  std::uint32_t ranked = 0, end = 0, launch = 0, threads = 0, flaws = 0;
};
struct ThreadNumbers {
  std::uint32_t ordinal = 0, worker = 0;
  std::uint64_t start_ns = 0, end_ns = 0, start_offset = 0;
  std::uint32_t start_module = 0, unused = 0;
};
struct FlawNumbers {
  std::uint64_t bridged = 0, partial = 0;
  std::uint32_t module = 0, no_unwind = 0;
};

}  // namespace

SamplingQuality Summarizer::quality(const std::string& run) const {
  const auto found = quality_.find(run);
  return found == quality_.end() ? SamplingQuality{} : found->second;
}

void Summarizer::write(cct::MessageWriter& message, std::span<const ProcessSummary> summaries) const {
  message.value(std::uint64_t{quality_.size()});
  for (const auto& [run, quality] : quality_) {
    message.text(run);
    message.value(quality);
  }
  Numbered<Launch> launches;
  Numbered<cct::ModuleKey> modules;
  for (const ProcessSummary& summary : summaries) {
    launches.add(summary.launch.get());
    for (const ModuleFlaws& flaws : summary.flaws) modules.add(flaws.module.get());
    for (const ThreadSummary& thread : summary.threads) modules.add(thread.start_module.get());
  }
  message.value(std::uint64_t{launches.all().size()});
  for (const Launch* launch : launches.all()) write_launch(message, *launch);
  message.value(std::uint64_t{modules.all().size()});
  for (const cct::ModuleKey* key : modules.all()) merge::write(message, *key);
  std::string paths;
  std::vector<ProcessNumbers> processes;
  std::vector<ThreadNumbers> threads;
  std::vector<FlawNumbers> all_flaws;
  for (const ProcessSummary& s : summaries) {
    paths.append(s.path).push_back('\0');
    processes.push_back({.bytes = s.bytes,
                         .cells = s.cells,
                         .pid = s.pid,
                         .start_ns = s.start_ns,
                         .end_ns = s.end_ns,
                         .start_realtime_ns = s.start_realtime_ns,
                         .iterations = s.iterations,
                         .trace_bytes = s.trace_bytes,
                         .rank = s.rank.value_or(0),
                         .ranked = s.rank ? 1U : 0U,
                         .end = static_cast<std::uint32_t>(s.end),
                         .launch = launches.of(s.launch.get()),
                         .threads = static_cast<std::uint32_t>(s.threads.size()),
                         .flaws = static_cast<std::uint32_t>(s.flaws.size())});
    for (const ThreadSummary& t : s.threads) {
      threads.push_back({.ordinal = t.ordinal,
                         .worker = t.worker ? 1U : 0U,
                         .start_ns = t.start_ns,
                         .end_ns = t.end_ns,
                         .start_offset = t.start_offset,
                         .start_module = modules.of(t.start_module.get())});
    }
    for (const ModuleFlaws& f : s.flaws) {
      all_flaws.push_back({.bridged = f.bridged,
                           .partial = f.partial,
                           .module = modules.of(f.module.get()),
                           .no_unwind = f.no_unwind ? 1U : 0U});
    }
  }
  message.text(paths);
  message.values(processes);
  message.values(threads);
  message.values(all_flaws);
}

void Summarizer::read(cct::MessageReader& message, std::vector<ProcessSummary>& into) {
  for (auto runs = message.value<std::uint64_t>(); runs != 0; --runs) {
    const std::string run = message.text();
    quality_[run].add(message.value<SamplingQuality>());
  }
  std::vector<std::shared_ptr<const Launch>> launches(message.value<std::uint64_t>());
  for (auto& launch : launches) launch = share(read_launch(message));
  std::vector<std::shared_ptr<const cct::ModuleKey>> modules(message.value<std::uint64_t>());
  for (auto& key : modules) key = share(read_module_key(message));
  const std::string paths = message.text();
  const auto processes = message.values<ProcessNumbers>();
  const auto threads = message.values<ThreadNumbers>();
  const auto all_flaws = message.values<FlawNumbers>();
  const char* path = paths.c_str();
  auto thread = threads.begin();
  auto flaw = all_flaws.begin();
  if (into.capacity() < into.size() + processes.size())
    into.reserve(std::max(into.size() + processes.size(), into.size() + into.size() / 8));
  for (const ProcessNumbers& p : processes) {
    ProcessSummary& s = into.emplace_back();
    s.path = path;
    path += s.path.size() + 1;
    s.bytes = p.bytes;
    s.cells = p.cells;
    s.pid = p.pid;
    if (p.ranked != 0) s.rank = p.rank;
    s.start_ns = p.start_ns;
    s.end_ns = p.end_ns;
    s.start_realtime_ns = p.start_realtime_ns;
    s.end = static_cast<measurement::EndReason>(p.end);
    s.iterations = p.iterations;
    s.trace_bytes = p.trace_bytes;
    s.launch = thing(launches, p.launch);
    s.threads.reserve(p.threads);
    for (std::uint32_t t = 0; t < p.threads; ++t, ++thread) {
      s.threads.push_back({.ordinal = thread->ordinal,
                           .worker = thread->worker != 0,
                           .start_ns = thread->start_ns,
                           .end_ns = thread->end_ns,
                           .start_module = thing(modules, thread->start_module),
                           .start_offset = thread->start_offset});
    }
    for (std::uint32_t f = 0; f < p.flaws; ++f, ++flaw) {
      s.flaws.push_back({.module = thing(modules, flaw->module),
                         .bridged = flaw->bridged,
                         .partial = flaw->partial,
                         .no_unwind = flaw->no_unwind != 0});
    }
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
