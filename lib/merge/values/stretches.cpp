// Post-stratification (docs/algorithms.md 5.7; W. G. Cochran, Sampling Techniques, section 5A.9): the lengths
// of a thread's waiting MPI calls and of the gaps between them are known by stamps, for each call path; so
// the samples of such a stratum only divide that length. Strata with few samples are joined. Where stamps and
// samples contradict each other by more than sampling explains, the samples stand. Cost: linear in a thread's
// nodes and accumulators.
#include "merge/values/stretches.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace culprit::merge {
namespace {

using measurement::Cell;
using measurement::Epoch;
using measurement::EpochKind;
using measurement::Stretch;

constexpr std::uint32_t kUnset = UINT32_MAX;
/// Gaps with less, in periods, are joined: to scale one sample by what it happened to be is worse than not
/// to. Of a call that is known anyway, whatever it was.
constexpr std::uint64_t kRare = 4;
/// Stamps and samples may differ by this many standard errors, and by this many periods at the ends.
constexpr double kDoubt = 5, kEnds = 2;

std::uint64_t rounded(double ns) {
  return static_cast<std::uint64_t>(std::llround(ns));
}

}  // namespace

/// One for each path of a waiting call, and one for the gaps after each.
void Calibration::find_strata(const measurement::ThreadProfile& thread) {
  strata_.clear();
  apart_.clear();
  call_of_.assign(thread.nodes.size(), kUnset);
  gap_of_.assign(thread.nodes.size(), kUnset);
  for (const Epoch& epoch : thread.epochs) {
    if (epoch.kind == EpochKind::stretch_samples) apart_.push_back(epoch);
    if (epoch.kind != EpochKind::waiting_call && epoch.kind != EpochKind::gap) continue;
    const bool gap = epoch.kind == EpochKind::gap;
    std::uint32_t& stratum = (gap ? gap_of_ : call_of_)[epoch.node];
    if (stratum == kUnset) {
      stratum = static_cast<std::uint32_t>(strata_.size());
      strata_.push_back({.node = epoch.node, .gap = gap});
    }
    strata_[stratum].known_ns += epoch.total_ns;
  }
  std::ranges::stable_sort(apart_, {}, &Epoch::node);
  find_samples_calls(thread);
}

/// What lies below a call is part of it. The call itself is a leaf, where it ended; samples are below its
/// twin, the frame that calls others.
void Calibration::find_samples_calls(const measurement::ThreadProfile& thread) {
  std::map<std::tuple<cct::NodeId, std::uint32_t, std::uint64_t>, std::uint32_t> calls;
  std::vector<bool> has_calls(thread.nodes.size());
  const auto key = [&](cct::NodeId node) {
    const cct::Node& at = thread.nodes[node];
    return std::tuple(at.parent, at.frame.module, at.frame.offset);
  };
  for (cct::NodeId node = 1; node < thread.nodes.size(); ++node) {
    if (call_of_[node] == kUnset) continue;
    calls.emplace(key(node), call_of_[node]);
    has_calls[thread.nodes[node].parent] = true;
  }
  for (cct::NodeId node = 1; node < thread.nodes.size(); ++node) {
    const cct::NodeId parent = thread.nodes[node].parent;
    if (call_of_[node] != kUnset) continue;
    call_of_[node] = call_of_[parent];
    if (call_of_[node] != kUnset || !has_calls[parent]) continue;
    const auto twin = calls.find(key(node));
    if (twin != calls.end()) call_of_[node] = twin->second;
  }
}

void Calibration::add_piece(std::uint32_t cell, cct::NodeId node, Stretch stretch, std::uint64_t ns,
                            std::uint64_t weight_sq, std::uint64_t blocked) {
  std::uint32_t stratum = kUnset;
  if (stretch.is_gap()) {
    stratum = gap_of_[stretch.after()];
  } else if (stretch.code == Stretch::kInCall) {
    stratum = call_of_[node];
  }
  const bool beside = stretch.is_gap() && call_of_[node] != kUnset;
  pieces_.push_back({.cell = cell,
                     .node = node,
                     .stratum = stratum,
                     .ns = ns,
                     .weight_sq = weight_sq,
                     .blocked = blocked,
                     .beside = beside});
  if (stratum == kUnset) return;
  strata_[stratum].sampled_ns += ns;
  strata_[stratum].weight_sq += weight_sq + blocked;
  if (!beside) return;
  strata_[stratum].beside_ns += ns;
  strata_[stratum].beside_weight_sq += weight_sq + blocked;
}

void Calibration::find_pieces(const measurement::ThreadProfile& thread) {
  pieces_.clear();
  auto apart = apart_.begin();
  for (cct::NodeId node = 0; node < thread.nodes.size(); ++node) {
    const std::uint32_t index = thread.cell[node];
    Cell rest = index == kUnset ? Cell{} : thread.cells[index];
    for (; apart != apart_.end() && apart->node == node; ++apart) {
      const std::uint64_t ns = std::min(apart->total_ns, rest.time_ns);
      const auto weight_sq =
          static_cast<std::uint64_t>(std::clamp(apart->squares, 0.0, static_cast<double>(rest.weight_sq)));
      rest.time_ns -= ns;
      rest.weight_sq -= weight_sq;
      if (ns != 0) add_piece(index, node, Stretch{apart->size_class}, ns, weight_sq, 0);
    }
    if (rest.time_ns != 0) add_piece(index, node, rest.stretch, rest.time_ns, rest.weight_sq, rest.blocked);
  }
}

