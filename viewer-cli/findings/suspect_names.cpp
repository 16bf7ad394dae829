// Names suspects, and rows of code, such that no two in one report read the same (docs/algorithms.md 5.4).
// Those that would get their callers' names, from the inside out, until they differ; what differs in nothing
// that has a name gets its id. Cost: a few look-ups for each suspect.
#include "findings/suspect_names.hpp"

#include "findings/causes.hpp"
#include "findings/phrases.hpp"
#include "text/call_path_text.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace culprit::viewer {
namespace {

using database::ContextId;
using database::kNone;
using database::Suspect;

/// Names of code, and the context that each is of.
class Names {
 public:
  Names(const database::Contents& experiment, std::size_t width, bool unicode, std::vector<std::string> names,
        std::vector<ContextId> contexts)
      : experiment_(experiment),
        width_(width),
        unicode_(unicode),
        names_(std::move(names)),
        contexts_(std::move(contexts)) {}

  /// Those such that no two read the same. `named`: the contexts up to which names say where they are.
  std::vector<std::string> different(const std::vector<ContextId>& named) {
    std::vector<std::size_t> everyone;
    for (const ContextId context : named) {
      everyone.push_back(caller_.size());
      caller_.push_back(enclosing_procedure(experiment_, context));
    }
    distinguish(everyone);
    return std::move(names_);
  }

 private:
  /// Makes some names differ.
  void distinguish(const std::vector<std::size_t>& some) {
    std::map<std::string, std::vector<std::size_t>> alike;
    for (const std::size_t each : some) alike[names_[each]].push_back(each);
    for (const auto& [name, group] : alike) {
      if (group.size() > 1) add_callers(group);
    }
  }

  /// To code of one name: the next callers that are not all the same.
  void add_callers(const std::vector<std::size_t>& group) {
    for (;;) {
      std::map<std::string, std::vector<std::size_t>> by_caller;
      for (const std::size_t each : group) by_caller[next_caller(each)].push_back(each);
      if (by_caller.size() == 1 && by_caller.begin()->first.empty()) break;
      if (by_caller.size() == 1) continue;
      for (const auto& [caller, of_caller] : by_caller) {
        if (caller.empty()) continue;
        for (const std::size_t each : of_caller) names_[each] += ", called by " + caller;
      }
      distinguish(group);
      return;
    }
    for (const std::size_t each : group) names_[each] += " [c" + std::to_string(contexts_[each]) + ']';
  }

  /// Goes to the next procedure outwards, past run-time libraries, as of OpenMP; empty at the root.
  std::string next_caller(std::size_t name) {
    ContextId& at = caller_[name];
    do {
      if (at != kNone) at = enclosing_procedure(experiment_, experiment_.contexts[at].parent);
    } while (at != kNone && (experiment_.contexts[at].flags & database::kRunTime) != 0);
    return at == kNone ? std::string{} : procedure_name(experiment_, at, width_, unicode_);
  }

  const database::Contents& experiment_;
  std::size_t width_;
  bool unicode_;
  std::vector<std::string> names_;
  std::vector<ContextId> contexts_;
  std::vector<ContextId> caller_;  ///< the procedure up to which each is named
};

}  // namespace

ContextId scope_of_name(const database::Contents& experiment, const Suspect& suspect) {
  const ContextId inside = enclosing_procedure(experiment, suspect.suspect);
  const ContextId named = enclosing_procedure(experiment, suspect.named);
  const auto name = [&](ContextId x) { return experiment.contexts[x].name; };
  const bool same = named == kNone || inside == named || name(inside) == name(named);  // recursion included
  return same ? suspect.suspect : suspect.named;
}

std::vector<std::string> suspect_names(const database::Contents& experiment, std::size_t width,
                                       bool unicode) {
  std::vector<std::string> names;
  std::vector<ContextId> contexts, named;
  for (const Suspect& suspect : experiment.suspects()) {
    names.push_back(
        suspect_phrase(experiment, scope_of_name(experiment, suspect), suspect.suspect, width, unicode));
    contexts.push_back(suspect.suspect);
    named.push_back(suspect.named);
  }
  return Names(experiment, width, unicode, std::move(names), std::move(contexts)).different(named);
}

CodeNames code_names(const database::Contents& experiment, const std::vector<ContextId>& contexts,
                     std::size_t width, bool unicode) {
  CodeNames result;
  ShownPaths paths(experiment);
  std::map<std::uint32_t, ContextId> first_of;  // by path: what reads the same is one
  std::map<std::string, std::vector<ContextId>> alike;
  for (const ContextId context : contexts) {
    if (first_of.try_emplace(paths.number(context), context).second)
      alike[scope_phrase(experiment, as_suspected(experiment, context), false, width, unicode)].push_back(
          context);
  }
  for (const auto& [name, group] : alike) {
    std::vector<std::string> names(group.size(), name);
    if (group.size() > 1) {
      for (std::size_t at = 0; at < group.size(); ++at)
        names[at] = cause_phrase(experiment, group[at], false, width, unicode);
      names = Names(experiment, width, unicode, std::move(names), group).different(group);
    }
    for (std::size_t at = 0; at < group.size(); ++at) result[group[at]] = names[at];
  }
  for (const ContextId context : contexts)
    result.try_emplace(context, result.at(first_of.at(paths.number(context))));
  return result;
}

const std::string& name_of(const database::Contents& experiment, const std::vector<std::string>& names,
                           const Suspect& suspect) {
  return names.at(static_cast<std::size_t>(&suspect - experiment.suspects().data()));
}

}  // namespace culprit::viewer
