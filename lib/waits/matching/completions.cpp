// Brings together, for each nonblocking operation, the call that completes it and what that call may have
// waited for (docs/algorithms.md 7). Either may come first and is kept until the other does. What happened
// before the completing call was entered matters only to a call that returns at the first of several
// operations. Cost: one table access per half.
#include "waits/matching/completions.hpp"

#include "waits/timeline/dependencies.hpp"
#include "waits/timeline/trace_store.hpp"

namespace culprit::waits {

Completions::Completions(TraceStore& store, std::span<const std::unique_ptr<ProcessTrace>> own)
    : store_(store), halves_(own.size()) {
  for (std::size_t process = 0; process < own.size(); ++process) {
    if (own[process]->rank() < 0) continue;
    const auto rank = static_cast<std::size_t>(own[process]->rank());
    if (rank >= process_of_.size()) process_of_.resize(rank + 1, 0);
    process_of_[rank] = static_cast<std::uint32_t>(process);
  }
}

void Completions::completed(const CallSite& call, std::uint64_t id) {
  if (store_.dependencies != nullptr) store_.dependencies->completed(call.rank, id, call.id);
  const std::uint32_t process = process_of(call.rank);
  const auto [half, first] = halves_.try_emplace(process, id);
  if (first) {
    half->ns = call.enter_ns;
    half->event = call.id;
    half->any = call.any;
    half->kind = Half::Kind::call;
    return;
  }
  if (half->kind == Half::Kind::call) {  // completed twice: only damage can say so
    ++store_.unmatched.completions;
    return;
  }
  if (half->kind == Half::Kind::candidate && may_matter(half->ns, call.enter_ns, call.any)) {
    store_.add(call.id.location, Candidate{.event = call.id.index,
                                           .pattern = half->pattern,
                                           .first = half->first,
                                           .size = half->size,
                                           .ns = half->ns,
                                           .cause = half->event,
                                           .cause_context = half->cause_context});
  }
  halves_.erase(process, id);
}

void Completions::depends(std::int32_t rank, std::uint64_t id, const Candidate& candidate) {
  const std::uint32_t process = process_of(rank);
  const auto [half, first] = halves_.try_emplace(process, id);
  if (first) {
    half->ns = candidate.ns;
    half->event = candidate.cause;
    half->cause_context = candidate.cause_context;
    half->pattern = candidate.pattern;
    half->first = candidate.first;
    half->size = candidate.size;
    half->kind = Half::Kind::candidate;
    return;
  }
  if (half->kind != Half::Kind::call) return;
  if (may_matter(candidate.ns, half->ns, half->any)) {
    Candidate complete = candidate;
    complete.event = half->event.index;
    store_.add(half->event.location, complete);
  }
  halves_.erase(process, id);
}

void Completions::independent(std::int32_t rank, std::uint64_t id) {
  const std::uint32_t process = process_of(rank);
  const auto [half, first] = halves_.try_emplace(process, id);
  if (first) {
    half->kind = Half::Kind::nobody;
  } else if (half->kind == Half::Kind::call) {
    halves_.erase(process, id);
  }
}

}  // namespace culprit::waits
