#include "text/call_path_text.hpp"

#include "text/prose.hpp"
#include "text/shorten.hpp"
#include "views/frame.hpp"

#include <cstddef>
#include <vector>

namespace culprit::viewer {

using database::ContextId;
using database::ContextKind;

namespace {

constexpr std::size_t kNameColumns = 48;
// Interpreters and task systems bring paths of fifty frames: where a path begins and where it ends tells
// most.
constexpr std::size_t kOuter = 3, kInner = 9;

}  // namespace

std::string path_text(const database::Contents& experiment, ContextId context, const Screen& screen) {
  std::vector<std::string> names;
  for (const ContextId each : views::path_to(experiment, context)) {
    const database::Context& self = experiment.contexts[each];
    const bool skipped = self.kind == ContextKind::call || self.kind == ContextKind::root ||
                         (self.flags & database::kStartUp) != 0;
    if (skipped && each != context) continue;
    const std::string name = without_parameters(views::label(views::frame_of(experiment, self)));
    names.push_back(keep(shorten_name(name, kNameColumns, screen.unicode)));
  }
  if (names.size() > kOuter + kInner + 1) {
    const std::size_t gone = names.size() - kOuter - kInner;
    names.erase(names.begin() + kOuter, names.end() - kInner);
    names.insert(names.begin() + kOuter, keep("(" + std::to_string(gone) + " frames)"));
  }
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += screen.unicode ? " › " : " > ";
    text += name;
  }
  return text;
}

std::string whole_path(const database::Contents& experiment, ContextId context) {
  std::string text;
  for (const ContextId each : views::path_to(experiment, context)) {
    if (!text.empty()) text += '/';
    text += views::label(views::frame_of(experiment, experiment.contexts[each]));
  }
  return text;
}

ContextId scope_around(const database::Contents& experiment, ContextId context) {
  while (experiment.contexts[context].kind == ContextKind::call ||
         experiment.contexts[context].kind == ContextKind::statement)
    context = experiment.contexts[context].parent;
  return context;
}

ContextId users_scope(const database::Contents& experiment, ContextId context) {
  ContextId scope = context;
  while ((experiment.contexts[scope].flags & database::kRunTime) != 0)
    scope = experiment.contexts[scope].parent;
  scope = scope_around(experiment, scope);
  const ContextKind kind = experiment.contexts[scope].kind;
  const bool root = kind == ContextKind::root || kind == ContextKind::thread_root;
  return root ? scope_around(experiment, context) : scope;
}

}  // namespace culprit::viewer
