#pragma once

#include "measurement/live.hpp"
#include "measurement/measurement.hpp"
#include "validity.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <unistd.h>

// What the tests of this folder share: a directory that vanishes, and measurements to put into it.
namespace recording {

namespace measurement = culprit::measurement;
namespace cct = culprit::cct;

/// In memory where there is such a place: rewriting one file thousands of times would wait for a disk.
inline std::filesystem::path scratch() {
  const std::filesystem::path memory = "/dev/shm";
  return access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

class Directory {
 public:
  explicit Directory(const std::filesystem::path& base = std::filesystem::temp_directory_path()) {
    std::string name = (base / "culprit-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline constexpr std::uint64_t kStart = 1'000'000'000;
inline constexpr std::int64_t kStartRealtime = 1'700'000'000'000'000'000;
inline constexpr std::uint64_t kKey = 0x1234'5678'9abc'def0;
inline constexpr const char* kArguments[] = {"app", "-n", "three words here", nullptr};
inline constexpr measurement::ProcessDescription::Event kEvents[] = {
    {"REALTIME", "ns", 5'000'000}, {"PAPI_TOT_CYC", "count", 4'000'000}, {"CPUTIME", "ns", 10'000'000}};

/// A process with the first `events` of kEvents.
inline measurement::ProcessDescription process(std::size_t events = 1) {
  return {.program = "/opt/app/bin/app",
          .arguments = kArguments,
          .directory = "/scratch/run",
          .host = "node17",
          .pid = 4711,
          .start_ns = kStart,
          .start_realtime_ns = kStartRealtime,
          .key = kKey,
          .events = kEvents,
          .event_count = events,
          .has_realtime = true,
          .traced = true};
}

/// A live file that is forgotten, mappings and all, at the end of the test.
class File {
 public:
  File(const std::filesystem::path& path, const measurement::ProcessDescription& description)
      : error_(file_->create(path.c_str(), description)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { file_->forget(); }
  measurement::LiveFile* operator->() { return file_.get(); }
  [[nodiscard]] int error() const { return error_; }

 private:
  std::unique_ptr<measurement::LiveFile> file_ = std::make_unique<measurement::LiveFile>();
  int error_ = 0;
};

inline cct::FrameKey call(std::uint64_t offset, std::uint32_t module = 0) {
  return {.offset = offset, .module = module, .kind = cct::FrameKind::call};
}
inline cct::FrameKey sample(std::uint64_t offset, std::uint32_t module = 0) {
  return {.offset = offset, .module = module, .kind = cct::FrameKind::sample};
}

inline measurement::SampleValues values(std::uint64_t time_ns, std::uint64_t weight = 1) {
  return {.time_ns = time_ns, .weight = weight, .cpu_ns = time_ns / 2};
}

/// Of a thread that ran so long, on every second of 8 processors and the ninth.
inline measurement::Schedule schedule(std::uint64_t ran_ns) {
  measurement::Schedule schedule{
      .ran_ns = ran_ns, .runnable_ns = 2 * ran_ns, .voluntary = 3, .involuntary = 4};
  for (const int processor : {0, 2, 4, 6, 9}) schedule.processors.add(static_cast<std::uint16_t>(processor));
  return schedule;
}
inline constexpr measurement::HostLoad kHostLoad{
    .span_ns = 900, .online = 16, .allowed = 8, .quota = 2500, .throttled_ns = 55, .idle_ns = 7000};

/// Inserts a path below the program root and returns its node.
inline measurement::NodeIndex insert(measurement::ThreadTree& tree, const std::vector<cct::FrameKey>& path) {
  measurement::NodeIndex node = tree.program_root();
  for (const auto& key : path) node = tree.child(node, key);
  return node;
}

/// The frames from the root (left out) to a node.
inline std::vector<cct::FrameKey> path_of(const measurement::ThreadProfile& thread, cct::NodeId node) {
  std::vector<cct::FrameKey> path;
  for (; node != 0; node = thread.nodes.at(node).parent) path.insert(path.begin(), thread.nodes[node].frame);
  return path;
}

/// The node at a path below the program root; kNoNode if there is none.
inline cct::NodeId find(const measurement::ThreadProfile& thread, std::vector<cct::FrameKey> path) {
  path.insert(path.begin(), {.kind = cct::FrameKind::program_root});
  for (cct::NodeId i = 0; i < thread.nodes.size(); ++i) {
    if (path_of(thread, i) == path) return i;
  }
  return cct::kNoNode;
}

inline auto tie(const measurement::Cell& c) {
  return std::tuple(c.time_ns, c.samples, c.weight_sq, c.blocked, c.cpu_ns, c.marked_ns, c.mark,
                    c.stretch.code);
}

using validity::invalid;

inline std::string difference(const measurement::ThreadProfile& s, const measurement::ThreadProfile& t) {
  if (s.ordinal != t.ordinal || s.tid != t.tid || s.start_routine != t.start_routine ||
      s.start_ns != t.start_ns || s.end_ns != t.end_ns || s.lives != t.lives || s.lived_ns != t.lived_ns) {
    return "thread";
  }
  if (std::tuple(s.quality.samples, s.quality.partial, s.quality.partial_ns, s.quality.full,
                 s.quality.handler_ns, s.quality.bridged, s.quality.halvings, s.quality.most_halvings) !=
      std::tuple(t.quality.samples, t.quality.partial, t.quality.partial_ns, t.quality.full,
                 t.quality.handler_ns, t.quality.bridged, t.quality.halvings, t.quality.most_halvings)) {
    return "quality";
  }
  if (s.schedule != t.schedule) return "schedule";
  if (s.units != t.units) return "units";
  if (s.epochs != t.epochs) return "epochs";
  if (s.nodes.size() != t.nodes.size() || s.cell != t.cell || s.cells.size() != t.cells.size() ||
      s.events.size() != t.events.size()) {
    return "tree size";
  }
  for (std::size_t n = 0; n < s.nodes.size(); ++n) {
    if (s.nodes[n].frame != t.nodes[n].frame || s.nodes[n].parent != t.nodes[n].parent) return "node";
  }
  for (std::size_t c = 0; c < s.cells.size(); ++c) {
    if (tie(s.cells[c]) != tie(t.cells[c])) return "cell";
  }
  for (std::size_t e = 0; e < s.events.size(); ++e) {
    if (s.events[e].value != t.events[e].value || s.events[e].samples != t.events[e].samples)
      return "event value";
  }
  return {};
}

/// Whether two measurements hold the same, apart from being sealed.
inline std::string difference(const measurement::Measurement& a, const measurement::Measurement& b) {
  const auto& p = a.process;
  const auto& q = b.process;
  if (p.host != q.host || p.pid != q.pid || p.rank != q.rank || p.world_size != q.world_size ||
      p.run_id != q.run_id || p.mpi != q.mpi || p.program != q.program || p.arguments != q.arguments ||
      p.directory != q.directory) {
    return "identity";
  }
  if (p.start_ns != q.start_ns || p.end_ns != q.end_ns || p.start_realtime_ns != q.start_realtime_ns ||
      p.end != q.end || p.key != q.key || p.forked != q.forked) {
    return "times";
  }
  if (p.host_load != q.host_load) return "host load";
  if (p.events.size() != q.events.size() || p.has_realtime != q.has_realtime || p.notes != q.notes)
    return "events";
  for (std::size_t i = 0; i < p.events.size(); ++i) {
    if (p.events[i].name != q.events[i].name || p.events[i].unit != q.events[i].unit ||
        p.events[i].period != q.events[i].period) {
      return "event";
    }
  }
  if (a.modules.size() != b.modules.size()) return "modules";
  for (std::size_t i = 0; i < a.modules.size(); ++i) {
    const auto& m = a.modules[i];
    const auto& n = b.modules[i];
    if (m.key != n.key || m.own != n.own || m.executable != n.executable || m.vdso != n.vdso ||
        m.no_unwind != n.no_unwind || m.bridged != n.bridged || m.partial != n.partial)
      return "module";
  }
  if (a.threads.size() != b.threads.size()) return "threads";
  for (std::size_t i = 0; i < a.threads.size(); ++i) {
    if (std::string found = difference(a.threads[i], b.threads[i]); !found.empty()) return found;
  }
  return {};
}

inline std::vector<char> bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Two waiting calls in turns, with samples in them and in the gaps after both, one of them at one node.
inline void count_stretches(measurement::ThreadTree& tree) {
  const auto first = insert(tree, {call(100), sample(1)}), second = insert(tree, {call(200), sample(1)});
  const auto work = insert(tree, {call(300), sample(2)}), both = insert(tree, {call(300), sample(3)});
  tree.accumulators().count_gap(tree.root(), first, 20'000);
  for (std::uint64_t n = 0; n < 3; ++n) {
    tree.accumulators().count_call(first, 1'000 + n);
    tree.accumulators().count_gap(first, second, 5'000 * (n + 1));
    tree.accumulators().count_call(second, 2'000 + n);
    tree.accumulators().count_gap(second, first, 7'000 + n);
  }
  const auto at = [&](measurement::NodeIndex node, std::uint32_t stretch) {
    measurement::SampleValues sampled = values(5'000, 2);
    sampled.stretch = stretch;
    tree.record(node, sampled);
  };
  at(work, first);
  at(both, first);
  at(both, second);
  at(both, second);
  at(insert(tree, {call(100), call(101), sample(4)}), measurement::kInWaitingCall);
  at(insert(tree, {call(301), sample(5)}), tree.root());
}

/// The bytes of a small measurement, sealed or as the process left it: two modules, and two threads of 40
/// paths each.
inline std::vector<char> small_file(bool seal, const Directory& directory) {
  const auto path = directory / (seal ? "sealed.culprit" : "live.culprit");
  File file(path, process(2));
  file->module(0x1000, "/lib/a.so", "id", 2, 0);
  file->module(0x2000, "/lib/b.so", nullptr, 0, 0);
  for (unsigned t = 0; t < 2; ++t) {
    measurement::ThreadTree& tree = *file->add_thread(t, t == 0, call(3, 1), kStart);
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto leaf = insert(tree, {call(i % 3), call(i % 7, 1), call(i, cct::kNoModule), sample(i)});
      tree.record(leaf, values(i * 1'000'000, 1 + i % 3));
      tree.record_event(leaf, 0, i);
    }
    tree.counters().count_partial(3);
    tree.counters().count_bridged();
    tree.counters().add_handler_time(17);
    tree.counters().count_halving(1);
    for (std::uint32_t i = 0; i < 6; ++i) {
      tree.accumulators().count_epoch(insert(tree, {call(i % 2)}), {.kind = measurement::EpochKind::lock,
                                                                    .size_class = i % 3,
                                                                    .window = 5,
                                                                    .peers = 6,
                                                                    .time_ns = 100 + i});
      tree.stamps().keep(insert(tree, {call(2)}), {.kind = measurement::EpochKind::fence,
                                                   .instance = i,
                                                   .members = 2,
                                                   .window = 5,
                                                   .order = i,
                                                   .enter_ns = kStart + i,
                                                   .exit_ns = kStart + 2 * i});
    }
    count_stretches(tree);
    tree.life().begin_wait(tree.child(tree.program_root(), call(1)), kStart + 1, measurement::WaitKind::lock);
    tree.life().set_schedule(t, schedule(700 + t));
  }
  file->set_host_load(kHostLoad);
  file->set_rank(1, 2, "ab", "MPI");
  file->count_bridged(1);
  file->count_partial(0);
  file->set_stopped(3, 0);
  file->set_iterations(7);
  file->note("note");
  file->maintain(kStart + 1000);
  if (seal && file->seal(measurement::EndReason::exit, kStart + 2000) != 0)
    throw std::runtime_error("not sealed");
  return bytes_of(path);
}

}  // namespace recording
