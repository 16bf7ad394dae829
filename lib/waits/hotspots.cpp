#include "waits/hotspots.hpp"

#include "waits/letter.hpp"
#include "waits/path_shares.hpp"

#include <algorithm>

namespace culprit::waits {

namespace {

/// What all time lines together spent in a procedure.
struct ProcedureTime {
  std::uint32_t context = 0;
  std::uint64_t ns = 0;
};

}  // namespace

std::uint32_t HotspotDiagnosis::number(const Case& one) {
  const auto [entry, added] = case_of_.try_emplace(one, static_cast<std::uint32_t>(cases_.size()));
  if (added) cases_.emplace_back(one, 0);
  return entry->second;
}

void HotspotDiagnosis::add(const ComparedWait& wait) {
  if (!wait.first) return;
  std::uint64_t sum = 0;
  for (const PieceTime& time : wait.causer_profile.wholes()) sum += wait.longer(time.piece);
  const std::uint32_t at = number({wait.cause.location, wait.waiter, wait.waiter_context});
  cases_[at].second += wait.ns;
  const auto add_profile = [&](const IntervalProfile& profile, std::int64_t sign) {
    const auto add_one = [&](std::uint32_t context, std::uint64_t ns) {
      excess_[{at, procedure(context)}] += sign * static_cast<std::int64_t>(share(ns, wait.ns, sum));
    };
    for (const PieceTime& time : profile.wholes()) {
      if (wait.longer(time.piece) == 0) continue;
      const Piece& piece = forward_.pieces[wait.causer.known_piece(time.piece, wait.causer_interval)];
      if (piece.next == Piece::kCall) add_one(piece.previous, time.ns);
    }
    for (const PieceTime& time : profile.samples()) {
      if (wait.longer(time.piece) != 0) add_one(time.context, time.ns);
    }
  };
  add_profile(wait.causer_profile, 1);
  add_profile(wait.waiter_profile, -1);
}

/// Procedures, and whether they are above the threshold.
std::map<std::uint32_t, bool> HotspotDiagnosis::find_hot(exchange::Communicator& analysis,
                                                         double threshold) const {
  // By call path first: there are more calls than paths.
  const std::vector<std::uint64_t>& by_context = forward_.context_times.all();
  std::map<std::uint32_t, std::uint64_t> own;
  for (std::uint32_t context = 0; context < by_context.size(); ++context) {
    if (by_context[context] != 0) own[procedure(context)] += by_context[context];
  }
  std::vector<ProcedureTime> times;
  times.reserve(own.size());
  for (const auto& [context, ns] : own) times.push_back({context, ns});
  std::map<std::uint32_t, std::uint64_t> sums;
  std::uint64_t total = 0;
  for (const ProcedureTime& time : items_of_all<ProcedureTime>(analysis, times)) {
    sums[time.context] += time.ns;
    total += time.ns;
  }
  std::map<std::uint32_t, bool> hot;
  for (const auto& [context, ns] : sums)
    hot[context] = static_cast<double>(ns) >= threshold * static_cast<double>(total);
  return hot;
}

std::vector<Hotspot> HotspotDiagnosis::find(exchange::Communicator& analysis, double threshold) const {
  const std::map<std::uint32_t, bool> all = find_hot(analysis, threshold);
  std::vector<std::map<std::uint32_t, std::uint64_t>> weights(cases_.size());
  for (const auto& [key, ns] : excess_) {
    const auto hot = all.find(key.procedure);
    if (ns > 0 && hot != all.end() && hot->second)
      weights[key.of_case][key.procedure] = static_cast<std::uint64_t>(ns);
  }
  std::vector<Hotspot> found;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (weights[i].empty()) continue;
    const auto& [one, wait_ns] = cases_[i];
    for (const PathShare& part : divide_over_paths(Piece{}, weights[i], {wait_ns})) {
      found.push_back({one.causer, part.path.context, one.waiter, one.waiter_context, part.amounts[0]});
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace culprit::waits
