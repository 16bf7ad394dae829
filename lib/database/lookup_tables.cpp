// Makes the tables without which readers would walk over all contexts (docs/formats.md, "Look-up tables"):
// the instances of flat scopes and of procedures, by a counting sort; flags of flat scopes, merged from the
// innermost outwards; start-up code; and blame of flat scopes, of which inclusive blame counts once for each
// scope that holds the context, however often it recurs (docs/algorithms.md 4, 5.3). Cost: linear in
// contexts; of blame, rows times their depth.
#include "database/lookup_tables.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

namespace culprit::database {

namespace {

/// The nearest context at or above `context` that is an instance of a flat scope; kNone above all procedures.
ContextId nearest_scope(const Experiment& experiment, ContextId context) {
  while (context != kNone && experiment.contexts[context].flat == kNone)
    context = experiment.contexts[context].parent;
  return context;
}

bool counts_whole_extent(ContextKind kind) {
  return kind == ContextKind::procedure || kind == ContextKind::file || kind == ContextKind::module ||
         kind == ContextKind::root;
}

/// Sorts contexts by their keys, kNone left out; stable.
ContextLists by_key(const std::vector<std::uint32_t>& keys, std::size_t count) {
  ContextLists lists;
  std::vector<std::uint32_t> next(count + 1, 0);
  for (const std::uint32_t key : keys) {
    if (key != kNone) ++next[key + 1];
  }
  for (std::size_t key = 1; key <= count; ++key) next[key] += next[key - 1];
  lists.ends.assign(next.begin() + 1, next.end());
  lists.contexts.resize(next.back());
  for (ContextId context = 0; context < keys.size(); ++context) {
    if (keys[context] != kNone) lists.contexts[next[keys[context]]++] = context;
  }
  return lists;
}

/// Finds, for each procedure, the flat scope of which exactly its instances are instances.
void match_flat(const Experiment& experiment, Procedures& procedures) {
  std::vector<std::uint32_t> instances_of(experiment.flat.size(), 0);
  for (const Context& context : experiment.contexts) {
    if (context.flat != kNone) ++instances_of[context.flat];
  }
  std::uint32_t begin = 0;
  for (std::size_t number = 0; number < procedures.procedures.size(); ++number) {
    const std::uint32_t end = procedures.instances.ends[number];
    const std::span<const ContextId> mine =
        std::span(procedures.instances.contexts).subspan(begin, end - begin);
    begin = end;
    if (mine.empty()) continue;
    const FlatId flat = experiment.contexts[mine.front()].flat;
    if (flat == kNone || experiment.flat[flat].kind != ContextKind::procedure) continue;
    const bool alike =
        std::ranges::all_of(mine, [&](ContextId x) { return experiment.contexts[x].flat == flat; });
    if (alike && instances_of[flat] == mine.size()) procedures.procedures[number].flat = flat;
  }
}

}  // namespace

ContextLists flat_instances(const Experiment& experiment) {
  std::vector<std::uint32_t> keys;
  keys.reserve(experiment.contexts.size());
  for (const Context& context : experiment.contexts) keys.push_back(context.flat);
  return by_key(keys, experiment.flat.size());
}

std::vector<std::uint8_t> flat_flags(const Experiment& experiment, const std::vector<std::uint8_t>& flags) {
  std::vector<std::uint8_t> merged(experiment.flat.size(), kNoContextYet);
  for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
    const FlatId scope = experiment.contexts[context].flat;
    if (scope != kNone) merged[scope] = merge_flags(merged[scope], flags[context]);
  }
  // Pre-order: every scope comes after its parent, so going backwards each is complete when it is reached.
  for (std::size_t scope = merged.size(); scope-- > 1;) {
    std::uint8_t& parent = merged[experiment.flat[scope].parent];
    parent = merge_flags(parent, merged[scope]);
  }
  return merged;
}

Procedures number_procedures(const Experiment& experiment, const std::vector<std::uint8_t>& flags) {
  using Key = std::tuple<StringId, StringId, StringId, std::uint32_t, ContextKind>;
  std::map<Key, std::uint32_t> numbers;
  Procedures result;
  result.of_context.assign(experiment.contexts.size(), kNone);
  std::vector<std::uint32_t> keys(experiment.contexts.size(), kNone);
  for (ContextId x = 0; x < experiment.contexts.size(); ++x) {
    const Context& self = experiment.contexts[x];
    if (self.kind != ContextKind::procedure && self.kind != ContextKind::inlined) continue;
    const auto next = static_cast<std::uint32_t>(numbers.size());
    const auto [found, added] =
        numbers.try_emplace({self.name, self.file, self.module, self.line, self.kind}, next);
    if (added) result.procedures.push_back({.first = x, .flat = kNone, .flags = kNoContextYet});
    result.of_context[x] = found->second;
    std::uint8_t& merged = result.procedures[found->second].flags;
    merged = merge_flags(merged, flags[x]);
    if (self.kind == ContextKind::procedure) keys[x] = found->second;
  }
  result.instances = by_key(keys, result.procedures.size());
  match_flat(experiment, result);
  return result;
}

