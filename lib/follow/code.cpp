// Attributes addresses of running processes to procedures, inlined procedures and lines (docs/algorithms.md
// 15). Addresses are gathered first, then looked up by module, each once for all processes, with the
// structure cache and without loops. What a procedure means for time (MPI, a wait, set-up, input and output)
// follows from its name by the rules of the merge (5.1).
#include "follow/code.hpp"

#include "measurement/python_function.hpp"
#include "merge/rules/run_time_libraries.hpp"
#include "print/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace culprit::follow {
namespace {

std::string base_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// The MPI library, or one of those that it is made of.
bool is_of_mpi(std::string_view module) {
  static constexpr std::array<std::string_view, 7> kBegin = {"libmpi",    "libopen-", "libpmi", "libuc",
                                                             "libfabric", "libpsm",   "mca_"};
  return std::ranges::any_of(kBegin, [&](std::string_view begin) { return module.starts_with(begin); });
}

}  // namespace

Procedure classify(const std::string& name, const std::string& module_path, const merge::IdleRules& rules) {
  const merge::NameRule rule = rules.procedure(name);
  const std::string call = rules.mpi_call(name);
  Procedure procedure;
  procedure.name = call.empty() ? name : call;
  procedure.module = base_of(module_path);
  procedure.mpi = !call.empty();
  procedure.waits = rule.frontier != merge::Frontier::none;
  procedure.setup = rule.frontier == merge::Frontier::setup;
  procedure.moves = rule.moves;
  procedure.library = merge::is_run_time_library(module_path) || is_of_mpi(procedure.module);
  procedure.interpreter = name.starts_with(measurement::kPythonInterpreter);
  procedure.io = rule.io || (rule.libc_io && merge::is_run_time_library(module_path));
  return procedure;
}

std::uint32_t Code::module(const measurement::Module& module) {
  const auto id = static_cast<std::uint32_t>(modules_.size());
  const auto [entry, fresh] =
      module_ids_.try_emplace({module.key.path, module.key.build_id, module.region}, id);
  if (!fresh) return entry->second;
  structure::Request request;
  request.path = module.key.path;
  request.build_id = module.key.build_id;
  request.loops = false;
  request.cache = structure::default_cache();
  modules_.push_back({.path = module.key.path,
                      .own = module.own,
                      .executable = module.executable,
                      .region = module.region,
                      .code = structure::KnownCode(std::move(request)),
                      .known = {},
                      .wanted = {}});
  return id;
}

void Code::want(std::uint32_t module, std::uint64_t offset) {
  LoadModule& of = modules_[module];
  if (of.region) {
    if (!of.known.contains(offset)) of.known[offset] = steps_in_region(of, offset);
    return;
  }
  if (!of.known.contains(offset)) of.wanted.push_back(offset);
}

void Code::attribute() {
  for (LoadModule& module : modules_) {
    if (module.wanted.empty()) continue;
    std::ranges::sort(module.wanted);
    module.wanted.erase(std::unique(module.wanted.begin(), module.wanted.end()), module.wanted.end());
    const structure::ModuleStructure structure = module.code.around(module.wanted);
    for (std::size_t i = 0; i < module.wanted.size() && i < structure.points.size(); ++i)
      module.known[module.wanted[i]] = steps_at(structure, structure.points[i], module);
    module.wanted.clear();
  }
}

std::span<const Step> Code::steps(std::uint32_t module, std::uint64_t offset) const {
  const LoadModule& of = modules_[module];
  const auto found = of.known.find(offset);
  if (found == of.known.end()) return {};
  return found->second;
}

std::uint32_t Code::name(const std::string& text) {
  const auto id = static_cast<std::uint32_t>(procedures_.size());
  const auto [entry, fresh] = procedure_ids_.try_emplace({text, std::string(), false}, id);
  if (fresh) {
    procedures_.emplace_back();
    procedures_.back().name = text;
    procedures_.back().library = true;
  }
  return entry->second;
}

std::uint32_t Code::add(Procedure procedure) {
  procedures_.push_back(std::move(procedure));
  return static_cast<std::uint32_t>(procedures_.size() - 1);
}

std::uint32_t Code::procedure(const std::string& name, const LoadModule& module, bool inlined) {
  const auto id = static_cast<std::uint32_t>(procedures_.size());
  const auto [entry, fresh] = procedure_ids_.try_emplace({name, module.path, inlined}, id);
  if (!fresh) return entry->second;
  Procedure made = classify(print::spelled(name), module.path, rules_);
  made.inlined = inlined;
  made.of_program = module.executable;
  made.of_sampler = module.own;
  procedures_.push_back(std::move(made));
  return id;
}

std::uint32_t Code::file(const std::string& path) {
  const auto [entry, fresh] = file_ids_.try_emplace(path, static_cast<std::uint32_t>(files_.size()));
  if (fresh) files_.push_back(print::spelled(path));
  return entry->second;
}

/// A Python function, or a region that the program marks.
std::vector<Step> Code::steps_in_region(const LoadModule& region, std::uint64_t offset) {
  const auto function = measurement::python_function(region.path);
  if (offset == 0 || !function) return {{.procedure = procedure(region.path, region, false)}};
  const std::uint32_t id = procedure(std::string(function->name), region, false);
  procedures_[id].python = true;
  procedures_[id].of_program = true;
  return {{.procedure = id,
           .file = file(std::string(function->file)),
           .line = static_cast<std::uint32_t>(offset)}};
}

std::vector<Step> Code::steps_at(const structure::ModuleStructure& structure, const structure::Point& point,
                                 const LoadModule& module) {
  if (point.procedure == structure::kNone) return {};
  const auto file_id = [&](std::uint32_t id) {
    return id < structure.files.size() ? file(structure.files[id]) : kNone;
  };
  std::vector<const structure::Scope*> inlined;
  for (std::uint32_t at = point.scope; at != structure::kNone; at = structure.scopes[at].parent) {
    if (structure.scopes[at].kind == structure::Scope::Kind::inlined)
      inlined.push_back(&structure.scopes[at]);
  }
  std::vector<Step> steps = {
      {.procedure = procedure(structure.procedures[point.procedure].name, module, false)}};
  std::ranges::reverse(inlined);
  for (const structure::Scope* const scope : inlined) {
    steps.back().file = file_id(scope->call_file);
    steps.back().line = scope->call_line;
    steps.push_back({.procedure = procedure(scope->name, module, true)});
  }
  steps.back().file = file_id(point.file);
  steps.back().line = point.line;
  return steps;
}

}  // namespace culprit::follow
