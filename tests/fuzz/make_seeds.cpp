#include "file_formats.hpp"
#include "measurement/published_calls_layout.hpp"
#include "measurement/trace.hpp"
#include "recorded_rank.hpp"
#include "simulated_run.hpp"
#include "structure/cache.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// Writes what the fuzzers begin with: files as the runtime writes them, and what was found to go wrong with
// such files: cut, flipped, copied, swapped, with odd names. Usage: make_seeds CORPUS
namespace {

namespace trace = culprit::measurement::trace;
namespace calls = culprit::measurement::calls;
namespace structure = culprit::structure;
namespace waits = culprit::waits::testing;
using fuzz::Bytes;

using recording::Rank;

/// The files of a process that was killed.
fuzz::Parts leave(Rank& rank) {
  rank.leave();
  return {fuzz::compact_live(recording::bytes_of(rank.path())),
          fuzz::compact_trace(recording::bytes_of(rank.trace_path()))};
}
/// Its measurement and its trace, both of a clean end.
fuzz::Parts seal(Rank& rank) {
  rank.seal();
  return {recording::bytes_of(rank.path()), fuzz::compact_trace(recording::bytes_of(rank.trace_path()))};
}

/// How the processes of a run ended.
using Files = fuzz::Parts (*)(Rank&);

/// Two ranks that communicate, in every way that the simulation knows.
fuzz::Parts communicating(std::uint64_t seed, bool odd, Files files_of) {
  constexpr int kSteps = 25;
  constexpr std::uint64_t kTick = 1000;  // of the simulation, in ns
  const waits::ScriptedRun run = waits::simulate(seed, 2, kSteps).run;
  const recording::Directory directory(recording::scratch());
  fuzz::Parts files;
  for (int rank = 0; rank < 2; ++rank) {
    const waits::ScriptedRun::Process& process = run.processes[static_cast<std::size_t>(rank)];
    Rank recorded(directory.path(), rank, odd);
    for (const trace::Definition& definition : process.definitions) recorded.define(definition);
    recorded.add_clocks({.monotonic_ns = recording::kStart, .realtime_ns = recording::kStartRealtime});
    for (trace::Record record : process.threads[0]) {
      record.enter_ns = recording::kStart + record.enter_ns * kTick;
      record.exit_ns = recording::kStart + record.exit_ns * kTick;
      recorded.add(std::move(record));
    }
    std::ranges::move(files_of(recorded), std::back_inserter(files));
  }
  return files;
}

/// Two ranks that do anything, whether it makes sense or not.
fuzz::Parts doing_anything(std::uint64_t seed, Files files_of) {
  constexpr int kRecords = 120;
  const recording::Directory directory(recording::scratch());
  fuzz::Parts files;
  for (int rank = 0; rank < 2; ++rank) {
    Rank recorded(directory.path(), rank, false);
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
    std::ranges::move(files_of(recorded), std::back_inserter(files));
  }
  return files;
}

/// What was recovered of one function with a loop.
structure::CodeMap small_code_map() {
  structure::ModuleStructure said;
  said.files = {"/src/app.c"};
  said.callees = {"MPI_Barrier"};
  said.procedures = {{.name = "solve", .low = 0x1000, .high = 0x1040, .file = 0, .line = 7}};
  said.scopes = {{.file = 0, .line = 9, .address = 0x1010}};
  said.points = {{.procedure = 0, .file = 0, .line = 8},
                 {.procedure = 0, .scope = 0, .file = 0, .line = 9, .callee = 0}};
  return {{{.low = 0x1000, .high = 0x1010}, {.low = 0x1010, .high = 0x1040}}, said};
}

Bytes of_text(std::string_view text) {
  return {text.begin(), text.end()};
}

/// An input of fuzz_published_calls: of a rank, from a byte on, so many others.
template <typename Word>
Bytes published(std::uint8_t rank, std::size_t at, const Word& word) {
  Bytes input(5 + sizeof word);
  for (std::size_t i = 0; i < 3; ++i) input[1 + i] = static_cast<char>(at >> 8 * i & 0xff);
  input[0] = static_cast<char>(rank);
  input[4] = sizeof word - 1;
  std::memcpy(input.data() + 5, &word, sizeof word);
  return input;
}

/// One thread of another host, looked at twice and seen once.
constexpr std::string_view kStacks =
    R"({"looks": 2, "processes": 1, "stops_s": [0.001, 0.002], "unseen": ["pid 7"], "missed": [],
 "paths": [[{"name": "<program root>", "file": "", "line": 0, "module": "", "kind": "root"},
  {"name": "solve", "file": "a.c", "line": 7, "module": "app", "kind": "procedure"},
  {"name": "MPI_Recv", "file": "", "line": 0, "module": "libmpi.so", "kind": "inlined", "mpi": true}]],
 "seen": [{"rank": 3, "thread": 0, "role": "main", "process": "far:77", "paths": [0, null], "busy": true}]})";

