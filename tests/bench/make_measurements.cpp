// Makes a measurement directory of any number of ranks and threads out of a real one, for benchmarks of
// merging. Either the ranks take turns at copying the real trees, or (with a number of nodes) they have those
// of a model: see model_tree.hpp. Every rank varies the samples and leaves out a few contexts, as real ranks
// do; some ranks work more than others. With --calls, SOURCE is a traced run that is copied side by side and
// repeated until each rank has made so many MPI calls (time_lines.hpp), and trees are left as they are.
// Usage: make_measurements SOURCE TARGET RANKS [THREADS [NODES [DEPTH [GROUPS]]]] make_measurements --calls N
// SOURCE TARGET RANKS
#include "measurement/find.hpp"
#include "measurement/live_layout.hpp"
#include "measurement/sealed_writer.hpp"
#include "model_tree.hpp"
#include "time_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

using namespace culprit;
using measurement::Cell;
using measurement::Measurement;
using measurement::SealedWriter;
using measurement::ThreadProfile;
namespace layout = measurement::layout;
namespace sealed = measurement::sealed;

constexpr double kMissing = 0.02;  ///< of the samples, in each rank
constexpr std::size_t kSlow = 16;  ///< ranks per one that has half as much work again

/// Small and fast, and seeded for each rank: the files do not depend on who writes them.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}
  std::uint64_t operator()() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t x = state_;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
  /// Uniform in [0, 1).
  double share() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

