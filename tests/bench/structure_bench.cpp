// The time that static structure takes, module by module, nothing cached by us unless asked for: everything
// that a run sampled. Usage: bench_structure MEASUREMENT, or bench_structure --module FILE [STEP]: each
// STEP-th address (default 64) of the file's executable code, for modules that no run sampled as a whole. -v:
// what is found. -j N: N threads a module. -c DIR: with a cache there.
#include "measurement/find.hpp"
#include "measurement/measurement.hpp"
#include "structure/module.hpp"
#include "structure/structure.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace culprit;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<structure::Request> sampled(const char* directory) {
  std::map<std::pair<std::string, std::string>, std::set<std::uint64_t>> addresses;
  measurement::for_each_measurement(directory, [&](const std::filesystem::path& path) {
    const measurement::Measurement file = measurement::Reader().read(path);
    for (const measurement::ThreadProfile& thread : file.threads)
      for (const cct::Node& node : thread.nodes) {
        if (node.frame.module >= file.modules.size() || node.frame.kind == cct::FrameKind::region) continue;
        const measurement::Module& module = file.modules[node.frame.module];
        if (!module.own) addresses[{module.key.path, module.key.build_id}].insert(node.frame.offset);
      }
  });
  std::vector<structure::Request> requests;
  for (const auto& [module, offsets] : addresses) {
    structure::Request request;
    request.path = module.first;
    request.build_id = module.second;
    request.addresses.assign(offsets.begin(), offsets.end());
    requests.push_back(std::move(request));
  }
  return requests;
}

std::vector<structure::Request> all_code(const char* path, std::uint64_t step) {
  structure::Request request;
  request.path = path;
  std::string why;
  const auto module = structure::Module::open(request, why);
  if (!module) {
    std::fprintf(stderr, "bench_structure: %s: %s\n", path, why.c_str());
    std::exit(1);
  }
  const auto text = module->section(".text");
  for (std::uint64_t at = 0; at < text.bytes.size(); at += step)
    request.addresses.push_back(text.address + at);
  return {request};
}

std::string place(const structure::ModuleStructure& module, std::uint32_t file, std::uint32_t line) {
  const std::string path = file < module.files.size() ? module.files[file] : "?";
  return path.substr(path.rfind('/') + 1) + ":" + std::to_string(line);
}

void print(const structure::Request& request, const structure::ModuleStructure& module) {
  for (std::size_t i = 0; i < module.points.size(); ++i) {
    const structure::Point& point = module.points[i];
    std::string path;
    for (std::uint32_t at = point.scope; at != structure::kNone; at = module.scopes[at].parent) {
      const structure::Scope& scope = module.scopes[at];
      const bool loop = scope.kind == structure::Scope::Kind::loop;
      path = (loop ? " > loop " + place(module, scope.file, scope.line)
                   : " > " + place(module, scope.call_file, scope.call_line) + " " + scope.name) +
             path;
    }
    std::printf("%#lx %s%s > %s\n", request.addresses[i], module.procedures[point.procedure].name.c_str(),
                path.c_str(), place(module, point.file, point.line).c_str());
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> words(arguments + 1, arguments + count);
  const bool verbose = std::erase(words, "-v") != 0;
  std::size_t threads = 1;
  if (const auto at = std::ranges::find(words, "-j"); at != words.end() && at + 1 != words.end()) {
    threads = std::strtoull((at + 1)->c_str(), nullptr, 0);
    words.erase(at, at + 2);
  }
  std::string cache;
  if (const auto at = std::ranges::find(words, "-c"); at != words.end() && at + 1 != words.end()) {
    cache = *(at + 1);
    words.erase(at, at + 2);
  }
  if (words.empty() || (words[0] == "--module" && words.size() < 2)) {
    std::fprintf(stderr, "usage: bench_structure MEASUREMENT | --module FILE [STEP]  [-v] [-j N] [-c DIR]\n");
    return 2;
  }
  const std::uint64_t step = words.size() > 2 ? std::strtoull(words[2].c_str(), nullptr, 0) : 64;
  const bool whole = words[0] == "--module";
  auto requests =
      whole ? all_code(words[1].c_str(), std::max<std::uint64_t>(1, step)) : sampled(words[0].c_str());
  double wall = 0, cpu = 0;
  std::size_t addresses = 0, procedures = 0;
  for (structure::Request& request : requests) {
    request.threads = threads;
    request.cache = cache;
    const auto begin = std::chrono::steady_clock::now();
    const double cpu_begin = cpu_seconds();
    const structure::ModuleStructure found = structure::recover(request);
    const double used = cpu_seconds() - cpu_begin;
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%8.1f ms  %8.1f ms CPU  %6zu addresses  %5zu procedures  %5zu scopes  %s\n", took * 1e3,
                used * 1e3, request.addresses.size(), found.procedures.size(), found.scopes.size(),
                request.path.c_str());
    for (const std::string& note : found.notes) std::printf("             (%s)\n", note.c_str());
    if (verbose) print(request, found);
    wall += took;
    cpu += used;
    addresses += request.addresses.size();
    procedures += found.procedures.size();
  }
  std::printf("structure: %zu modules, %zu addresses, %zu procedures: %.3f s, %.3f s CPU\n", requests.size(),
              addresses, procedures, wall, cpu);
}