std::vector<FlatBlameRow> flat_blame(const Experiment& experiment) {
  std::map<std::pair<std::uint32_t, FlatId>, FlatBlameRow> sums;
  std::vector<FlatId> seen;
  for (std::uint32_t role = 0; role < experiment.blame.size(); ++role) {
    for (const BlameRow& row : experiment.blame[role]) {
      const BlameSums blame{row.sum, row.min, row.max};
      const ContextId owner = nearest_scope(experiment, row.context);
      if (owner == kNone) continue;
      const FlatId own = experiment.contexts[owner].flat;
      for (FlatId scope = own; scope != kNone; scope = experiment.flat[scope].parent) {
        if (scope == own || counts_whole_extent(experiment.flat[scope].kind))
          sums[{role, scope}].exclusive.add(blame);
      }
      seen.clear();
      for (ContextId at = owner; at != kNone; at = experiment.contexts[at].parent) {
        for (FlatId scope = experiment.contexts[at].flat; scope != kNone;
             scope = experiment.flat[scope].parent) {
          seen.push_back(scope);
        }
      }
      std::ranges::sort(seen);
      seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
      for (const FlatId scope : seen) sums[{role, scope}].inclusive.add(blame);
    }
  }
  std::vector<FlatBlameRow> rows;
  for (auto& [key, row] : sums) {
    row.role = key.first;
    row.scope = key.second;
    rows.push_back(row);
  }
  return rows;
}

namespace {

constexpr std::array<std::string_view, 8> kNames = {
    "_start",   "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "clone", "clone3",
    "__clone3", "start_thread"};

bool is_start_up_name(std::string_view name, std::string_view module) {
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) return false;
  // Programs may have procedures of the same names.
  const std::string_view file = module.substr(module.rfind('/') + 1);
  return name.starts_with('_') || file.starts_with("libc.so") || file.starts_with("libc-");
}

bool is_root(ContextKind kind) {
  return kind == ContextKind::root || kind == ContextKind::thread_root;
}

/// Whether CPython has a function by this name on the way to a Python function; `python3.11@0x52f0a0` stands
/// for one of a stripped interpreter. A program that is linked with it statically has its own code in the
/// same module.
bool is_interpreter_name(std::string_view name) {
  constexpr std::array<std::string_view, 5> kBegin = {"Py", "_Py", "pymain_", "pyrun_", "pythread_"};
  constexpr std::array<std::string_view, 5> kWhole = {"run_mod", "run_eval_code_obj", "thread_run",
                                                      "builtin_exec", "method_vectorcall"};
  const auto begins = [&](std::string_view begin) { return name.starts_with(begin); };
  return std::ranges::any_of(kBegin, begins) || std::ranges::find(kWhole, name) != kWhole.end() ||
         name.find("@0x") != std::string_view::npos;
}

/// How an interpreter came to the outermost Python function, which `caller` calls: by its own code, which
/// ends at that of a program around it.
void mark_interpreter(const Experiment& experiment, const std::vector<ContextId>& procedure, ContextId caller,
                      std::vector<std::uint8_t>& flags) {
  if (caller == kNone) return;
  const std::vector<Context>& contexts = experiment.contexts;
  const StringId interpreter = contexts[caller].module;
  for (ContextId at = caller; at != kNone; at = procedure[contexts[at].parent]) {
    const bool passed_over = contexts[at].module == interpreter && (flags[at] & kStartUp) == 0 &&
                             is_interpreter_name(experiment.strings[contexts[at].name]);
    if (!passed_over) return;
    flags[at] |= kStartUp;
  }
}

}  // namespace

std::vector<std::uint8_t> flags_with_start_up(const Experiment& experiment) {
  const std::vector<Context>& contexts = experiment.contexts;
  std::vector<std::uint8_t> flags(contexts.size());
  std::vector<ContextId> procedure(contexts.size(), kNone);
  std::vector<bool> in_python(contexts.size());
  for (ContextId context = 0; context < contexts.size(); ++context) {
    const Context& self = contexts[context];
    flags[context] = self.flags;
    const ContextId outer = self.parent == kNone ? kNone : procedure[self.parent];
    procedure[context] = self.kind == ContextKind::procedure ? context : outer;
    if (self.kind == ContextKind::region) procedure[context] = kNone;  // the program's, also around main
    in_python[context] = self.parent != kNone && in_python[self.parent];
    if (self.kind == ContextKind::procedure) {
      if (!in_python[context] && experiment.strings[self.module] == kPythonModule) {
        in_python[context] = true;
        mark_interpreter(experiment, procedure, outer, flags);
      }
      if (!is_start_up_name(experiment.strings[self.name], experiment.strings[self.module])) continue;
      flags[context] |= kStartUp;
      if (outer != kNone && contexts[outer].parent != kNone &&
          is_root(contexts[contexts[outer].parent].kind)) {
        flags[outer] |= kStartUp;
      }
    }
  }
  for (ContextId context = 0; context < contexts.size(); ++context) {
    const ContextId around = procedure[context];
    if (around != kNone && contexts[context].kind != ContextKind::procedure) {
      flags[context] = static_cast<std::uint8_t>(flags[context] | (flags[around] & kStartUp));
    }
  }
  return flags;
}

}  // namespace culprit::database
