#include "call_path_text.hpp"

#include "views/frame.hpp"

namespace culprit::viewer {

using database::ContextId;
using database::ContextKind;

std::string path_text(const database::Contents& experiment, ContextId context, const std::string& separator,
                      bool complete) {
  std::string text;
  for (const ContextId each : views::path_to(experiment, context)) {
    const database::Context& self = experiment.contexts[each];
    if (!complete && (self.kind == ContextKind::call || self.kind == ContextKind::root ||
                      (self.flags & database::kStartUp) != 0))
      continue;
    if (!text.empty()) text += separator;
    text += views::label(views::frame_of(experiment, self));
  }
  return text;
}

ContextId scope_around(const database::Contents& experiment, ContextId context) {
  while (experiment.contexts[context].kind == ContextKind::call ||
         experiment.contexts[context].kind == ContextKind::statement)
    context = experiment.contexts[context].parent;
  return context;
}

}  // namespace culprit::viewer