std::string raw_build_id(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

Cell vary(const Cell& cell, double factor, Random& random) {
  factor *= 0.7 + 0.6 * random.share();
  Cell varied = cell;
  if (cell.samples == 0) {
    varied.time_ns = 1 + static_cast<std::uint64_t>(static_cast<double>(cell.time_ns) * factor);
    varied.marked_ns = cell.marked_ns != 0 ? varied.time_ns : 0;
    return varied;
  }
  const std::uint64_t period = cell.time_ns / (cell.samples + cell.blocked);
  varied.samples = static_cast<std::uint64_t>(
      std::max<long long>(1, std::llround(static_cast<double>(cell.samples) * factor)));
  varied.weight_sq = varied.samples;
  varied.time_ns = (varied.samples + cell.blocked) * period;
  varied.cpu_ns = varied.time_ns - random() % (varied.time_ns / 16 + 1);
  varied.marked_ns = cell.marked_ns != 0 ? varied.time_ns : 0;
  return varied;
}

Cell repeat(const Cell& cell, std::uint64_t times) {
  Cell repeated = cell;
  for (std::uint64_t* const value : {&repeated.time_ns, &repeated.samples, &repeated.weight_sq,
                                     &repeated.blocked, &repeated.cpu_ns, &repeated.marked_ns})
    *value *= times;
  return repeated;
}

/// Time lines to be written, too.
struct Traced {
  const bench::TimeLines* lines = nullptr;  ///< null: none
  std::size_t repetitions = 1;
};

/// Writes one rank's file.
class RankWriter {
 public:
  RankWriter(const Measurement& source, std::uint32_t ranks, const Traced& traced)
      : source_(source), ranks_(ranks), traced_(traced) {}

  /// Returns 0 or an errno.
  int write(const std::string& path, std::size_t rank, const std::vector<const ThreadProfile*>& threads);

 private:
  struct Written {
    std::size_t nodes = 0, cells = 0;
    std::uint64_t samples = 0;
  };

  void choose(const ThreadProfile& thread, Random& random);
  Written write_tree(SealedWriter& out, const ThreadProfile& thread, double factor, Random& random);
  bool write_node(SealedWriter& out, const ThreadProfile& thread, cct::NodeId id, std::size_t up);
  void write_cell(SealedWriter& out, const Cell& cell) const;
  void write_threads(SealedWriter& out, const std::vector<const ThreadProfile*>& threads,
                     const std::vector<Written>& written) const;
  void write_modules(SealedWriter& out) const;
  void write_units(SealedWriter& out, std::uint32_t thread, std::size_t nodes) const;
  [[nodiscard]] measurement::ProcessInfo process_of(std::size_t rank) const;
  static void write_process(SealedWriter& out, const measurement::ProcessInfo& process);
  [[nodiscard]] std::uint64_t longer_ns() const {
    return traced_.lines == nullptr ? 0 : traced_.lines->longer_ns(traced_.repetitions);
  }
  static void text(SealedWriter& out, const std::string& text) { out.string(text.data(), text.size()); }
  [[nodiscard]] std::size_t further_events() const {
    return source_.process.events.size() - (source_.process.has_realtime ? 1 : 0);
  }

  const Measurement& source_;
  std::uint32_t ranks_;
  Traced traced_;
  std::vector<std::uint8_t> kept_, sampled_;  ///< per node of the thread that is being written
  std::vector<std::size_t> depth_;
  std::vector<std::uint64_t> last_offset_;
};

void RankWriter::choose(const ThreadProfile& thread, Random& random) {
  kept_.assign(thread.nodes.size(), 0);
  sampled_.assign(thread.nodes.size(), 0);
  for (auto id = thread.nodes.size(); id-- > 1;) {
    const bool taken = traced_.lines != nullptr || random.share() >= kMissing;
    sampled_[id] = thread.cell[id] != cct::kNoNode && taken ? 1 : 0;
    kept_[id] |= sampled_[id];
    if (traced_.lines != nullptr) kept_[id] = 1;  // time lines name them
    kept_[thread.nodes[id].parent] |= kept_[id];
  }
  kept_[0] = 1;
}

bool RankWriter::write_node(SealedWriter& out, const ThreadProfile& thread, cct::NodeId id, std::size_t up) {
  const cct::FrameKey& frame = thread.nodes[id].frame;
  const bool same = id != 0 && frame.module == thread.nodes[thread.nodes[id].parent].frame.module;
  const bool sampled = sampled_[id] != 0;
  const auto short_up = static_cast<unsigned>(std::min<std::size_t>(up, sealed::kNodeUpMore));
  out.byte(static_cast<unsigned>(frame.kind) | (sampled ? sealed::kNodeHasCell : 0) |
           (same ? sealed::kNodeParentsModule : 0) | short_up << sealed::kNodeUpShift);
  if (short_up == sealed::kNodeUpMore) out.varint(up - sealed::kNodeUpMore);
  if (!same) out.varint(frame.module == cct::kNoModule ? 0 : frame.module + 1);
  std::uint64_t& last = frame.module == cct::kNoModule ? last_offset_.back() : last_offset_[frame.module];
  out.zigzag(static_cast<std::int64_t>(frame.offset - last));
  last = frame.offset;
  return sampled;
}

void RankWriter::write_cell(SealedWriter& out, const Cell& cell) const {
  const bool whole = cell.marked_ns == cell.time_ns && cell.marked_ns != 0;
  out.byte(static_cast<unsigned>(cell.mark) << sealed::kCellMarkShift |
           (cell.weight_sq != cell.samples ? sealed::kCellWeightSq : 0) |
           (cell.blocked != 0 ? sealed::kCellBlocked : 0) | (cell.cpu_ns != 0 ? sealed::kCellCpu : 0) |
           (cell.marked_ns != 0 ? sealed::kCellMarked : 0) | (whole ? sealed::kCellMarkedWhole : 0));
  out.varint(cell.time_ns);
  out.varint(cell.samples);
  if (cell.weight_sq != cell.samples) out.varint(cell.weight_sq);
  if (cell.blocked != 0) out.varint(cell.blocked);
  if (cell.cpu_ns != 0) out.varint(cell.cpu_ns);
  if (cell.marked_ns != 0 && !whole) out.varint(cell.marked_ns);
}

RankWriter::Written RankWriter::write_tree(SealedWriter& out, const ThreadProfile& thread, double factor,
                                           Random& random) {
  choose(thread, random);
  last_offset_.assign(source_.modules.size() + 1, 0);
  depth_.resize(thread.nodes.size());
  depth_[0] = 0;
  const std::size_t events = further_events();
  Written written;
  std::size_t before = 0;
  for (cct::NodeId id = 0; id < thread.nodes.size(); ++id) {
    if (id != 0) depth_[id] = depth_[thread.nodes[id].parent] + 1;
    if (kept_[id] == 0) continue;
    const bool sampled = write_node(out, thread, id, id == 0 ? 0 : before + 1 - depth_[id]);
    before = depth_[id];
    ++written.nodes;
    if (!sampled) continue;
    ++written.cells;
    const Cell& known = thread.cells[thread.cell[id]];
    const Cell cell =
        traced_.lines != nullptr ? repeat(known, traced_.repetitions) : vary(known, factor, random);
    written.samples += cell.samples + cell.blocked;
    write_cell(out, cell);
    for (std::size_t e = 0; e < events; ++e) {
      const auto& value =
          thread.events.empty() ? measurement::EventValue{} : thread.events[thread.cell[id] * events + e];
      out.varint(value.value);
      out.varint(value.samples);
    }
  }
  return written;
}

void RankWriter::write_threads(SealedWriter& out, const std::vector<const ThreadProfile*>& threads,
                               const std::vector<Written>& written) const {
  out.begin_section(sealed::SectionType::threads, 0);
  out.varint(threads.size());
  for (std::size_t t = 0; t < threads.size(); ++t) {
    const ThreadProfile& thread = *threads[t];
    out.begin_record();
    out.varint(t);
    out.varint(thread.tid + t);
    out.byte(static_cast<unsigned>(thread.start_routine.kind));
    out.varint(thread.start_routine.module == cct::kNoModule ? 0 : thread.start_routine.module + 1);
    out.varint(thread.start_routine.offset);
    out.varint(thread.start_ns);
    out.varint(thread.end_ns + longer_ns());
    out.varint(written[t].samples);
    for (int i = 0; i < 5; ++i) out.varint(0);  // partial, its time, dropped, full, time in the handler
    out.varint(written[t].nodes);
    out.varint(written[t].cells);
    out.varint(1);
    out.varint(thread.end_ns + longer_ns() - thread.start_ns);
    for (int i = 0; i < 3; ++i) out.varint(0);  // bridged, halvings, most of one thread
    out.end_record();
  }
  out.end_section();
}

void RankWriter::write_modules(SealedWriter& out) const {
  out.begin_section(sealed::SectionType::modules, 0);
  out.varint(source_.modules.size());
  for (const measurement::Module& module : source_.modules) {
    const std::string id = raw_build_id(module.key.build_id);
    out.begin_record();
    out.byte((module.own ? layout::kModuleOwn : 0) | (module.executable ? layout::kModuleExecutable : 0) |
             (module.vdso ? layout::kModuleVdso : 0) | (module.no_unwind ? layout::kModuleNoUnwind : 0) |
             (module.region ? layout::kModuleRegion : 0));
    out.varint(module.key.size);
    out.zigzag(module.key.mtime_ns);
    text(out, id);
    text(out, module.key.path);
    for (int i = 0; i < 3; ++i) out.varint(0);  // load address, bridged, partial
    out.end_record();
  }
  out.end_section();
}

/// Time lines name nodes by their numbers.
void RankWriter::write_units(SealedWriter& out, std::uint32_t thread, std::size_t nodes) const {
  if (traced_.lines == nullptr) return;
  out.begin_section(sealed::SectionType::units, thread);
  for (std::size_t node = 0; node < nodes; ++node) out.zigzag(node == 0 ? 0 : 1);
  out.end_section();
}

measurement::ProcessInfo RankWriter::process_of(std::size_t rank) const {
  measurement::ProcessInfo process = source_.process;
  process.pid = 10'000 + rank;
  process.rank = static_cast<std::int32_t>(rank);
  process.world_size = ranks_;
  process.end_ns += longer_ns();
  process.traced = traced_.lines != nullptr;
  process.key = rank + 1;
  return process;
}

void RankWriter::write_process(SealedWriter& out, const measurement::ProcessInfo& process) {
  out.begin_section(sealed::SectionType::process, 0);
  text(out, process.host);
  out.varint(process.pid);
  out.byte(1);
  out.zigzag(*process.rank);
  out.varint(process.world_size);
  for (const auto& field : {process.run_id, process.mpi, process.program, process.directory})
    text(out, field);
  out.varint(process.start_ns);
  out.varint(process.end_ns);
  out.zigzag(process.start_realtime_ns);
  out.byte(static_cast<unsigned>(measurement::EndReason::exit));
  out.byte((process.has_realtime ? layout::kFlagRealtime : 0) | (process.traced ? layout::kFlagTraced : 0));
  out.varint(process.events.size());
  for (const measurement::EventInfo& event : process.events) {
    text(out, event.name);
    text(out, event.unit);
    out.varint(event.period);
  }
  out.varint(process.arguments.size());
  for (const std::string& argument : process.arguments) text(out, argument);
  for (int i = 0; i < 6; ++i) out.varint(0);  // notes, four kinds of loss, iterations
  if (process.traced) out.varint(process.key);
  out.end_section();
}

int RankWriter::write(const std::string& path, std::size_t rank,
                      const std::vector<const ThreadProfile*>& threads) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  SealedWriter out;
  constexpr std::uint32_t kOtherSections = 3, kSectionsOfThread = 2;
  const measurement::ProcessInfo process = process_of(rank);
  int error = out.start(fd, kSectionsOfThread * static_cast<std::uint32_t>(threads.size()) + kOtherSections);
  if (error == 0) {
    Random random(rank + 1);
    const double factor = rank % kSlow == kSlow - 1 ? 1.5 : 1;
    std::vector<Written> written;
    for (std::uint32_t t = 0; t < threads.size(); ++t) {
      out.begin_section(sealed::SectionType::tree, t);
      written.push_back(write_tree(out, *threads[t], factor, random));
      out.end_section();
      write_units(out, t, written.back().nodes);
    }
    write_threads(out, threads, written);
    write_modules(out);
    write_process(out, process);
    error = out.finish();
  }
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && traced_.lines != nullptr)
    traced_.lines->write(measurement::trace::trace_path(path), process, ranks_, traced_.repetitions);
  return error;
}

