#include "merge/process_summary.hpp"

#include <algorithm>
#include <tuple>

namespace culprit::merge {

using measurement::ProcessInfo;

bool canonically_before(const ProcessSummary& a, const ProcessSummary& b) {
  const auto key = [](const ProcessSummary& s) {
    return std::tuple<bool, std::int32_t, const std::string&, std::uint64_t, std::uint64_t,
                      const std::string&>(!s.process.rank.has_value(), s.process.rank.value_or(0),
                                          s.process.host, s.process.pid, s.process.start_ns, s.path);
  };
  return key(a) < key(b);
}

ProcessSummary summarize(const std::string& path, std::uint64_t bytes) {
  measurement::Measurement file = measurement::read_summary(path);
  ProcessSummary summary;
  summary.path = path;
  summary.bytes = bytes;
  summary.sealed = file.sealed;
  for (const measurement::Module& module : file.modules) {
    if (module.executable) summary.executable = module.key;
    if (!module.no_unwind && module.bridged == 0 && module.partial == 0) continue;
    summary.flaws.push_back({.module = module.key,
                             .bridged = module.bridged,
                             .partial = module.partial,
                             .no_unwind = module.no_unwind});
  }
  for (const measurement::ThreadProfile& thread : file.threads) {
    ThreadSummary& t = summary.threads.emplace_back();
    t.ordinal = thread.ordinal;
    t.start_ns = thread.start_ns;
    t.end_ns = thread.end_ns;
    t.quality = thread.quality;
    t.worker = thread.ordinal != 0;
    if (t.worker && thread.start_routine.module < file.modules.size()) {
      t.start_module = file.modules[thread.start_routine.module].key;
      t.start_offset = thread.start_routine.offset;
    }
  }
  summary.process = std::move(file.process);
  return summary;
}

namespace {

void write(cct::MessageWriter& message, const std::vector<std::string>& lines) {
  message.value(std::uint64_t{lines.size()});
  for (const std::string& line : lines) message.text(line);
}

std::vector<std::string> read_lines(cct::MessageReader& message) {
  std::vector<std::string> lines;
  const auto count = message.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) lines.push_back(message.text());
  return lines;
}

void write(cct::MessageWriter& message, const ProcessInfo& process) {
  message.text(process.host);
  message.value(process.pid);
  message.value(std::uint8_t{process.rank.has_value()});
  message.value(process.rank.value_or(-1));
  message.value(process.world_size);
  for (const std::string* text : {&process.run_id, &process.mpi, &process.program, &process.directory}) {
    message.text(*text);
  }
  write(message, process.arguments);
  message.value(process.start_ns);
  message.value(process.end_ns);
  message.value(process.start_realtime_ns);
  message.value(process.end);
  message.value(std::uint64_t{process.events.size()});
  for (const measurement::EventInfo& event : process.events) {
    message.text(event.name);
    message.text(event.unit);
    message.value(event.period);
  }
  message.value(std::uint8_t{process.has_realtime});
  message.value(process.iterations);
  write(message, process.notes);
}

ProcessInfo read_process(cct::MessageReader& message) {
  ProcessInfo process;
  process.host = message.text();
  process.pid = message.value<std::uint64_t>();
  const bool ranked = message.value<std::uint8_t>() != 0;
  const auto rank = message.value<std::int32_t>();
  if (ranked) process.rank = rank;
  process.world_size = message.value<std::uint32_t>();
  for (std::string* text : {&process.run_id, &process.mpi, &process.program, &process.directory}) {
    *text = message.text();
  }
  process.arguments = read_lines(message);
  process.start_ns = message.value<std::uint64_t>();
  process.end_ns = message.value<std::uint64_t>();
  process.start_realtime_ns = message.value<std::int64_t>();
  process.end = message.value<measurement::EndReason>();
  process.events.resize(message.value<std::uint64_t>());
  for (measurement::EventInfo& event : process.events) {
    event.name = message.text();
    event.unit = message.text();
    event.period = message.value<std::uint64_t>();
  }
  process.has_realtime = message.value<std::uint8_t>() != 0;
  process.iterations = message.value<std::uint64_t>();
  process.notes = read_lines(message);
  return process;
}

}  // namespace

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

void write(cct::MessageWriter& message, const ProcessSummary& summary) {
  message.text(summary.path);
  message.value(summary.bytes);
  message.value(std::uint8_t{summary.sealed});
  write(message, summary.process);
  write(message, summary.executable);
  message.value(std::uint64_t{summary.flaws.size()});
  for (const ModuleFlaws& flaws : summary.flaws) {
    write(message, flaws.module);
    message.value(flaws.bridged);
    message.value(flaws.partial);
    message.value(std::uint8_t{flaws.no_unwind});
  }
  message.value(std::uint64_t{summary.threads.size()});
  for (const ThreadSummary& thread : summary.threads) {
    message.value(thread.ordinal);
    message.value(thread.start_ns);
    message.value(thread.end_ns);
    message.value(thread.quality);
    message.value(std::uint8_t{thread.worker});
    if (!thread.worker) continue;
    write(message, thread.start_module);
    message.value(thread.start_offset);
  }
}

ProcessSummary read_process_summary(cct::MessageReader& message) {
  ProcessSummary summary;
  summary.path = message.text();
  summary.bytes = message.value<std::uint64_t>();
  summary.sealed = message.value<std::uint8_t>() != 0;
  summary.process = read_process(message);
  summary.executable = read_module_key(message);
  summary.flaws.resize(message.value<std::uint64_t>());
  for (ModuleFlaws& flaws : summary.flaws) {
    flaws.module = read_module_key(message);
    flaws.bridged = message.value<std::uint64_t>();
    flaws.partial = message.value<std::uint64_t>();
    flaws.no_unwind = message.value<std::uint8_t>() != 0;
  }
  summary.threads.resize(message.value<std::uint64_t>());
  for (ThreadSummary& thread : summary.threads) {
    thread.ordinal = message.value<std::uint32_t>();
    thread.start_ns = message.value<std::uint64_t>();
    thread.end_ns = message.value<std::uint64_t>();
    thread.quality = message.value<measurement::Quality>();
    thread.worker = message.value<std::uint8_t>() != 0;
    if (!thread.worker) continue;
    thread.start_module = read_module_key(message);
    thread.start_offset = message.value<std::uint64_t>();
  }
  return summary;
}

}  // namespace culprit::merge
