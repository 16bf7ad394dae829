#include "views/nested_subtrees.hpp"

namespace culprit::views {

using database::ContextId;

std::vector<std::vector<ContextId>> nested_subtrees(std::span<const ContextId> set, std::uint32_t contexts,
                                                    const std::function<ContextId(ContextId)>& parent_of,
                                                    std::size_t most) {
  std::vector<std::vector<ContextId>> layers;
  // How many subtrees each context lies in: in the set where that is odd.
  std::vector<std::uint32_t> around(contexts, 0);
  auto next = set.begin();
  std::size_t subtrees = 0;
  for (ContextId context = 0; context < contexts; ++context) {
    const bool inside = next != set.end() && *next == context;
    if (inside) ++next;
    const ContextId parent = parent_of(context);
    const std::uint32_t outer = parent < context ? around[parent] : 0;
    around[context] = outer;
    if (inside == (outer % 2 == 1)) continue;
    if (++subtrees > most) return {};
    if (layers.size() <= outer) layers.resize(outer + 1);
    layers[outer].push_back(context);
    ++around[context];
  }
  return layers;
}

}  // namespace culprit::views
