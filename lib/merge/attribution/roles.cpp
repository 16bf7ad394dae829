// Roles (docs/algorithms.md, Roles): main threads of the ranks; workers by their start routine, or by their
// library where that has no name; the same again for processes that are no rank, by program. Threads are
// compared within their role alone.
#include "merge/attribution/roles.hpp"

#include "blame/blame.hpp"
#include "merge/rules/idle_rules.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace culprit::merge {
namespace {

/// Roles are listed in the order of this key.
struct RoleKey {
  bool other_process = false;
  bool worker = false;
  std::string name;
  auto operator<=>(const RoleKey&) const = default;  // NOLINT(modernize-use-nullptr)
};

std::optional<Place> start_of(const ThreadSummary& thread, const cct::ModuleTable& modules) {
  if (!thread.worker || thread.start_module == nullptr) return std::nullopt;
  const auto module = modules.find(*thread.start_module);
  if (!module) return std::nullopt;
  return Place{.module = *module, .offset = thread.start_offset};
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// What the workers of a runtime library are called where it is stripped and does not name their routine;
/// else empty.
std::string workers_of(const std::string& library) {
  if (matches("libgomp.so*", library) || matches("libomp.so*", library) || matches("libiomp5.so*", library)) {
    return "OpenMP worker";
  }
  return matches("libstdc++.so*", library) ? "std::thread" : "";
}

std::string routine_name(const ThreadSummary& thread, const cct::ModuleTable& modules,
                         const RecoveredStructure& structure) {
  const std::optional<Place> place = start_of(thread, modules);
  if (!place) return "thread";
  const std::string library = file_name(modules[place->module].path);
  const structure::Point* point = structure.point(*place);
  if (point != nullptr) {
    const auto& procedures = structure.modules()[place->module].structure.procedures;
    if (point->procedure < procedures.size()) {
      const structure::Procedure& procedure = procedures[point->procedure];
      const bool named = procedure.source == structure::NameSource::debug_info ||
                         procedure.source == structure::NameSource::symbol;
      if (named || workers_of(library).empty()) return procedure.name;
    }
  }
  const std::string workers = workers_of(library);
  return workers.empty() ? "thread of " + library : workers;
}

}  // namespace

std::vector<Place> start_routines(const ProcessTable& processes, const cct::ModuleTable& modules) {
  std::set<Place> places;
  for (const ProcessSummary& process : processes) {
    for (const ThreadSummary& thread : process.threads) {
      if (const auto place = start_of(thread, modules)) places.insert(*place);
    }
  }
  return {places.begin(), places.end()};
}

Roles find_roles(const ProcessTable& processes, const cct::ModuleTable& modules,
                 const RecoveredStructure& structure) {
  Roles result;
  std::map<RoleKey, std::uint32_t> index;  // in the order in which they are met
  std::vector<std::uint32_t> threads;
  std::vector<std::uint64_t> longest;
  for (const ProcessSummary& process : processes) {
    const bool other = processes.ranked() && !process.rank;
    const std::string prefix = other ? "process " + file_name(process.launch->program) + " " : "";
    for (const ThreadSummary& thread : process.threads) {
      const std::string name = thread.worker ? routine_name(thread, modules, structure) : "main";
      const auto next = static_cast<std::uint32_t>(index.size());
      const std::uint32_t met =
          index.try_emplace({.other_process = other, .worker = thread.worker, .name = prefix + name}, next)
              .first->second;
      if (met == threads.size()) {
        threads.push_back(0);
        longest.push_back(0);
      }
      ++threads[met];
      longest[met] = std::max(longest[met], thread.lived_ns);
      result.sums.push_back(met);
    }
  }
  std::vector<std::uint32_t> role_of(threads.size());
  for (const auto& [key, met] : index) {
    role_of[met] = static_cast<std::uint32_t>(result.roles.size());
    result.roles.push_back({.name = key.name, .threads = threads[met]});
  }
  const auto behind = static_cast<std::uint32_t>(result.roles.size());
  auto sums = result.sums.begin();
  for (const ProcessSummary& process : processes) {
    for (const ThreadSummary& thread : process.threads) {
      const bool brief = blame::lived_briefly(thread.lived_ns, longest[*sums]);
      *sums = role_of[*sums] + (brief ? behind : 0);
      ++sums;
    }
  }
  return result;
}

}  // namespace culprit::merge
