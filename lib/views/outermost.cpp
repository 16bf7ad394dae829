#include "views/outermost.hpp"

#include <algorithm>

namespace culprit::views {

std::vector<database::ContextId> outermost_instances(const database::Contents& experiment,
                                                     database::FlatId scope) {
  std::vector<database::ContextId> inside =
      experiment.flat_instances.between(scope, experiment.flat[scope].end);
  std::ranges::sort(inside);
  std::vector<database::ContextId> outermost;
  database::ContextId end = 0;
  for (const database::ContextId context : inside) {
    if (context < end) continue;
    outermost.push_back(context);
    end = experiment.contexts[context].end;
  }
  return outermost;
}

}  // namespace culprit::views
