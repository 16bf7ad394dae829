#include "waits/completions.hpp"

#include "waits/ledger.hpp"

namespace culprit::waits {

void Completions::completed(const CallSite& call, std::uint64_t id) {
  const Half half{.call = call.id, .candidate = kNoCandidate, .any = call.any, .enter_ns = call.enter_ns};
  const auto [entry, first] = halves_.try_emplace({call.rank, id}, half);
  if (first) return;
  if (entry->second.call.known()) {  // completed twice: only damage can say so
    ++ledger_.unmatched.completions;
    return;
  }
  if (entry->second.candidate != kNoCandidate) {
    add(half, candidates_[entry->second.candidate]);
    free_.push_back(entry->second.candidate);
  }
  halves_.erase(entry);
}

void Completions::depends(std::int32_t rank, std::uint64_t id, const std::optional<Candidate>& candidate) {
  const auto [entry, first] = halves_.try_emplace({rank, id}, Half{});
  if (first) {
    if (candidate) entry.value().candidate = keep(*candidate);
    return;
  }
  if (!entry->second.call.known()) return;
  if (candidate) add(entry->second, *candidate);
  halves_.erase(entry);
}

std::uint32_t Completions::keep(const Candidate& candidate) {
  if (free_.empty()) {
    candidates_.push_back(candidate);
    return static_cast<std::uint32_t>(candidates_.size() - 1);
  }
  const std::uint32_t at = free_.back();
  free_.pop_back();
  candidates_[at] = candidate;
  return at;
}

void Completions::add(const Half& completing, Candidate candidate) {
  candidate.event = completing.call.index;
  // What was there before the call can only matter to one that returns at the first of several.
  if (completing.any || candidate.ns > completing.enter_ns) ledger_.add(completing.call.location, candidate);
}

}  // namespace culprit::waits
