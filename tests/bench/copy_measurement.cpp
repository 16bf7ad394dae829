// Makes a measurement directory of any number of ranks out of a real one, for benchmarks of merging. The
// copies keep the real trees, but each leaves out a few contexts and varies the samples, as real ranks do.
// Usage: copy_measurement SOURCE TARGET RANKS
#include "measurement/live.hpp"
#include "measurement/measurement.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace {

using namespace culprit;
using measurement::Measurement;

std::string raw_build_id(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::vector<std::uint32_t> copy_modules(const Measurement& source, measurement::LiveFile& file) {
  std::vector<std::uint32_t> index;
  std::uint64_t address = 0x10000;
  for (const measurement::Module& module : source.modules) {
    const std::string id = raw_build_id(module.key.build_id);
    const unsigned flags = (module.own ? measurement::LiveFile::kModuleOwn : 0) |
                           (module.executable ? measurement::LiveFile::kModuleExecutable : 0) |
                           (module.vdso ? measurement::LiveFile::kModuleVdso : 0);
    index.push_back(file.module(address, module.key.path.c_str(), id.data(), id.size(), flags));
    address += 0x10000;
  }
  return index;
}

measurement::SampleValues vary(const measurement::Cell& cell, std::mt19937_64& random) {
  std::uniform_real_distribution<double> factor(0.5, 1.5);
  measurement::SampleValues values;
  const std::uint64_t samples = std::max<std::uint64_t>(1, cell.samples + cell.blocked);
  const std::uint64_t period = std::max<std::uint64_t>(1, cell.time_ns / samples);
  values.weight =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(samples) * factor(random)));
  values.time_ns = values.weight * period;
  values.cpu_ns = cell.cpu_ns;
  values.mark = cell.mark;
  return values;
}

void copy_thread(const measurement::ThreadProfile& thread, const std::vector<std::uint32_t>& modules,
                 measurement::LiveFile& file, std::mt19937_64& random) {
  measurement::ThreadTree* tree =
      file.add_thread(thread.tid, thread.ordinal == 0, thread.start_routine, thread.start_ns);
  if (tree == nullptr) {
    std::fprintf(stderr, "copy_measurement: no room for a thread\n");
    std::exit(1);
  }
  std::vector<measurement::NodeIndex> copied(thread.nodes.size(), tree->root());
  std::bernoulli_distribution missing(0.02);
  for (std::size_t i = 1; i < thread.nodes.size(); ++i) {
    const cct::Node& node = thread.nodes[i];
    const measurement::NodeIndex parent = copied[node.parent];
    cct::FrameKey key = node.frame;
    if (key.module != cct::kNoModule) key.module = modules[key.module];
    switch (key.kind) {
      case cct::FrameKind::program_root:
        copied[i] = tree->program_root();
        break;
      case cct::FrameKind::thread_root:
        copied[i] = tree->thread_root();
        break;
      case cct::FrameKind::partial:
        copied[i] = tree->partial();
        break;
      default:
        copied[i] = tree->child(parent, key);
    }
    if (thread.cell[i] != cct::kNoNode && !missing(random))
      tree->record(copied[i], vary(thread.cells[thread.cell[i]], random));
    if (i % 128 == 0) file.maintain(thread.end_ns);  // grows the arena ahead of use
  }
  tree->finish(thread.end_ns);
}

void copy(const Measurement& source, const std::filesystem::path& target, int rank, int ranks) {
  char name[64];
  std::snprintf(name, sizeof name, "%02x/rank-%06d-copy.culprit", rank % 256, rank);
  const std::string path = std::filesystem::absolute(target / name).string();
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::vector<const char*> arguments;
  for (const std::string& argument : source.process.arguments) arguments.push_back(argument.c_str());
  arguments.push_back(nullptr);
  std::vector<measurement::ProcessDescription::Event> events;
  for (const auto& event : source.process.events)
    events.push_back({event.name.c_str(), event.unit.c_str(), event.period});
  measurement::ProcessDescription process;
  process.program = source.process.program.c_str();
  process.arguments = arguments.data();
  process.directory = source.process.directory.c_str();
  process.host = source.process.host.c_str();
  process.pid = static_cast<std::uint64_t>(10000 + rank);
  process.start_ns = source.process.start_ns;
  process.start_realtime_ns = source.process.start_realtime_ns;
  process.events = events.data();
  process.event_count = events.size();
  process.has_realtime = source.process.has_realtime;

  auto file = std::make_unique<measurement::LiveFile>();
  if (const int error = file->create(path.c_str(), process)) {
    std::fprintf(stderr, "copy_measurement: create: %s: error %d\n", path.c_str(), error);
    std::exit(1);
  }
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) * 7919 + 1);
  const std::vector<std::uint32_t> modules = copy_modules(source, *file);
  file->maintain(source.process.start_ns);
  for (const auto& thread : source.threads) copy_thread(thread, modules, *file, random);
  file->set_rank(rank, static_cast<std::uint32_t>(ranks), source.process.run_id.c_str(),
                 source.process.mpi.c_str());
  if (const int error = file->seal(measurement::EndReason::exit, source.process.end_ns)) {
    std::fprintf(stderr, "copy_measurement: seal: %s: error %d\n", path.c_str(), error);
    std::exit(1);
  }
  file->forget();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: copy_measurement SOURCE TARGET RANKS\n");
    return 2;
  }
  const std::filesystem::path source = argv[1], target = argv[2];
  const int ranks = std::atoi(argv[3]);
  try {
    std::vector<Measurement> seeds;
    for (const auto& path : measurement::find_measurements(source)) seeds.push_back(measurement::read(path));
    std::filesystem::create_directories(target);
    std::filesystem::copy_file(source / "culprit.run", target / "culprit.run",
                               std::filesystem::copy_options::overwrite_existing);
    for (int rank = 0; rank < ranks; ++rank)
      copy(seeds[static_cast<std::size_t>(rank) % seeds.size()], target, rank, ranks);
    std::size_t deepest = 0, most = 0;
    for (const Measurement& seed : seeds)
      for (const auto& thread : seed.threads) {
        std::vector<std::size_t> depth(thread.nodes.size(), 0);
        for (std::size_t i = 1; i < thread.nodes.size(); ++i)
          deepest = std::max(deepest, depth[i] = depth[thread.nodes[i].parent] + 1);
        most = std::max(most, thread.nodes.size());
      }
    std::printf("%d ranks from %zu, up to %zu contexts, %zu deep\n", ranks, seeds.size(), most, deepest);
  } catch (const measurement::MeasurementError& error) {
    std::fprintf(stderr, "copy_measurement: read: %s: %s\n", error.path().c_str(), error.what());
    return 1;
  }
  return 0;
}
