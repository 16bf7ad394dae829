// Roles (docs/algorithms.md, Roles): main threads of the ranks; workers by their start routine, std::threads
// by the function that they run, or by their library where that has no name; the same again for processes
// that are no rank, by program. Threads are compared within their role alone.
#include "merge/attribution/roles.hpp"

#include "blame/blame.hpp"
#include "database/procedure_name.hpp"
#include "merge/rules/idle_rules.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

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

/// Whether a procedure belongs to the C++ library, by its name, before which a return type may stand. Those
/// of the C library are none's function either: threads wait, and std::async begins, in them.
bool is_of_std(std::string_view name) {
  name = name.substr(0, name.find_first_of("<("));
  for (const std::string_view space : {"std::", "__gnu_cxx::", "__gthread_"}) {
    const std::size_t at = name.find(space);
    if (at != std::string_view::npos && (at == 0 || name[at - 1] == ' ')) return true;
  }
  return false;
}

/// The type of what a std::thread runs, by the name of the function of the C++ library's that calls it and
/// into which it may be inlined; empty for others, and where it calls by a pointer.
std::string_view functor_of(std::string_view name) {
  constexpr std::string_view kTuple = "std::tuple<";
  const std::size_t tuple = name.rfind(kTuple);
  if (name.find("::_M_run") == std::string_view::npos || tuple == std::string_view::npos) return {};
  const std::string_view rest = name.substr(tuple + kTuple.size());
  std::size_t end = 0, depth = 0;
  for (; end < rest.size() && (depth > 0 || (rest[end] != ',' && rest[end] != '>')); ++end) {
    if (rest[end] == '<' || rest[end] == '(') ++depth;
    if ((rest[end] == '>' || rest[end] == ')') && depth > 0) --depth;
  }
  const std::string_view type = rest.substr(0, end);
  return type.find("*)") != std::string_view::npos || is_of_std(type) ? std::string_view() : type;
}

/// What was called at a place, outermost first: the procedure and what was inlined into it.
std::vector<std::string_view> called_at(const Place& place, const RecoveredStructure& structure) {
  const structure::Point* point = structure.point(place);
  std::vector<std::string_view> names;
  if (point == nullptr) return names;
  const structure::ModuleStructure& module = structure.modules()[place.module].structure;
  for (std::uint32_t at = point->scope; at < module.scopes.size(); at = module.scopes[at].parent)
    if (module.scopes[at].kind == structure::Scope::Kind::inlined) names.push_back(module.scopes[at].name);
  if (point->procedure < module.procedures.size()) names.push_back(module.procedures[point->procedure].name);
  std::ranges::reverse(names);
  return names;
}

/// Names of which all must be the same.
struct OneName {
  std::string name;
  bool several = false;
  void add(std::string_view other) {
    several = several || (!name.empty() && name != other);
    name = other;
  }
};

/// What std::threads run. Frames are looked at once: threads of many ranks have the same ones.
class StdThreads {
 public:
  StdThreads(const cct::ModuleTable& modules, const RecoveredStructure& structure)
      : modules_(modules), structure_(structure) {}

  /// The object that the thread was started with, or else the first function on its stacks that is not of the
  /// C++ library; empty where it is not known, or there are several.
  std::string function_of(const ThreadSummary& thread) {
    enum class Where : std::uint8_t { starting, in_std, beyond };
    OneName functor, function;
    std::vector<Where> at{Where::starting};  // the root, then by frame
    for (const EntryFrame& frame : thread.entry) {
      const Where called_from = frame.caller < at.size() ? at[frame.caller] : Where::beyond;
      const Called& called = called_in(frame);
      at.push_back(called_from == Where::starting && !called.of_system ? Where::in_std : called_from);
      if (at.back() != Where::in_std || called.name.empty()) continue;
      at.back() = Where::beyond;
      (called.is_functor ? functor : function).add(called.name);
    }
    const OneName& found = functor.name.empty() ? function : functor;
    return found.several ? std::string() : found.name;
  }

 private:
  struct Called {
    bool of_system = false;  ///< the C library's, which starts threads
    bool is_functor = false;
    std::string name;  ///< empty: none but the C++ library's, or the C library's
  };

  const Called& called_in(const EntryFrame& frame) {
    const auto [known, fresh] = known_.try_emplace({frame.module.get(), frame.offset});
    if (fresh) known->second = look_at(frame);
    return known->second;
  }

  [[nodiscard]] Called look_at(const EntryFrame& frame) const {
    const std::string library = file_name(frame.module->path);
    Called called;
    called.of_system = matches("libc.so*", library) || matches("libpthread.so*", library);
    const auto module = modules_.find(*frame.module);
    if (called.of_system || matches("libstdc++.so*", library) || !module) return called;
    for (const std::string_view name : called_at({.module = *module, .offset = frame.offset}, structure_)) {
      called.is_functor = is_of_std(name);
      called.name = called.is_functor ? std::string(functor_of(name)) : database::without_parameters(name);
      if (!called.name.empty()) break;
    }
    return called;
  }

  const cct::ModuleTable& modules_;
  const RecoveredStructure& structure_;
  std::map<std::pair<const cct::ModuleKey*, std::uint64_t>, Called> known_;
};

std::string routine_name(const ThreadSummary& thread, const cct::ModuleTable& modules,
                         const RecoveredStructure& structure, StdThreads& std_threads) {
  const std::optional<Place> place = start_of(thread, modules);
  if (!place) return "thread";
  if (std::string function = std_threads.function_of(thread); !function.empty()) return function;
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
  StdThreads std_threads(modules, structure);
  std::map<RoleKey, std::uint32_t> index;  // in the order in which they are met
  std::vector<std::uint32_t> threads;
  std::vector<std::uint64_t> longest;
  for (const ProcessSummary& process : processes) {
    const bool other = processes.ranked() && !process.rank;
    const std::string prefix = other ? "process " + file_name(process.launch->program) + " " : "";
    for (const ThreadSummary& thread : process.threads) {
      const std::string name = thread.worker ? routine_name(thread, modules, structure, std_threads) : "main";
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
