// Threads that start in one function need not be one team: a library's pools, one for input and output and
// one that computes, all start in its worker's entry (ours; docs/algorithms.md 5.4). Threads of a pool that
// has nothing to do wait as those do that a common queue had no task left for, and no profile distinguishes
// them. What speaks for uneven work is kept: one thread that does all of it, threads that work unequally
// long, and others that had some of the same code, or less of other work. Cost: linear in threads.
#include "blame/other_pools.hpp"

#include "measurement/kinds.hpp"

#include <algorithm>

namespace culprit::blame {
namespace {

/// Of the culprits' work: in this code, or in all; what others have of it is none, or hardly any.
constexpr double kNoWork = 0.01, kHardlyAny = 0.1;
/// Of the largest: who works that much works alike.
constexpr double kAsLong = 0.8;
/// Of a role's waiting, in pools' waits.
constexpr double kInPools = 0.95;

}  // namespace

bool may_be_several_pools(std::span<const database::Context> contexts, const RoleThreads& threads,
                          const RoleView& role) {
  using measurement::WaitKind;
  if (!threads.are_workers || contexts.empty()) return false;
  double in_pools = 0;
  for (database::ContextId x = 0; x < contexts.size(); ++x) {
    if ((contexts[x].flags & database::kFrontier) == 0) continue;
    const auto kind = static_cast<WaitKind>(contexts[x].wait_kind);
    if (kind == WaitKind::condition || kind == WaitKind::lock || kind == WaitKind::join)
      in_pools += static_cast<double>(role.idleness[x].sum);
  }
  return in_pools > 0 && in_pools >= kInPools * static_cast<double>(role.idleness[0].sum);
}

bool others_may_serve(const WorkOfThreads& work, std::span<const std::uint32_t> culprits) {
  if (culprits.size() < 2 || culprits.size() >= work.all.size()) return false;
  const auto real = [](std::uint64_t ns) { return static_cast<double>(ns); };
  double of_code = 0, of_all = 0, most = 0;
  for (const std::uint32_t t : culprits) {
    of_code += real(work.code[t]) / static_cast<double>(culprits.size());
    of_all += real(work.all[t]) / static_cast<double>(culprits.size());
    most = std::max(most, real(work.all[t]));
  }
  bool idle = false;
  for (std::uint32_t t = 0; t < work.all.size(); ++t) {
    if (std::ranges::binary_search(culprits, t)) {
      if (real(work.all[t]) < kAsLong * most) return false;
      continue;
    }
    const bool hardly_works = real(work.all[t]) <= kHardlyAny * of_all;
    if (real(work.code[t]) > kNoWork * of_code || (!hardly_works && real(work.all[t]) < kAsLong * of_all))
      return false;
    idle = idle || hardly_works;
  }
  return idle;
}

}  // namespace culprit::blame