struct Request {
  std::filesystem::path source, target;
  std::size_t ranks = 0, threads = 1;
  bench::ModelShape shape;  ///< nodes 0: copies
  std::size_t groups = 16;
  std::size_t calls = 0;  ///< of each rank's time line; 0: without
};

/// The trees that ranks take in turns: [rank modulo size][thread].
struct Template {
  const Measurement* source = nullptr;
  std::vector<ThreadProfile> threads;
};

std::vector<Template> make_templates(const Request& request, const std::vector<Measurement>& sources) {
  std::vector<Template> templates;
  const bool model = request.shape.nodes != 0;
  for (std::size_t g = 0; g < (model ? request.groups : sources.size()); ++g) {
    const Measurement& source = model ? sources[0] : sources[g];
    Template& made = templates.emplace_back();
    made.source = &source;
    if (!model) made.threads = source.threads;
    for (std::size_t t = 0; model && t < request.threads; ++t)
      made.threads.push_back(bench::model_thread(source, request.shape, g, t != 0));
  }
  return templates;
}

void make(const Request& request, const std::vector<Template>& templates, const Traced& traced,
          std::size_t begin, std::size_t step) {
  for (std::size_t rank = begin; rank < request.ranks; rank += step) {
    const Template& made = templates[rank % templates.size()];
    std::vector<const ThreadProfile*> threads;
    for (const ThreadProfile& thread : made.threads) threads.push_back(&thread);
    char name[64];
    std::snprintf(name, sizeof name, "%02x/rank-%07zu-made.culprit", static_cast<unsigned>(rank % 256), rank);
    const std::string path = (request.target / name).string();
    RankWriter writer(*made.source, static_cast<std::uint32_t>(request.ranks), traced);
    if (const int error = writer.write(path, rank, threads); error != 0)
      throw std::system_error(error, std::generic_category(), path);
  }
}

