#include "file_formats.hpp"
#include "measurement/trace.hpp"
#include "simulated_run.hpp"
#include "structure/cache.hpp"
#include "trace_recording.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// Writes what the fuzzers begin with: files as the runtime writes them, and what was found to go wrong with
// such files: cut, flipped, copied, swapped, with odd names. Usage: make_seeds CORPUS
namespace {

namespace measurement = culprit::measurement;
namespace cct = culprit::cct;
namespace trace = culprit::measurement::trace;
namespace structure = culprit::structure;
namespace waits = culprit::waits::testing;
using fuzz::Bytes;

constexpr const char* kOddName = "/tmp/\x1b]0;title\a\x1b[2J\n\xe2\x80\xae\xff/app";

/// One rank while it is measured.
class Rank {
 public:
  Rank(const recording::Directory& directory, int rank, bool odd)
      : path_(directory / ("rank-" + std::to_string(rank) + ".culprit")),
        description_(recording::process(2)) {
    description_.pid += static_cast<std::uint64_t>(rank);
    description_.key += static_cast<std::uint64_t>(rank);
    if (odd) description_.program = description_.directory = description_.host = kOddName;
    file_ = std::make_unique<recording::File>(path_, description_);
    (*file_)->set_rank(rank, 2, "0123", odd ? kOddName : "MPI");
    app_ = (*file_)->module(0x1000, odd ? kOddName : "/no/such/app", "id", 2,
                            measurement::LiveFile::kModuleExecutable);
    mpi_ = (*file_)->module(0x2000, "/no/such/libmpi.so", nullptr, 0, 0);
    tree_ = (*file_)->add_thread(0, true, {}, recording::kStart);
    trace_->create(trace_path().c_str(), {.pid = description_.pid,
                                          .start_ns = description_.start_ns,
                                          .start_realtime_ns = description_.start_realtime_ns,
                                          .key = description_.key});
    stream_ = trace_->stream(0, 0);
    for (std::uint64_t i = 0; i < kPlaces; ++i) {
      const auto solve = recording::insert(*tree_, {recording::call(1, app_), recording::call(2 + i, app_)});
      work_.push_back(tree_->child(solve, recording::sample(0x10 + i, app_)));
      call_.push_back(tree_->child(solve, recording::sample(i, mpi_)));
    }
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank() { trace_->forget(); }

  void define(const trace::Definition& definition) {
    trace_->define({.kind = definition.kind,
                    .global_id = definition.global_id,
                    .size = definition.size,
                    .rank = definition.rank,
                    .parent = definition.parent,
                    .members = definition.members.data(),
                    .member_count = definition.members.size(),
                    .remote = definition.remote.data(),
                    .remote_count = definition.remote.size(),
                    .sources = definition.sources.data(),
                    .source_count = definition.sources.size(),
                    .destinations = definition.destinations.data(),
                    .destination_count = definition.destinations.size()});
  }
  void add_clocks(const trace::ClockPair& pair) { trace_->add_clocks(pair); }

  /// A record of the time line, at its node's place in this tree; a call is sampled, too, and so is what lies
  /// before it.
  void add(trace::Record record) {
    const std::size_t place = record.node % kPlaces;
    if (record.kind == trace::RecordKind::call) {
      if (record.enter_ns > last_ns_ + kGrain)
        stream_->sample(record.enter_ns - 1, record.enter_ns - 1 - last_ns_, work_[place],
                        measurement::WaitKind::none);
      tree_->record(work_[place],
                    recording::values(record.enter_ns - std::min(record.enter_ns, last_ns_) + 1));
      tree_->record(
          call_[place],
          {.time_ns = record.exit_ns - record.enter_ns + 1, .weight = 1, .mark = measurement::WaitKind::mpi});
      last_ns_ = record.exit_ns;
    }
    record.node = record.kind == trace::RecordKind::call ? call_[place] : work_[place];
    recording::write(*stream_, record);
  }

  /// The same of a process that was killed.
  fuzz::Parts leave() {
    trace_->maintain();
    return {fuzz::compact_live(recording::bytes_of(path_)),
            fuzz::compact_trace(recording::bytes_of(trace_path()))};
  }
  /// Its measurement and its trace, both of a clean end.
  fuzz::Parts seal() {
    const std::uint64_t end_ns = last_ns_ + kGrain;
    trace_->end(measurement::EndReason::exit, end_ns);
    if ((*file_)->seal(measurement::EndReason::exit, end_ns) != 0) throw std::runtime_error("not sealed");
    return {recording::bytes_of(path_), fuzz::compact_trace(recording::bytes_of(trace_path()))};
  }

 private:
  static constexpr std::size_t kPlaces = 4;
  static constexpr std::uint64_t kGrain = 1000;

  [[nodiscard]] std::filesystem::path trace_path() const { return trace::trace_path(path_); }

  std::filesystem::path path_;
  measurement::ProcessDescription description_;
  std::unique_ptr<recording::File> file_;
  std::unique_ptr<measurement::LiveTrace> trace_ = std::make_unique<measurement::LiveTrace>();
  std::uint32_t app_ = 0, mpi_ = 0;
  measurement::ThreadTree* tree_ = nullptr;
  measurement::TraceStream* stream_ = nullptr;
  std::vector<measurement::NodeIndex> work_, call_;
  std::uint64_t last_ns_ = recording::kStart;
};

/// How the processes of a run ended.
using Files = fuzz::Parts (Rank::*)();

/// Two ranks that communicate, in every way that the simulation knows.
fuzz::Parts communicating(std::uint64_t seed, bool odd, Files files_of) {
  constexpr int kSteps = 25;
  constexpr std::uint64_t kTick = 1000;  // of the simulation, in ns
  const waits::ScriptedRun run = waits::simulate(seed, 2, kSteps).run;
  const recording::Directory directory(recording::scratch());
  fuzz::Parts files;
  for (int rank = 0; rank < 2; ++rank) {
    const waits::ScriptedRun::Process& process = run.processes[static_cast<std::size_t>(rank)];
    Rank recorded(directory, rank, odd);
    for (const trace::Definition& definition : process.definitions) recorded.define(definition);
    recorded.add_clocks({.monotonic_ns = recording::kStart, .realtime_ns = recording::kStartRealtime});
    for (trace::Record record : process.threads[0]) {
      record.enter_ns = recording::kStart + record.enter_ns * kTick;
      record.exit_ns = recording::kStart + record.exit_ns * kTick;
      recorded.add(std::move(record));
    }
    std::ranges::move((recorded.*files_of)(), std::back_inserter(files));
  }
  return files;
}

/// Two ranks that do anything, whether it makes sense or not.
fuzz::Parts doing_anything(std::uint64_t seed, Files files_of) {
  constexpr int kRecords = 120;
  const recording::Directory directory(recording::scratch());
  fuzz::Parts files;
  for (int rank = 0; rank < 2; ++rank) {
    Rank recorded(directory, rank, false);
    std::vector<std::int32_t> members = {0, 1};
    for (const auto kind : {trace::DefinitionKind::communicator, trace::DefinitionKind::window,
                            trace::DefinitionKind::group, trace::DefinitionKind::intercommunicator}) {
      recorded.define({.kind = kind,
                       .global_id = 1 + static_cast<std::uint64_t>(kind),
                       .size = 2,
                       .rank = rank,
                       .members = members,
                       .sources = {1 - rank},
                       .destinations = {1 - rank}});
    }
    recording::Program program(seed + static_cast<std::uint64_t>(rank), 4);
    for (std::size_t i = 0; i < kRecords; ++i) recorded.add(program.next(i % 3));
    std::ranges::move((recorded.*files_of)(), std::back_inserter(files));
  }
  return files;
}

/// What was recovered of one function with a loop, as the structure cache keeps it.
Bytes small_cache_entry() {
  structure::ModuleStructure said;
  said.files = {"/src/app.c"};
  said.callees = {"MPI_Barrier"};
  said.procedures = {{.name = "solve", .low = 0x1000, .high = 0x1040, .file = 0, .line = 7}};
  said.scopes = {{.file = 0, .line = 9, .address = 0x1010}};
  said.points = {{.procedure = 0, .file = 0, .line = 8},
                 {.procedure = 0, .scope = 0, .file = 0, .line = 9, .callee = 0}};
  const structure::CodeMap map({{.low = 0x1000, .high = 0x1010}, {.low = 0x1010, .high = 0x1040}}, said);
  const std::string entry = structure::cache_entry::encode("name app\nfiles\nloops\n", map);
  return {entry.begin(), entry.end()};
}

class Corpus {
 public:
  explicit Corpus(std::filesystem::path directory) : directory_(std::move(directory)) {}

