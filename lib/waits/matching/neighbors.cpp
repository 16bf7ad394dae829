// Collectives on the neighbours of a topology: each process waits for those that it receives from, and for
// nobody else (docs/algorithms.md 7). Each call reports its enter to all its destinations; a process's share
// of the instance is complete when its own call and all its sources have come, and the latest of these
// decides. Cost: one message per pair of neighbours and instance.
#include "waits/matching/neighbors.hpp"

#include "waits/timeline/dependencies.hpp"

#include <optional>
#include <tuple>

namespace culprit::waits {

namespace trace = measurement::trace;

void Neighbors::observe(const CallSite& call, const trace::Operation& operation) {
  if (!operation.begins) {
    completions_.completed(call, operation.id);
    return;
  }
  const View& view = contexts_.view(call.process, operation.context);
  if (view.shared == View::kUnknown || view.members == nullptr) {
    ++store_.unmatched.strangers;
    return;
  }
  const trace::Definition& topology = own_[call.process]->definitions()[operation.context];
  const std::uint64_t context = contexts_.shared(view.shared).global_id;
  const std::uint32_t instance = initiated_[view.slot]++;
  for (const std::int32_t neighbor : topology.destinations) {
    const std::optional<std::int32_t> rank = view.members->at(neighbor);
    const int owner = rank ? rank_map_.owner_of(*rank) : -1;
    if (owner < 0) continue;
    exchange_.send(owner, NeighborNotice{context, instance, *rank, call.id, call.context, call.enter_ns});
  }
  std::uint32_t sources = 0;
  for (const std::int32_t neighbor : topology.sources) {
    const std::optional<std::int32_t> rank = view.members->at(neighbor);
    if (rank && rank_map_.owner_of(*rank) >= 0) ++sources;
  }
  const Key key{context, instance, call.rank};
  Share& share = shares_[key];
  share.call = call.id;
  share.operation = operation.completes ? 0 : operation.id;
  share.sources = sources;
  if (share.arrived == sources) find_candidate(key, share);
}

void Neighbors::receive(const NeighborNotice& notice) {
  const Key key{notice.context, notice.instance, notice.to_rank};
  Share& share = shares_[key];
  if (store_.dependencies != nullptr) came_[key].push_back(notice.call);
  if (share.arrived++ == 0 ||
      std::tuple(notice.enter_ns, share.latest.call) > std::tuple(share.latest.enter_ns, notice.call)) {
    share.latest = notice;
  }
  if (share.call.known() && share.arrived == share.sources) find_candidate(key, share);
}

/// A blocking call on all its sources; an operation on the latest, whatever changes.
void Neighbors::depend(const Key& key, const Share& share) {
  Dependency dependency{.event = share.call.index, .pattern = WaitPattern::wait_at_nxn, .cause = {}};
  if (share.operation != 0) {
    dependency.cause = share.latest.call;
    if (share.sources != 0) store_.dependencies->of_operation(key.rank, share.operation, dependency);
  } else {
    for (const EventId source : came_[key]) {
      dependency.cause = source;
      store_.dependencies->add(share.call.location, dependency);
    }
  }
  came_.erase(key);
}

void Neighbors::find_candidate(const Key& key, const Share& share) {
  const bool nobody = share.sources == 0 || share.latest.call == share.call;
  if (store_.dependencies != nullptr) depend(key, share);
  const Candidate candidate{.event = share.call.index,
                            .pattern = WaitPattern::wait_at_nxn,
                            .first = true,
                            .ns = share.latest.enter_ns,
                            .cause = share.latest.call,
                            .cause_context = share.latest.call_context};
  if (share.operation != 0 && nobody) {
    completions_.independent(key.rank, share.operation);
  } else if (share.operation != 0) {
    completions_.depends(key.rank, share.operation, candidate);
  } else if (!nobody) {
    store_.add(share.call.location, candidate);
  }
  shares_.erase(key);
}

void Neighbors::finish() {
  for (const auto& [key, share] : shares_) {
    if (share.call.known()) ++store_.unmatched.collectives;
  }
}

}  // namespace culprit::waits
