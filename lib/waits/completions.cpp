#include "waits/completions.hpp"

#include "waits/ledger.hpp"

namespace culprit::waits {

Completions::Completions(Ledger& ledger, std::span<const std::unique_ptr<ProcessTrace>> own)
    : ledger_(ledger), halves_(own.size()) {
  for (std::size_t process = 0; process < own.size(); ++process) {
    if (own[process]->rank() < 0) continue;
    const auto rank = static_cast<std::size_t>(own[process]->rank());
    if (rank >= process_of_.size()) process_of_.resize(rank + 1, 0);
    process_of_[rank] = static_cast<std::uint32_t>(process);
  }
}

void Completions::completed(const CallSite& call, std::uint64_t id) {
  const std::uint32_t process = process_of_[static_cast<std::size_t>(call.rank)];
  const auto [half, first] = halves_.try_emplace(process, id);
  if (first) {
    half->ns = call.enter_ns;
    half->event = call.id;
    half->any = call.any;
    half->kind = Half::Kind::call;
    return;
  }
  if (half->kind == Half::Kind::call) {  // completed twice: only damage can say so
    ++ledger_.unmatched.completions;
    return;
  }
  if (half->kind == Half::Kind::candidate) {
    add(call.id, call.enter_ns, call.any,
        {.pattern = half->pattern,
         .first = half->first,
         .ns = half->ns,
         .cause = half->event,
         .cause_context = half->cause_context});
  }
  halves_.erase(process, id);
}

void Completions::depends(std::int32_t rank, std::uint64_t id, const std::optional<Candidate>& candidate) {
  const std::uint32_t process = process_of_[static_cast<std::size_t>(rank)];
  const auto [half, first] = halves_.try_emplace(process, id);
  if (first) {
    *half = half_of(candidate);
    return;
  }
  if (half->kind != Half::Kind::call) return;
  if (candidate) add(half->event, half->ns, half->any, *candidate);
  halves_.erase(process, id);
}

Completions::Half Completions::half_of(const std::optional<Candidate>& candidate) {
  if (!candidate) return {};
  return {.ns = candidate->ns,
          .event = candidate->cause,
          .cause_context = candidate->cause_context,
          .pattern = candidate->pattern,
          .first = candidate->first,
          .kind = Half::Kind::candidate};
}

void Completions::add(EventId call, std::uint64_t enter_ns, bool any, Candidate candidate) {
  candidate.event = call.index;
  // What was there before the call can only matter to one that returns at the first of several.
  if (any || candidate.ns > enter_ns) ledger_.add(call.location, candidate);
}

}  // namespace culprit::waits
