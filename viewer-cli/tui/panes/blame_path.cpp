#include "tui/panes/blame_path.hpp"

#include "findings/phrases.hpp"

#include <algorithm>

namespace culprit::viewer::tui {
namespace {

using database::ContextId;
using database::kNone;
using database::Suspect;

BlameStep to_suspect(const database::Contents& experiment, const Suspect& suspect, std::size_t number,
                     std::size_t of) {
  std::string why = "Suspect " + std::to_string(number) + " of " + std::to_string(of) + ": " +
                    threads_phrase(experiment, suspect.locations) + " work";
  if (suspect.locations.size() == 1) why += 's';
  return {suspect.suspect, suspect.locations, why + " more than the others here (r: its ranks; b: on)"};
}

/// Whether a role was tested and found balanced at the context.
bool is_balanced(const database::Contents& experiment, ContextId context) {
  for (std::uint32_t role = 0; role < experiment.roles.size(); ++role) {
    if (experiment.balance(role, context) == database::Balance::balanced) return true;
  }
  return false;
}

}  // namespace

BlameStep next_on_blame_path(const database::Contents& experiment, ContextId context) {
  const std::vector<Suspect>& all = experiment.suspects();
  // On a suspect: to the next one of the same balanced context.
  const auto here =
      std::find_if(all.begin(), all.end(), [&](const Suspect& each) { return each.suspect == context; });
  const ContextId balanced = here != all.end() ? here->balanced : context;
  std::vector<const Suspect*> below;
  for (const Suspect& each : all) {
    const bool explains = std::ranges::any_of(
        each.explained, [&](const database::Explained& part) { return part.balanced == balanced; });
    if (explains) below.push_back(&each);
  }
  if (!below.empty()) {
    const auto at = std::find_if(below.begin(), below.end(),
                                 [&](const Suspect* each) { return each->suspect == context; });
    const std::size_t next = at == below.end() ? 0 : static_cast<std::size_t>(at - below.begin()) + 1;
    if (next < below.size()) return to_suspect(experiment, *below[next], next + 1, below.size());
    return {balanced, {}, "No more suspects: back at the balanced code above them"};
  }
  if (context == 0) return {std::nullopt, {}, "No suspect explains the waiting of the whole run"};
  for (ContextId above = experiment.contexts[context].parent; above != kNone;
       above = experiment.contexts[above].parent) {
    if (!is_balanced(experiment, above) && above != 0) continue;
    return {above, {}, "The innermost balanced code around the wait is charged with it (b: suspects)"};
  }
  return {std::nullopt, {}, "Nothing around it is balanced"};
}

ContextId on_blame_path(const database::Contents& experiment, const std::vector<ContextId>& contexts) {
  const auto is_here = [&](ContextId context) {
    return std::find(contexts.begin(), contexts.end(), context) != contexts.end();
  };
  for (const Suspect& each : experiment.suspects()) {
    if (is_here(each.suspect)) return each.suspect;
  }
  for (const Suspect& each : experiment.suspects()) {
    for (const database::Explained& part : each.explained) {
      if (is_here(part.balanced)) return part.balanced;
    }
  }
  return contexts.front();
}

}  // namespace culprit::viewer::tui
