// Names suspects such that no two in one report read the same (docs/algorithms.md 5.4). Those that would get
// their callers' names, from the inside out, until they differ; what differs in nothing that has a name gets
// its id. Cost: a few look-ups for each suspect.
#include "findings/suspect_names.hpp"

#include "findings/phrases.hpp"

#include <map>

namespace culprit::viewer {
namespace {

using database::ContextId;
using database::kNone;
using database::Suspect;

class Names {
 public:
  Names(const database::Contents& experiment, std::size_t width, bool unicode)
      : experiment_(experiment), width_(width), unicode_(unicode) {}

  std::vector<std::string> all() {
    std::vector<std::size_t> everyone;
    for (const Suspect& suspect : experiment_.suspects()) {
      everyone.push_back(names_.size());
      names_.push_back(of_one(suspect));
      caller_.push_back(enclosing_procedure(experiment_, suspect.named));
    }
    distinguish(everyone);
    return std::move(names_);
  }

 private:
  [[nodiscard]] std::string of_one(const Suspect& suspect) const {
    return suspect_phrase(experiment_, scope_of_name(experiment_, suspect), suspect.suspect, width_,
                          unicode_);
  }

  /// Makes the names of some suspects differ.
  void distinguish(const std::vector<std::size_t>& some) {
    std::map<std::string, std::vector<std::size_t>> alike;
    for (const std::size_t each : some) alike[names_[each]].push_back(each);
    for (const auto& [name, group] : alike) {
      if (group.size() > 1) add_callers(group);
    }
  }

  /// To suspects of one name: the next callers that are not all the same.
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
    for (const std::size_t each : group)
      names_[each] += " [c" + std::to_string(experiment_.suspects()[each].suspect) + ']';
  }

  /// Goes to the next procedure outwards; empty at the root.
  std::string next_caller(std::size_t suspect) {
    ContextId& at = caller_[suspect];
    if (at != kNone) at = enclosing_procedure(experiment_, experiment_.contexts[at].parent);
    return at == kNone ? std::string{} : procedure_name(experiment_, at, width_, unicode_);
  }

  const database::Contents& experiment_;
  std::size_t width_;
  bool unicode_;
  std::vector<std::string> names_;
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
  return Names(experiment, width, unicode).all();
}

const std::string& name_of(const database::Contents& experiment, const std::vector<std::string>& names,
                           const Suspect& suspect) {
  return names.at(static_cast<std::size_t>(&suspect - experiment.suspects().data()));
}

}  // namespace culprit::viewer
