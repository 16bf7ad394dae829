// Numbers the chains of procedures of a tree of call paths (docs/algorithms.md 8): a chain is its parent
// chain and one procedure more, whatever call sites and loops lie between. Cost: a look-up per procedure of
// the tree, once.
#include "waits/timeline/procedure_chains.hpp"

#include "storage/hash.hpp"

#include <cstddef>

#include <tsl/robin_map.h>

namespace culprit::waits {

namespace {

struct Hash {
  std::size_t operator()(std::uint64_t key) const { return storage::hash_of(key); }
};

}  // namespace

ProcedureChains::ProcedureChains(const CallPaths& paths) : parent_{kRoot} {
  tsl::robin_map<std::uint64_t, std::uint32_t, Hash> numbers;  // by parent chain and procedure
  of_.reserve(paths.parent.size());
  for (std::size_t context = 0; context < paths.parent.size(); ++context) {
    const std::uint32_t above = paths.parent[context];
    const std::uint32_t outer = above == CallPaths::kNone ? kRoot : of_[above];
    if (paths.procedure[context] == CallPaths::kNone) {
      of_.push_back(outer);
      continue;
    }
    const auto [entry, added] = numbers.try_emplace(storage::joined(outer, paths.procedure[context]),
                                                    static_cast<std::uint32_t>(parent_.size()));
    if (added) parent_.push_back(outer);
    of_.push_back(entry->second);
  }
}

/// Parents have lower numbers.
std::uint32_t ProcedureChains::common(std::uint32_t a, std::uint32_t b) const {
  while (a != b) (a > b ? a : b) = parent(a > b ? a : b);
  return a;
}

}  // namespace culprit::waits
