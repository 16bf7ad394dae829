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
// Interpreters and task systems bring paths of fifty frames: where a path begins and where it ends shows
// most.
constexpr std::size_t kOuter = 3, kInner = 9;

/// Passed over within a path.
bool is_skipped(const database::Context& self) {
  return self.kind == ContextKind::call || self.kind == ContextKind::root ||
         (self.flags & database::kStartUp) != 0;
}

}  // namespace

std::string path_text(const database::Contents& experiment, ContextId context, const Screen& screen) {
  std::vector<std::string> names;
  for (const ContextId each : views::path_to(experiment, context)) {
    const database::Context& self = experiment.contexts[each];
    if (is_skipped(self) && each != context) continue;
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

std::uint32_t ShownPaths::numbered(std::uint32_t above, ContextId context) {
  const database::Context& self = experiment_.contexts[context];
  const Step step = {above,     self.name,   self.file,
                     self.line, self.module, static_cast<std::uint32_t>(self.kind)};
  return numbers_.try_emplace(step, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

std::uint32_t ShownPaths::number(ContextId context) {
  // The context itself is shown, whatever it is; of those above, what is passed over has its parent's number.
  std::vector<ContextId> unknown;
  std::uint32_t number = database::kNone;
  for (ContextId at = experiment_.contexts[context].parent; at != database::kNone;
       at = experiment_.contexts[at].parent) {
    if (const auto known = number_of_.find(at); known != number_of_.end()) {
      number = known->second;
      break;
    }
    unknown.push_back(at);
  }
  for (; !unknown.empty(); unknown.pop_back()) {
    if (!is_skipped(experiment_.contexts[unknown.back()])) number = numbered(number, unknown.back());
    number_of_.emplace(unknown.back(), number);
  }
  return numbered(number, context);
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