/// Two Python functions, `main` called by a module, where tests/fuzz/python_memory.cpp looks for them.
class PythonMemory {
 public:
  explicit PythonMemory(bool cframes) : cframes_(cframes) {
    const std::uint64_t inner = cframes ? kCFrame : kFrame;
    put(kState + (cframes ? 56 : 72), inner);
    put(kCFrame + 8, kFrame);
    frame(kFrame, kCode, kOuter, 0);
    frame(kOuter, kCode, kEntry, cframes ? 1 : 0);
    frame(kEntry, kCode, 0, 3);  // from 3.12 on: on the C stack
    code();
    string(kFile, "/a.py");
    string(kName, "main");
    put(kLines + 8, std::uint64_t{0x33});
    put(kLines + 16, std::uint64_t{6});
    put(kLines + 32, std::array<unsigned char, 6>{0xd8, 1, 2, 0xf0, 0x45, 3});
  }
  /// The first byte says which interpreter it is, the second what is left of it at last.
  [[nodiscard]] Bytes input() const {
    Bytes all = {static_cast<char>(cframes_ ? 0 : 1), static_cast<char>(0x80)};
    all.insert(all.end(), bytes_.begin(), bytes_.end());
    return all;
  }

 private:
  static constexpr std::uint64_t kState = 0x1000, kCFrame = 0x1080, kFrame = 0x1100, kOuter = 0x1180,
                                 kEntry = 0x1200, kCode = 0x1280, kFile = 0x1380, kName = 0x13c0,
                                 kLines = 0x1400;

  template <typename Value>
  void put(std::uint64_t at, const Value& value) {
    const std::size_t place = at - kState;
    bytes_.resize(std::max(bytes_.size(), place + sizeof value));
    std::memcpy(bytes_.data() + place, &value, sizeof value);
  }
  void frame(std::uint64_t at, std::uint64_t code, std::uint64_t previous, unsigned char end) {
    put(at + (cframes_ ? 32 : 0), code);
    put(at + (cframes_ ? 48 : 8), previous);
    put(at + 56, code + (cframes_ ? 184 : 200) + 4);
    put(at + (cframes_ ? 68 : 70), end);
  }
  void code() {
    put(kCode + 8, std::uint64_t{0x11});
    put(kCode + (cframes_ ? 72 : 68), std::int32_t{10});
    put(kCode + 112, std::array{kFile, kName, kName, kLines});
  }
  void string(std::uint64_t at, std::string_view text) {
    put(at + 8, std::uint64_t{0x22});
    put(at + 16, std::uint64_t{text.size()});
    put(at + 32, std::uint32_t{0x64});  // compact, ASCII, one byte a character
    for (std::size_t i = 0; i < text.size(); ++i) put(at + (cframes_ ? 48 : 40) + i, text[i]);
  }

  bool cframes_;
  Bytes bytes_;
};

/// What the browser remembers, and metrics beside the database.
constexpr std::string_view kBrowserState =
    R"text({"run_id": "0123456789abcdef", "columns": ["REALTIME:sum (I)", "idleness:max (I)"], "sort": 1,
"percent": true, "least_percent": 0.5, "source_lines": true, "inside_waits": true, "start_up": true,
"recursion": true, "library": true, "prefixes": [["/build", "/src"]],
"nodes": {
  "calling-context" : "1", "callers" : "2.1", "flat" : "3"
}
}

TWICE=2 * $REALTIME
)text";

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

/// The first call of either rank becomes one of each kind; one waits for itself, one names no context.
void add_published(const Corpus& corpus) {
  constexpr std::size_t kCall = offsetof(calls::Calls, call);
  for (std::uint32_t kind = 0; kind <= static_cast<std::uint32_t>(calls::CallKind::finalize); ++kind)
    corpus.add("published_calls", "kind-" + std::to_string(kind),
               published(kind % 2, kCall + offsetof(calls::Call, kind), kind));
  corpus.add("published_calls", "itself", published(0, kCall + offsetof(calls::Call, peer), std::int32_t{0}));
  corpus.add("published_calls", "nowhere",
             published(1, kCall + offsetof(calls::Call, context), std::uint64_t{9}));
}

void write_seeds(const Corpus& corpus) {
  const recording::Directory directory(recording::scratch());
  corpus.add_damaged("measurement_reader", "small", recording::small_file(true, directory));
  corpus.add_damaged("live_reader", "small", fuzz::compact_live(recording::small_file(false, directory)));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::string number = std::to_string(seed);
    corpus.add_run("communicating-" + number, communicating(seed, false, seal));
    corpus.add_run("anything-" + number, doing_anything(seed, seal));
    corpus.add_run("communicating-killed-" + number, communicating(seed, false, leave), true);
    corpus.add_run("anything-killed-" + number, doing_anything(seed, leave), true);
  }
  corpus.add_run("odd-names", communicating(4, true, seal));
  corpus.add_run("odd-names-killed", communicating(4, true, leave), true);
  corpus.add_damaged("cache_entry", "small",
                     of_text(structure::cache_entry::encode("name app\nfiles\nloops\n", small_code_map())));
  const std::vector<std::byte> map = structure::encode(small_code_map());
  corpus.add_damaged("structure_cache", "small",
                     fuzz::bytes_of(reinterpret_cast<const std::uint8_t*>(map.data()), map.size()));
  corpus.add_damaged("remote_stacks", "one-thread", of_text(kStacks));
  add_published(corpus);
  for (const bool cframes : {true, false})
    corpus.add("python_memory", cframes ? "3.11" : "3.13", PythonMemory(cframes).input());
  corpus.add_damaged("browser_state", "all", of_text(kBrowserState));
  const std::string_view markers[] = {R"({"format": "culprit-run", "version": 1, "run_id": "0123"})",
                                      R"({"format": "culprit-run", "version": 2, "run_id": 7})", "[[[[", ""};
  for (std::size_t i = 0; i < std::size(markers); ++i)
    corpus.add("run_marker", std::to_string(i), of_text(markers[i]));
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
