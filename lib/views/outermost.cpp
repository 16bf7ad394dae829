// The outermost instances of flat scopes (docs/algorithms.md 4), in one pre-order pass over the contexts.
#include "views/outermost.hpp"

#include <bit>
#include <cstdint>

namespace culprit::views {
namespace {

constexpr std::size_t kBits = 64;

}  // namespace

std::vector<database::ContextId> outermost_instances(const database::Contents& experiment,
                                                     database::FlatId scope) {
  // A module's may be all contexts: marking them is much faster than sorting.
  std::vector<std::uint64_t> inside(experiment.contexts.size() / kBits + 1);
  for (const database::ContextId context :
       experiment.flat_instances.between(scope, experiment.flat[scope].end)) {
    inside[context / kBits] |= std::uint64_t{1} << (context % kBits);
  }
  std::vector<database::ContextId> outermost;
  for (std::size_t at = 0; at < experiment.contexts.size();) {
    const std::uint64_t rest = inside[at / kBits] >> (at % kBits);
    if (rest == 0) {
      at = (at / kBits + 1) * kBits;
      continue;
    }
    at += static_cast<std::size_t>(std::countr_zero(rest));
    outermost.push_back(static_cast<database::ContextId>(at));
    at = experiment.contexts[at].end;
  }
  return outermost;
}

}  // namespace culprit::views
