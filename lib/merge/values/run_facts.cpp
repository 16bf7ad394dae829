#include "merge/values/run_facts.hpp"

#include "merge/values/transfer_work.hpp"

#include <algorithm>

namespace culprit::merge {

using database::ContextId;
using measurement::EpochKind;
using measurement::WaitKind;

namespace {

/// No thread's squares are more, in ns²: those of many threads add up in 128 bits.
constexpr double kMostSquares = 1e30;

}  // namespace

WaitLists::WaitLists(const Shape& shape, const Plan& plan, RunFacts& run)
    : shape_(shape), plan_(plan), run_(run) {
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    const WaitKind kind = shape.contexts[x].wait;
    if (kind != WaitKind::none && kind != WaitKind::mpi && frontier_of(shape, x) == x)
      thread_waits_.push_back(x);
  }
}

void WaitLists::add_epochs(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                           std::uint32_t location, std::int32_t rank) {
  for (const measurement::Epoch& epoch : thread.epochs) {
    if (measurement::is_transfer(epoch.kind) || measurement::is_transfer_stamp(epoch.kind)) continue;
    if (epoch.kind == EpochKind::trace_cost) run_.tracing_ns += epoch.total_ns;
    if (epoch.kind == EpochKind::partner_count && rank >= 0 &&
        epoch.size_class <= static_cast<std::uint32_t>(INT32_MAX)) {
      run_.partners.push_back({.communicator = epoch.window,
                               .members = static_cast<std::uint32_t>(epoch.peers),
                               .from = rank,
                               .to = static_cast<std::int32_t>(epoch.size_class),
                               .messages = epoch.count,
                               .bytes = epoch.total_ns});
    }
    if (measurement::is_stretch(epoch.kind) || epoch.kind >= EpochKind::call_count)
      continue;  // of all MPI calls, or of threads (thread_blame.hpp)
    const ContextId own = context_of(shape_, thread, united, epoch.node);
    const ContextId frame = frontier_of(shape_, own);
    if (measurement::is_stamp(epoch.kind)) {  // of calls that never wait, too
      run_.stamps.push_back({.location = location,
                             .context = frame == database::kNone ? own : frame,
                             .kind = epoch.kind,
                             .instance = epoch.size_class,
                             .members = static_cast<std::uint32_t>(epoch.peers >> 32),
                             .peer = static_cast<std::int32_t>(epoch.peers & 0x7fffffff),
                             .window = epoch.window,
                             .enter_ns = epoch.count,
                             .exit_ns = epoch.total_ns,
                             .last_ns = epoch.least_ns});
      continue;
    }
    if (frame == database::kNone || epoch.kind == EpochKind::none) continue;
    tile_epochs_.push_back({.location = location,
                            .context = frame,
                            .size_class = epoch.size_class,
                            .kind = epoch.kind,
                            .window = epoch.window,
                            .peers = epoch.peers,
                            .count = epoch.count,
                            .total_ns = epoch.total_ns,
                            .least_ns = epoch.least_ns});
  }
}

void WaitLists::add_gaps(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                         std::uint32_t role) {
  const auto call_at = [&](cct::NodeId node) {
    return frontier_of(shape_, context_of(shape_, thread, united, node));
  };
  const auto sums_of = [&](ContextId context, ContextId after) -> blame::GapSums& {
    const blame::GapSums none{.role = role, .context = context, .after = after};
    return run_.gaps.try_emplace(none.key(), none).first->second;
  };
  std::map<ContextId, std::uint64_t> totals;
  for (const measurement::Epoch& epoch : thread.epochs) {
    const measurement::Stretch end{epoch.size_class};
    if (epoch.kind != EpochKind::gap || !end.is_gap() || epoch.count == 0) continue;
    const ContextId context = call_at(end.after());
    if (context == database::kNone) continue;
    blame::GapSums& sums = sums_of(context, epoch.node == 0 ? database::kNone : call_at(epoch.node));
    const auto total = static_cast<double>(epoch.total_ns);
    const double squares = epoch.squares - total * total / static_cast<double>(epoch.count);
    ++sums.threads;
    sums.count += epoch.count;
    sums.total_ns += epoch.total_ns;
    sums.longest_ns = std::max(sums.longest_ns, epoch.window);
    sums.add_squares(static_cast<metrics::Uint128>(std::clamp(squares, 0.0, kMostSquares)));
    totals[context] += epoch.total_ns;
  }
  for (const auto& [context, ns] : totals) {
    blame::GapSums& all = sums_of(context, blame::GapSums::kAny);
    ++all.threads;
    all.total_ns += ns;
    all.most_ns = std::max(all.most_ns, ns);
  }
}

TileSums::Watched& WaitLists::watched() {
  watched_.groups.clear();
  for (const ContextId x : thread_waits_) watched_.groups.push_back(plan_.group_of[x]);
  for (const blame::EpochRow& epoch : tile_epochs_) watched_.groups.push_back(plan_.group_of[epoch.context]);
  std::ranges::sort(watched_.groups);
  const auto rest = std::unique(watched_.groups.begin(), watched_.groups.end());
  watched_.groups.erase(rest, watched_.groups.end());
  return watched_;
}

/// Location by location: its one-sided communication, then where it waited for other threads.
void WaitLists::add_tile(std::uint32_t first_location, std::size_t locations) {
  const auto idleness = [&](ContextId context) {
    const auto found = std::ranges::lower_bound(watched_.groups, plan_.group_of[context]);
    return &watched_.idleness[static_cast<std::size_t>(found - watched_.groups.begin()) * locations];
  };
  std::vector<const std::uint64_t*> thread_waits;
  for (const ContextId x : thread_waits_) thread_waits.push_back(idleness(x));
  auto epoch = tile_epochs_.begin();
  for (std::uint32_t l = 0; l < locations; ++l) {
    const std::uint32_t location = first_location + l;
    for (; epoch != tile_epochs_.end() && epoch->location == location; ++epoch) {
      epoch->idle_ns = idleness(epoch->context)[l];
      run_.epochs.push_back(*epoch);
    }
    for (std::size_t i = 0; i < thread_waits.size(); ++i) {
      if (thread_waits[i][l] == 0) continue;
      run_.epochs.push_back({.location = location,
                             .context = thread_waits_[i],
                             .thread_wait = shape_.contexts[thread_waits_[i]].wait,
                             .idle_ns = thread_waits[i][l]});
    }
  }
  tile_epochs_.clear();
}

}  // namespace culprit::merge
