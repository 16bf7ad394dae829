#include "merge/input/process_table.hpp"

#include "exchange/threads.hpp"
#include "merge/attribution/roles.hpp"
#include "merge/values/values.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace process_table_test {

using namespace culprit;
using merge::ProcessSummary;

namespace {

template <class T>
T any() {
  return *rc::gen::arbitrary<T>();
}

/// What processes have in common: a few of each.
struct Common {
  std::vector<std::shared_ptr<const merge::Launch>> launches;
  std::vector<std::shared_ptr<const cct::ModuleKey>> modules;

  Common() {
    for (const char* const host : {"node1", "node2"}) {
      for (const char* const run : {"", "this", "another"}) {
        merge::Launch launch;
        launch.host = host;
        launch.run_id = run;
        launch.arguments = {"app", run};
        launches.push_back(std::make_shared<const merge::Launch>(launch));
      }
    }
    for (const char* const path : {"/bin/app", "/lib/so"})
      modules.push_back(std::make_shared<const cct::ModuleKey>(
          cct::ModuleKey{.path = path, .build_id = "ab", .size = 1, .mtime_ns = 2}));
  }
};

/// Anything that a summary may say; of few ranks, hosts and pids, so that all parts of the order decide.
/// Times are those that a file claims: an end may lie before its beginning.
ProcessSummary any_process(const Common& common, std::size_t number) {
  ProcessSummary process;
  process.path = "/run/" + std::to_string(*rc::gen::inRange(0, 16)) + "/" + std::to_string(number);
  process.bytes = any<std::uint64_t>();
  process.cells = *rc::gen::inRange<std::uint64_t>(0, 100'000);
  process.pid = *rc::gen::inRange<std::uint64_t>(1, 4);
  if (*rc::gen::inRange(0, 3) != 0) process.rank = *rc::gen::inRange(-2, 50);
  process.start_ns = *rc::gen::element(std::uint64_t{5}, ~std::uint64_t{0}, any<std::uint64_t>());
  process.end_ns = any<std::uint64_t>();
  process.start_realtime_ns = any<std::int64_t>();
  process.end = static_cast<measurement::EndReason>(*rc::gen::inRange(0, 4));
  process.iterations = any<std::uint64_t>();
  process.trace_bytes = *rc::gen::element(std::uint64_t{0}, std::uint64_t{70'000});
  process.launch = *rc::gen::elementOf(common.launches);
  process.flaws.resize(*rc::gen::inRange<std::size_t>(0, 3));
  for (merge::ModuleFlaws& flaws : process.flaws)
    flaws = {.module = *rc::gen::elementOf(common.modules),
             .bridged = any<std::uint64_t>(),
             .partial = any<std::uint64_t>(),
             .no_unwind = any<bool>()};
  process.threads.resize(*rc::gen::inRange<std::size_t>(0, 4));
  for (merge::ThreadSummary& thread : process.threads) {
    thread.ordinal = any<std::uint32_t>();
    thread.worker = any<bool>();
    thread.start_ns = any<std::uint64_t>();
    thread.end_ns = any<std::uint64_t>();
    thread.lived_ns = any<std::uint64_t>();
    if (any<bool>()) thread.start_module = *rc::gen::elementOf(common.modules);
    thread.start_offset = any<std::uint64_t>();
  }
  return process;
}

std::vector<ProcessSummary> any_processes(const Common& common, std::size_t most) {
  std::vector<ProcessSummary> processes;
  const std::size_t count = *rc::gen::inRange<std::size_t>(0, most);
  for (std::size_t p = 0; p < count; ++p) processes.push_back(any_process(common, p));
  return processes;
}

bool equal(const merge::ModuleFlaws& a, const merge::ModuleFlaws& b) {
  return *a.module == *b.module && a.bridged == b.bridged && a.partial == b.partial &&
         a.no_unwind == b.no_unwind;
}

bool equal(const merge::ThreadSummary& a, const merge::ThreadSummary& b) {
  return a.ordinal == b.ordinal && a.worker == b.worker && a.start_ns == b.start_ns && a.end_ns == b.end_ns &&
         a.lived_ns == b.lived_ns && (a.start_module == nullptr) == (b.start_module == nullptr) &&
         (a.start_module == nullptr || *a.start_module == *b.start_module) &&
         a.start_offset == b.start_offset;
}

bool equal(const ProcessSummary& a, const ProcessSummary& b) {
  const auto same = [](const auto& x, const auto& y) { return equal(x, y); };
  return a.path == b.path && a.bytes == b.bytes && a.cells == b.cells && a.pid == b.pid && a.rank == b.rank &&
         a.start_ns == b.start_ns && a.end_ns == b.end_ns && a.start_realtime_ns == b.start_realtime_ns &&
         a.end == b.end && a.iterations == b.iterations && a.trace_bytes == b.trace_bytes &&
         *a.launch == *b.launch && std::ranges::equal(a.flaws, b.flaws, same) &&
         std::ranges::equal(a.threads, b.threads, same);
}

/// Hardly anything in memory.
storage::SpillOptions tiny() {
  storage::SpillOptions options;
  options.memory = 1;
  options.block = *rc::gen::inRange<std::size_t>(1, 300);
  return options;
}

bool of_this_run(const ProcessSummary& process) {
  return process.launch->run_id != "another";
}

/// Collective: the table of what ranks have in turn, on rank 0.
merge::ProcessTable table_of(exchange::Communicator& comm, const std::vector<ProcessSummary>& processes,
                             std::size_t run, const storage::SpillOptions& options) {
  auto spill = std::make_unique<storage::Spill>(options);
  merge::ProcessRuns runs(*spill, run);
  for (std::size_t p = 0; p < processes.size(); ++p) {
    if (p % static_cast<std::size_t>(comm.size()) == static_cast<std::size_t>(comm.rank()))
      runs.add(ProcessSummary(processes[p]));
  }
  merge::Summarizer summarizer;
  merge::PackedRuns mine = runs.take();
  std::vector<merge::PackedRuns> all = gather(comm, summarizer, std::move(mine), *spill);
  if (comm.rank() != 0) return {};
  return merge::ProcessTable(std::move(spill), std::move(all), of_this_run);
}

/// What ranks got, in the order of rounds and ranks.
struct Got {
  std::vector<std::string> paths;
  std::vector<std::uint32_t> first_location, roles;

  friend bool operator==(const Got&, const Got&) = default;
};

/// Collective: on rank 0.
Got partitioned(exchange::Communicator& comm, const merge::ProcessTable& table, const merge::Roles& roles) {
  const merge::Partition partition(comm, table, roles);
  Got got_by;
  std::uint64_t own = 0, astray = 0;
  partition.for_each_round([&](const merge::TileFiles& tile) {
    std::vector<std::byte> paths;
    tile.visit_files([&](const char* path, std::span<const std::uint32_t> of_file) {
      const auto bytes = std::as_bytes(std::span(path, std::char_traits<char>::length(path)));
      paths.insert(paths.end(), bytes.begin(), bytes.end());
      paths.push_back(static_cast<std::byte>(of_file.size()));
      paths.push_back(std::byte{'\n'});
    });
    own += tile.threads.size();
    for (std::uint32_t t = 0; t < tile.sums.size(); ++t)
      astray += partition.rank_of(tile.first_location + t) != comm.rank() ? 1 : 0;
    const auto all_paths = comm.gather(paths, 0);
    const auto all_roles = comm.gather(std::as_bytes(std::span(tile.sums)), 0);
    const auto all_first = comm.gather(std::as_bytes(std::span(&tile.first_location, 1)), 0);
    for (std::size_t rank = 0; rank < all_paths.size(); ++rank) {
      if (all_paths[rank].empty()) continue;  // no tile
      got_by.paths.emplace_back(reinterpret_cast<const char*>(all_paths[rank].data()),
                                all_paths[rank].size());
      for (std::size_t at = 0; at < all_roles[rank].size(); at += sizeof(std::uint32_t))
        std::memcpy(&got_by.roles.emplace_back(), all_roles[rank].data() + at, sizeof(std::uint32_t));
      std::memcpy(&got_by.first_location.emplace_back(), all_first[rank].data(), sizeof(std::uint32_t));
    }
  });
  astray = comm.all_sum(astray);
  if (comm.rank() == 0) CHECK(own == partition.files());
  if (comm.rank() == 0) CHECK(astray == 0);
  return got_by;
}

/// As traced_files() lists it.
std::string traced_file(const std::string& path, std::size_t threads, bool of_rank) {
  return path + " " + std::to_string(threads) + (of_rank ? " of a rank" : "");
}

/// A rank's share of the time lines: paths, numbers of threads, and whether they are ranks'.
std::vector<std::string> traced_files(const merge::Partition& partition) {
  std::vector<std::string> files;
  partition.for_each_traced([&](const merge::TracedFile& file) {
    files.push_back(traced_file(file.path, file.threads, file.of_rank));
  });
  return files;
}

}  // namespace

TEST_CASE("summaries come back in canonical order, whatever fits into memory and whoever made them") {
  const Common common;
  REQUIRE(rc::check([&] {
    std::vector<ProcessSummary> processes = any_processes(common, 60);
    const auto run = *rc::gen::inRange<std::size_t>(1, 20);
    const auto ranks = *rc::gen::inRange(1, 5);
    const storage::SpillOptions options = tiny();
    std::vector<ProcessSummary> got[2];
    std::uint64_t size = 0, threads = 0, cells = 0;
    exchange::run_on_threads(ranks, [&](exchange::Communicator& comm) {
      const merge::ProcessTable table = table_of(comm, processes, run, options);
      if (comm.rank() != 0) return;
      for (auto& pass : got) {
        for (const ProcessSummary& process : table) pass.push_back(process);
      }
      size = table.size();
      threads = table.threads();
      cells = table.cells();
    });
    std::erase_if(processes, [](const ProcessSummary& process) { return !of_this_run(process); });
    std::ranges::sort(processes, merge::canonically_before);
    const auto same = [](const ProcessSummary& a, const ProcessSummary& b) { return equal(a, b); };
    RC_ASSERT(std::ranges::equal(got[0], processes, same));
    RC_ASSERT(std::ranges::equal(got[1], processes, same));
    RC_ASSERT(size == processes.size());
    std::uint64_t all_threads = 0, all_cells = 0;
    for (const ProcessSummary& process : processes) {
      all_threads += process.threads.size();
      all_cells += process.cells;
    }
    RC_ASSERT(threads == all_threads);
    RC_ASSERT(cells == all_cells);
  }));
}

TEST_CASE("tiles are partitioned in the order of locations, the same ones to any number of ranks") {
  const Common common;
  REQUIRE(rc::check([&] {
    std::vector<ProcessSummary> processes = any_processes(common, 60);
    const storage::SpillOptions options = tiny();
    std::vector<Got> got_by(4);
    for (int ranks = 1; ranks <= 4; ++ranks) {
      exchange::run_on_threads(ranks, [&](exchange::Communicator& comm) {
        const merge::ProcessTable table = table_of(comm, processes, 7, options);
        merge::Roles roles{.roles = std::vector<database::Role>(3), .sums = {}};
        for (std::uint32_t t = 0; t < table.threads(); ++t) roles.sums.push_back(t % 3);
        Got own = partitioned(comm, table, roles);
        if (comm.rank() == 0) got_by[static_cast<std::size_t>(ranks - 1)] = std::move(own);
      });
      RC_ASSERT(got_by[static_cast<std::size_t>(ranks - 1)] == got_by[0]);
    }
    std::erase_if(processes, [](const ProcessSummary& process) { return !of_this_run(process); });
    std::ranges::sort(processes, merge::canonically_before);
    std::string expected, got;
    std::uint32_t threads = 0;
    for (const ProcessSummary& process : processes) {
      expected += process.path + static_cast<char>(process.threads.size()) + "\n";
      threads += static_cast<std::uint32_t>(process.threads.size());
    }
    for (const std::string& tile : got_by[0].paths) got += tile;
    RC_ASSERT(got == expected);
    RC_ASSERT(got_by[0].roles.size() == threads);
    for (std::uint32_t t = 0; t < threads; ++t) RC_ASSERT(got_by[0].roles[t] == t % 3);
    RC_ASSERT(std::ranges::is_sorted(got_by[0].first_location));
    RC_ASSERT((got_by[0].first_location.empty() || got_by[0].first_location[0] == 0U));
  }));
}

TEST_CASE(
    "time lines are partitioned in order, each to one rank, and as many bytes to each as their lengths "
    "allow") {
  const Common common;
  REQUIRE(rc::check([&] {
    std::vector<ProcessSummary> processes = any_processes(common, 60);
    for (ProcessSummary& process : processes)
      process.trace_bytes =
          *rc::gen::element(std::uint64_t{0}, std::uint64_t{70'000}, any<std::uint64_t>() >> 20);
    const storage::SpillOptions options = tiny();
    const auto ranks = *rc::gen::inRange(1, 6);
    std::vector<std::vector<std::string>> got_by(static_cast<std::size_t>(ranks));
    exchange::run_on_threads(ranks, [&](exchange::Communicator& comm) {
      const merge::ProcessTable table = table_of(comm, processes, 7, options);
      const merge::Roles roles{.roles = std::vector<database::Role>(1),
                               .sums = std::vector<std::uint32_t>(table.threads())};
      got_by[static_cast<std::size_t>(comm.rank())] = traced_files(merge::Partition(comm, table, roles));
    });
    std::erase_if(processes, [](const ProcessSummary& process) {
      return !of_this_run(process) || process.trace_bytes == 0;
    });
    std::ranges::sort(processes, merge::canonically_before);
    std::uint64_t all = 0, longest = 0;
    for (const ProcessSummary& process : processes) {
      all += process.trace_bytes;
      longest = std::max(longest, process.trace_bytes);
    }
    auto next = processes.begin();
    for (const std::vector<std::string>& files : got_by) {
      std::uint64_t bytes = 0;
      for (const std::string& file : files) {
        RC_ASSERT(next != processes.end());
        RC_ASSERT(file == traced_file(next->path, next->threads.size(), next->rank && !next->forked));
        bytes += next++->trace_bytes;
      }
      RC_ASSERT(bytes <= all / static_cast<std::uint64_t>(ranks) + longest + 1);
    }
    RC_ASSERT(next == processes.end());
  }));
}

TEST_CASE("a packed summary that is damaged or cut off is refused") {
  const Common common;
  REQUIRE(rc::check([&] {
    const ProcessSummary process = any_process(common, 1);
    merge::ProcessPacker packer;
    database::Encoder packed;
    packer.add(process, packed);
    const database::ByteSpan bytes = database::ByteSpan(packed.bytes()).subspan(merge::kPackedSize);
    ProcessSummary whole;
    merge::unpack(bytes, packer.shared(), whole);
    RC_ASSERT(equal(whole, process));
    const auto kept = *rc::gen::inRange<std::size_t>(0, bytes.size());
    ProcessSummary cut;
    RC_ASSERT_THROWS_AS(merge::unpack(bytes.first(kept), packer.shared(), cut), database::Malformed);
    std::vector<std::byte> damaged(bytes.begin(), bytes.end());
    damaged[*rc::gen::inRange<std::size_t>(0, damaged.size())] ^=
        std::byte{*rc::gen::inRange<std::uint8_t>(1, 255)};
    ProcessSummary other;
    try {
      merge::unpack(damaged, packer.shared(), other);
    } catch (const database::Malformed&) {
    }
  }));
}

TEST_CASE("summaries that find no room end the merge on every rank") {
  const Common common;
  storage::SpillOptions options;
  options.directory = "/nowhere/at/all";
  options.purpose = "reading";
  options.memory = 1;
  // The environment may name a place where there is room.
  const char* const named = std::getenv("TMPDIR");
  const std::string kept = named == nullptr ? "" : named;
  ::unsetenv("TMPDIR");
  std::vector<ProcessSummary> processes(40);
  for (std::size_t p = 0; p < processes.size(); ++p)
    processes[p].path = std::string(1000, 'x') + std::to_string(p);
  for (const int ranks : {1, 3}) {
    CHECK_THROWS_WITH(
        exchange::run_on_threads(
            ranks, [&](exchange::Communicator& comm) { (void)table_of(comm, processes, 4, options); }),
        "reading: /nowhere/at/all: cannot make a temporary file: No such file or directory (make room "
        "there, or name another place with TMPDIR)");
  }
  if (named != nullptr) ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace process_table_test