/// Samples of all strata add up to the thread's time, stamps to that before its last stretch. What these lack
/// is of the stratum that has most samples beyond its stamps. Where the samples have little weight, the
/// contradiction would leave them as they are; one that stands for seconds, as behind SIGSTOP, might hide it.
void Calibration::add_open_stretch() {
  const auto excess = [](const Stratum& stratum) {
    return static_cast<std::int64_t>(stratum.sampled_ns) - static_cast<std::int64_t>(stratum.known_ns);
  };
  std::int64_t missing = 0;
  for (const Stratum& stratum : strata_) missing += excess(stratum);
  if (missing <= 0) return;
  Stratum& last = *std::ranges::max_element(strata_, {}, excess);
  last.known_ns += static_cast<std::uint64_t>(std::min(missing, excess(last)));
}

void Calibration::join(std::uint32_t stratum, std::uint32_t into) {
  joined_[stratum] = into;
  strata_[into].known_ns += strata_[stratum].known_ns;
  strata_[into].sampled_ns += strata_[stratum].sampled_ns;
  strata_[into].weight_sq += strata_[stratum].weight_sq;
  strata_[into].beside_ns += strata_[stratum].beside_ns;
  strata_[into].beside_weight_sq += strata_[stratum].beside_weight_sq;
}

/// Gaps with few samples become one; if these are still few, together with the next larger gap, so that no
/// time is lost.
void Calibration::join_rare(std::uint64_t period_ns) {
  std::uint32_t rare = kUnset, next = kUnset;
  joined_.resize(strata_.size());
  for (std::uint32_t i = 0; i < strata_.size(); ++i) {
    joined_[i] = i;
    if (!strata_[i].gap) continue;
    if (strata_[i].sampled_ns >= kRare * period_ns) {
      if (next == kUnset || strata_[i].sampled_ns < strata_[next].sampled_ns) next = i;
    } else if (rare == kUnset) {
      rare = i;
    } else {
      join(i, rare);
    }
  }
  if (rare != kUnset && next != kUnset && strata_[rare].sampled_ns < kRare * period_ns) join(rare, next);
}

void Calibration::find_scales(std::uint64_t period_ns) {
  for (std::uint32_t i = 0; i < strata_.size(); ++i) {
    Stratum& stratum = strata_[i];
    stratum.exact_gap = kUnset;
    if (joined_[i] != i || (stratum.gap && stratum.sampled_ns == 0)) continue;
    const auto known = static_cast<double>(stratum.known_ns);
    const auto sampled = static_cast<double>(stratum.sampled_ns);
    const auto period = static_cast<double>(period_ns);
    const double error = std::sqrt(std::max(static_cast<double>(stratum.weight_sq), known / period));
    if (std::abs(known - sampled) > period * (kDoubt * error + kEnds)) {
      joined_[i] = kUnset;
      continue;
    }
    if (stratum.sampled_ns == 0) {
      if (stratum.known_ns != 0) unsampled_.push_back({.node = stratum.node, .ns = stratum.known_ns});
      continue;
    }
    // Wrappers take some 100 ns of a gap: one sample there, of a few, would take it from the program's code.
    stratum.leaves_out = stratum.beside_ns < stratum.sampled_ns;
    if (stratum.leaves_out) {
      stratum.sampled_ns -= stratum.beside_ns;
      stratum.weight_sq -= stratum.beside_weight_sq;
    }
    stratum.scale = known / static_cast<double>(stratum.sampled_ns);
    if (!stratum.gap) continue;
    stratum.exact_gap = static_cast<std::uint32_t>(gaps_.size());
    gaps_.push_back({.sampled_ns = stratum.sampled_ns, .weight_sq = stratum.weight_sq});
  }
}

void Calibration::scale_cells() {
  for (std::size_t i = 0; i < pieces_.size();) {
    const std::size_t first = i;
    Cell& cell = copies_[pieces_[first].cell];
    double time = 0;
    for (; i < pieces_.size() && pieces_[i].cell == pieces_[first].cell; ++i) {
      const Piece& piece = pieces_[i];
      std::uint32_t stratum = piece.stratum;
      while (stratum != kUnset && joined_[stratum] != stratum) stratum = joined_[stratum];
      if (stratum != kUnset && piece.beside && strata_[stratum].leaves_out) {
        cell.weight_sq -= piece.weight_sq;
        continue;
      }
      time += static_cast<double>(piece.ns) * (stratum == kUnset ? 1 : strata_[stratum].scale);
      if (stratum == kUnset) continue;
      const std::uint32_t gap = strata_[stratum].exact_gap;
      if (gap != kUnset) {
        sampled_.push_back({.node = piece.node, .gap = gap, .ns = piece.ns});
      } else if (!strata_[stratum].gap) {  // whoever waits has all of the call: it does not vary by sampling
        cell.weight_sq -= piece.weight_sq;
        cell.samples += piece.blocked;
        cell.blocked -= piece.blocked;
      }
    }
    const double marked = cell.time_ns == 0 ? 0
                                            : static_cast<double>(std::min(cell.marked_ns, cell.time_ns)) /
                                                  static_cast<double>(cell.time_ns);
    cell.time_ns = rounded(time);
    cell.marked_ns = rounded(marked * static_cast<double>(cell.time_ns));
  }
}

void Calibration::calibrate(const measurement::ThreadProfile& thread, std::uint64_t period_ns, bool open) {
  cells_ = thread.cells;
  gaps_.clear();
  unsampled_.clear();
  sampled_.clear();
  const bool followed =
      std::ranges::any_of(thread.epochs, [](const Epoch& e) { return e.kind == EpochKind::waiting_call; });
  if (period_ns == 0 || !followed) return;
  find_strata(thread);
  find_pieces(thread);
  if (open) add_open_stretch();
  join_rare(period_ns);
  find_scales(period_ns);
  copies_ = thread.cells;
  scale_cells();
  cells_ = copies_;
}

}  // namespace culprit::merge