void make_all(const Request& request, const std::vector<Template>& templates, const Traced& traced) {
  const std::size_t workers = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::exception_ptr> failures(workers);
  {
    std::vector<std::jthread> running;
    for (std::size_t w = 0; w < workers; ++w) {
      running.emplace_back([&, w] {
        try {
          make(request, templates, traced, w, workers);
        } catch (...) {
          failures[w] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

/// What was made, for the log: the largest tree and the deepest path.
void tell(const Request& request, const std::vector<Template>& templates) {
  std::size_t deepest = 0, most = 0, cells = 0;
  for (const Template& made : templates) {
    for (const ThreadProfile& thread : made.threads) {
      std::vector<std::size_t> depth(thread.nodes.size(), 0);
      for (std::size_t i = 1; i < thread.nodes.size(); ++i)
        deepest = std::max(deepest, depth[i] = depth[thread.nodes[i].parent] + 1);
      most = std::max(most, thread.nodes.size());
      cells = std::max(cells, thread.cells.size());
    }
  }
  std::printf(
      "%zu ranks of %zu threads from %zu trees, up to %zu nodes and %zu samples' contexts, %zu deep\n",
      request.ranks, templates[0].threads.size(), templates.size(), most, cells, deepest);
}

bool number(const char* text, std::size_t& value) {
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  return error == std::errc() && stop == end && value != 0;
}

bool parse(int argc, char** argv, Request& request) {
  const bool traced = argc > 2 && std::strcmp(argv[1], "--calls") == 0;
  if (traced && !number(argv[2], request.calls)) return false;
  const int first = traced ? 3 : 1;  // of the arguments
  if (argc < first + 3 || argc > first + (traced ? 3 : 7)) return false;
  request.source = argv[first];
  request.target = argv[first + 1];
  std::size_t* const fields[] = {&request.ranks, &request.threads, &request.shape.nodes, &request.shape.depth,
                                 &request.groups};
  for (int i = first + 2; i < argc; ++i) {
    if (!number(argv[i], *fields[i - first - 2])) return false;
  }
  return true;
}

struct Sources {
  std::vector<Measurement> measurements;
  std::vector<std::filesystem::path> paths;
};

/// By rank.
Sources read_sources(const std::filesystem::path& directory) {
  std::map<std::int32_t, std::pair<Measurement, std::filesystem::path>> found;
  measurement::for_each_measurement(directory, [&](const std::filesystem::path& path) {
    Measurement read = measurement::Reader().read(path);
    const std::int32_t rank = read.process.rank.value_or(static_cast<std::int32_t>(found.size()));
    found[rank] = {std::move(read), path};
  });
  if (found.empty()) throw std::runtime_error(directory.string() + ": holds no measurement");
  Sources sources;
  for (auto& [rank, one] : found) {
    sources.measurements.push_back(std::move(one.first));
    sources.paths.push_back(std::move(one.second));
  }
  return sources;
}

}  // namespace

int main(int argc, char** argv) {
  Request request;
  if (!parse(argc, argv, request)) {
    std::fprintf(stderr,
                 "usage: make_measurements SOURCE TARGET RANKS [THREADS [NODES [DEPTH [GROUPS]]]]\n"
                 "       make_measurements --calls N SOURCE TARGET RANKS\n");
    return 2;
  }
  try {
    const Sources sources = read_sources(request.source);
    for (unsigned shard = 0; shard < 256; ++shard) {
      char name[4];
      std::snprintf(name, sizeof name, "%02x", shard);
      std::filesystem::create_directories(request.target / name);
    }
    std::filesystem::copy_file(request.source / "culprit.run", request.target / "culprit.run",
                               std::filesystem::copy_options::overwrite_existing);
    std::unique_ptr<const bench::TimeLines> lines;
    if (request.calls != 0) lines = std::make_unique<bench::TimeLines>(sources.measurements, sources.paths);
    const Traced traced{.lines = lines.get(),
                        .repetitions = lines == nullptr ? 1 : lines->repetitions(request.calls)};
    const std::vector<Template> templates = make_templates(request, sources.measurements);
    make_all(request, templates, traced);
    tell(request, templates);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_measurements: %s\n", error.what());
    return 1;
  }
  return 0;
}