  void add(const std::string& target, const std::string& name, const Bytes& bytes) const {
    std::filesystem::create_directories(directory_ / target);
    recording::write_bytes(directory_ / target / ("seed-" + name), bytes);
  }
  /// The same, and what was found to happen to files.
  void add_damaged(const std::string& target, const std::string& name, const Bytes& bytes) const {
    add(target, name, bytes);
    add(target, name + "-cut",
        {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() * 2 / 3)});
    Bytes flipped = bytes;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x40);
    add(target, name + "-flipped", flipped);
  }
  void add_run(const std::string& name, const fuzz::Parts& files, bool killed = false) const {
    const std::string target = killed ? "merge_killed" : "merge";
    add_damaged(target, name, fuzz::join_files(files));
    add(target, name + "-swapped", fuzz::join_files({files[0], files[3], files[2], files[1]}));
    add(target, name + "-copied", fuzz::join_files({files[0], files[1], files[0], files[1]}));
    add(target, name + "-one-trace", fuzz::join_files({files[0], files[1], files[2], {}}));
    add_damaged(killed ? "live_reader" : "measurement_reader", name, files[0]);
    add_damaged("trace_reader", name, files[1]);
  }

 private:
  std::filesystem::path directory_;
};

void write_seeds(const Corpus& corpus) {
  const recording::Directory directory(recording::scratch());
  corpus.add_damaged("measurement_reader", "small", recording::small_file(true, directory));
  corpus.add_damaged("live_reader", "small", fuzz::compact_live(recording::small_file(false, directory)));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::string number = std::to_string(seed);
    corpus.add_run("communicating-" + number, communicating(seed, false, &Rank::seal));
    corpus.add_run("anything-" + number, doing_anything(seed, &Rank::seal));
    corpus.add_run("communicating-killed-" + number, communicating(seed, false, &Rank::leave), true);
    corpus.add_run("anything-killed-" + number, doing_anything(seed, &Rank::leave), true);
  }
  corpus.add_run("odd-names", communicating(4, true, &Rank::seal));
  corpus.add_run("odd-names-killed", communicating(4, true, &Rank::leave), true);
  corpus.add_damaged("cache_entry", "small", small_cache_entry());
  const std::string_view markers[] = {R"({"format": "culprit-run", "version": 1, "run_id": "0123"})",
                                      R"({"format": "culprit-run", "version": 2, "run_id": 7})", "[[[[", ""};
  for (std::size_t i = 0; i < std::size(markers); ++i)
    corpus.add("run_marker", std::to_string(i), {markers[i].begin(), markers[i].end()});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_seeds CORPUS\n", stderr);
    return 2;
  }
  try {
    write_seeds(Corpus(argv[1]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_seeds: %s\n", error.what());
    return 1;
  }
  return 0;
}
