// What changed code makes of the gaps between MPI calls (docs/algorithms.md 18). A gap's length is exact; its
// few samples say how it is divided. After a change the last rank decides, so errors of single gaps would add
// up. So a gap's share is drawn towards that of its pool (the line's gaps between the same two calls, as long
// to a fifth) by as much as sampling explains the differences in the pool (empirical Bayes):
//   var(s) = (changes of code in the gap + 1) · period²/6 / sampled²     (an end lies anywhere in a period)
//   tau²   = what the shares of the pool vary beyond that
//   share  = (tau² · own + var · pool) / (tau² + var)
// Gaps without samples have the pool's share; small pools are joined: the line's gaps between the two calls,
// then all lines'. Cost: two passes over samples and gaps for each change.
#include "waits/replay/changed_work.hpp"

#include "storage/hash.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace culprit::waits {

namespace {

constexpr double kUsualPeriod = 5e6;
constexpr double kPeriodsInPool = 8;
constexpr double kFewSamples = 3;       // say where a line has the code
constexpr double kClassesOfOctave = 4;  // gaps that are as long

/// Of one gap: what was sampled.
struct GapSamples {
  double all_ns = 0, in_ns = 0;
  double switches = 0;  // into the code and out of it
};

/// The line's samples, gap by gap.
class SampleReader {
 public:
  SampleReader(const TimeLine& line, std::span<const std::uint8_t> change_of, std::uint8_t number)
      : line_(line), change_of_(change_of), number_(number) {}

  /// Gaps are asked for in their order.
  GapSamples in_gap(std::uint32_t gap) {
    GapSamples found;
    bool inside = false;
    for (; next_ < line_.samples.size(); ++next_) {
      const Sample sample = line_.samples[next_];
      if (sample.gap > gap) break;
      if (sample.gap < gap) continue;
      const bool in = sample.charged < change_of_.size() && change_of_[sample.charged] == number_;
      const auto ns = static_cast<double>(sample.ns);
      if (found.all_ns > 0 && in != inside) ++found.switches;
      inside = in;
      found.all_ns += ns;
      if (in) found.in_ns += ns;
    }
    return found;
  }

 private:
  const TimeLine& line_;
  std::span<const std::uint8_t> change_of_;
  std::uint8_t number_;
  std::size_t next_ = 0;
};

/// Gaps that are alike.
struct Pool {
  double all_ns = 0, in_ns = 0;
  double squares = 0, sampling = 0;  // Σ all · share², Σ all · var(share)

  void add(const GapSamples& gap, double variance) {
    const double share = gap.in_ns / gap.all_ns;
    all_ns += gap.all_ns;
    in_ns += gap.in_ns;
    squares += gap.all_ns * share * share;
    sampling += gap.all_ns * variance;
  }
  [[nodiscard]] double share() const { return in_ns / all_ns; }
  /// How much the shares differ beyond sampling.
  [[nodiscard]] double beyond() const {
    return std::max(0.0, (squares - sampling) / all_ns - share() * share());
  }
};

double variance_of(const GapSamples& gap, double period) {
  constexpr double kOfAnEnd = 1.0 / 6;
  return (gap.switches + 1) * kOfAnEnd * period * period / (gap.all_ns * gap.all_ns);
}

std::uint32_t length_class(double ns) {
  return static_cast<std::uint32_t>(std::max(0.0, kClassesOfOctave * std::log2(std::max(ns, 1.0))));
}

/// What of each gap is spent in the code of one change.
class Estimate {
 public:
  Estimate(const Matched& matched, std::span<const std::uint8_t> change_of, std::uint8_t number)
      : store_(matched.store), change_of_(change_of), number_(number) {
    for (const TimeLine& line : store_.lines()) {
      for_gaps(line, [&](std::uint32_t, std::uint32_t region, double, const GapSamples& gap, double period) {
        if (gap.all_ns > 0) everywhere_[region].add(gap, variance_of(gap, period));
      });
    }
  }

  [[nodiscard]] static double period_of(const TimeLine& line) {
    return line.sample_ns > 0 ? static_cast<double>(line.sample_ns) : kUsualPeriod;
  }

  /// Calls visit(call, region, length of the gap before it, time in the code) for a line's gaps.
  template <typename Visit>
  void for_line(const TimeLine& line, Visit visit) const {
    std::unordered_map<std::uint32_t, Pool> of_region;
    std::unordered_map<std::uint64_t, Pool> alike;
    bool any = false;
    for_gaps(line, [&](std::uint32_t, std::uint32_t region, double ns, const GapSamples& gap, double period) {
      if (gap.all_ns <= 0) return;
      any = any || gap.in_ns > 0;
      const double variance = variance_of(gap, period);
      of_region[region].add(gap, variance);
      alike[storage::joined(region, length_class(ns))].add(gap, variance);
    });
    for_gaps(
        line, [&](std::uint32_t call, std::uint32_t region, double ns, const GapSamples& gap, double period) {
          const auto enough = [period](const Pool& pool) { return pool.all_ns >= kPeriodsInPool * period; };
          const Pool* pool = nullptr;
          if (const auto one = alike.find(storage::joined(region, length_class(ns)));
              one != alike.end() && enough(one->second)) {
            pool = &one->second;
          } else if (const auto own = of_region.find(region); own != of_region.end()) {
            pool = &own->second;
          } else if (const auto all = everywhere_.find(region); any && all != everywhere_.end()) {
            pool = &all->second;
          }
          if (pool == nullptr) return visit(call, region, ns, 0.0);
          double share = pool->share();
          if (gap.all_ns > 0) {
            const double variance = variance_of(gap, period), beyond = pool->beyond();
            share = (beyond * gap.in_ns / gap.all_ns + variance * share) / (beyond + variance);
          }
          visit(call, region, ns, ns * std::clamp(share, 0.0, 1.0));
        });
  }

 private:
  template <typename Visit>
  void for_gaps(const TimeLine& line, Visit visit) const {
    SampleReader samples(line, change_of_, number_);
    const double period = period_of(line);
    std::uint64_t left_ns = 0;
    for (std::uint32_t call = 0; call < line.events.size(); ++call) {
      const Event event = line.events[call];
      const bool stays = call == 0 || call < line.initialized || event.enter_ns <= left_ns;
      const GapSamples gap = samples.in_gap(call);
      if (!stays)
        visit(call, std::uint32_t{event.gap}, static_cast<double>(event.enter_ns - left_ns), gap, period);
      left_ns = event.exit_ns;
    }
  }

  const TraceStore& store_;
  std::span<const std::uint8_t> change_of_;
  std::uint8_t number_;
  std::unordered_map<std::uint32_t, Pool> everywhere_;  // by region
};

/// Carries out one change after the other.
class Changing {
 public:
  Changing(const RankMap& rank_map, const Matched& matched, std::span<const std::uint8_t> change_of,
           std::span<const std::int32_t> ranks)
      : rank_map_(rank_map), matched_(matched), store_(matched.store), change_of_(change_of) {
    for (const TimeLine& line : store_.lines()) {
      storage::Sequence<std::int64_t>& less = result_.less.emplace_back(store_.spill());
      for (std::size_t i = 0; i < line.events.size(); ++i) less.push_back(0);
      const std::int32_t rank = rank_map.rank_of(line.location);
      chosen_.push_back(ranks.empty() || std::ranges::find(ranks, rank) != ranks.end());
    }
  }

  void change(const WorkChange& change, std::uint8_t number) {
    time_ = &result_.times.emplace_back();
    const Estimate estimate(matched_, change_of_, number);
    measure(estimate, change);
    switch (change.kind) {
      case WorkChange::Kind::remove:
        scale(estimate, 1);
        break;
      case WorkChange::Kind::speed_up:
        scale(estimate, 1 - 1 / change.factor);
        break;
      case WorkChange::Kind::balance:
        balance(estimate);
        break;
      case WorkChange::Kind::even_out:
        even_out(estimate);
        break;
    }
  }

  ChangedWork take() { return std::move(result_); }

 private:
  [[nodiscard]] bool is_first(const TimeLine& line) const {
    return rank_map_.location_of(rank_map_.rank_of(line.location), 0) == line.location;
  }

  /// Whose time is changed, and how much it is.
  void measure(const Estimate& estimate, const WorkChange& change) {
    const bool first_only =
        change.kind == WorkChange::Kind::balance || change.kind == WorkChange::Kind::even_out;
    concerned_.clear();
    totals_.assign(store_.lines().size(), 0);
    for (std::size_t at = 0; at < store_.lines().size(); ++at) {
      const TimeLine& line = store_.lines()[at];
      if (!chosen_[at] || line.events.empty() || (first_only && !is_first(line))) continue;
      concerned_.push_back(at);
      estimate.for_line(line, [&](std::uint32_t, std::uint32_t, double, double ns) { totals_[at] += ns; });
      time_->before_ns += totals_[at];
      time_->largest_ns = std::max(time_->largest_ns, totals_[at]);
      if (totals_[at] > 0) ++time_->lines;
    }
  }

  void lessen(std::size_t at, std::uint32_t call, double ns) {
    result_.less[at].change(call) += std::llround(ns);
    time_->after_ns -= ns;
  }

  void scale(const Estimate& estimate, double part) {
    time_->after_ns = time_->before_ns;
    for (const std::size_t at : concerned_) {
      estimate.for_line(store_.lines()[at], [&](std::uint32_t call, std::uint32_t, double, double ns) {
        if (ns > 0) lessen(at, call, part * ns);
      });
    }
  }

  /// What those above the mean give away in gaps of one sort: in all, and in the first, the second and so on
  /// of each line.
  struct Share {
    double ns = 0;
    std::vector<double> each;
    bool alike = true;  ///< all that give have as many
    [[nodiscard]] bool matches(std::size_t gaps) const { return alike && each.size() == gaps; }
  };
  using Shares = std::map<std::uint32_t, Share>;
  /// By region, and by the call that ends it, where ranks come there from different ones.
  struct Given {
    Shares of_region, before_call;
  };

  /// Those above the mean of all get shorter in proportion; what they give away, the others take on between
  /// the same calls.
  void balance(const Estimate& estimate) {
    time_->after_ns = time_->before_ns;
    if (concerned_.empty()) return;
    const double mean = time_->before_ns / static_cast<double>(concerned_.size());
    Given given;
    for (const std::size_t at : concerned_) {
      if (totals_[at] <= mean) continue;
      const double part = 1 - mean / totals_[at];
      give(estimate, at, part, given.of_region, [](std::uint32_t region) { return region; });
      give(estimate, at, part, given.before_call, [this](std::uint32_t region) { return ends(region); });
      estimate.for_line(store_.lines()[at], [&](std::uint32_t call, std::uint32_t, double, double ns) {
        if (ns > 0) lessen(at, call, part * ns);
      });
    }
    for (const std::size_t at : concerned_) {
      if (totals_[at] < mean) take_on(estimate, at, mean - totals_[at], given);
    }
  }

  /// Of the line's gaps, by sort, the time in the code, in their order.
  template <typename SortOf>
  [[nodiscard]] std::map<std::uint32_t, std::vector<double>> in_order(const Estimate& estimate,
                                                                      std::size_t at, SortOf sort_of) const {
    std::map<std::uint32_t, std::vector<double>> found;
    estimate.for_line(store_.lines()[at], [&](std::uint32_t, std::uint32_t region, double, double ns) {
      found[sort_of(region)].push_back(ns);
    });
    return found;
  }

  template <typename SortOf>
  void give(const Estimate& estimate, std::size_t at, double part, Shares& given, SortOf sort_of) const {
    for (const auto& [sort, times] : in_order(estimate, at, sort_of)) {
      const auto [known, added] = given.try_emplace(sort);
      Share& share = known->second;
      if (added) share.each.assign(times.size(), 0);
      share.alike = share.alike && share.each.size() == times.size();
      for (std::size_t i = 0; i < times.size(); ++i) {
        share.ns += part * times[i];
        if (share.alike) share.each[i] += part * times[i];
      }
    }
  }

  /// The path of the call that ends the region.
  [[nodiscard]] std::uint32_t ends(std::uint32_t region) const { return matched_.regions[region].next; }

  /// What a line has of gaps that are alike.
  struct Has {
    double gaps = 0, in_ns = 0;
    double part = 0;  ///< of what it takes on
  };
  /// By sort, where a line takes on what others give.
  struct Places {
    std::map<std::uint32_t, Has> sorts;
    double parts = 0;
    double matching = 0;  ///< of them, in sorts that the line has as often as those that give
  };

  /// Where the line has the code itself (`own`), or else where it comes to gaps that others give in.
  template <typename SortOf>
  [[nodiscard]] Places places(const Estimate& estimate, std::size_t at, const Shares& given, bool own,
                              SortOf sort_of) const {
    Places found;
    for (const auto& [sort, times] : in_order(estimate, at, sort_of)) {
      const auto share = given.find(sort);
      Has has{.gaps = static_cast<double>(times.size()), .in_ns = std::reduce(times.begin(), times.end())};
      has.part = own ? has.in_ns : share != given.end() ? share->second.ns : 0;
      if (has.part <= 0) continue;
      found.parts += has.part;
      if (share != given.end() && share->second.matches(times.size())) found.matching += has.part;
      found.sorts[sort] = has;
    }
    return found;
  }

  /// The line takes `amount` more: where it has the code itself, if some samples say where; or else in gaps
  /// like those of the lines that give it, between the same calls, or before the same one, whichever it has
  /// as often as they; or else anywhere.
  void take_on(const Estimate& estimate, std::size_t at, double amount, const Given& given) {
    const auto itself = [](std::uint32_t region) { return region; };
    const auto before = [this](std::uint32_t region) { return ends(region); };
    const TimeLine& line = store_.lines()[at];
    if (totals_[at] >= kFewSamples * Estimate::period_of(line)) {
      const Places own = places(estimate, at, given.of_region, true, itself);
      return take_on(estimate, at, amount, given.of_region, own, itself);
    }
    const Places same = places(estimate, at, given.of_region, false, itself);
    const Places ended = places(estimate, at, given.before_call, false, before);
    if (same.parts > 0 && same.matching >= ended.matching)
      return take_on(estimate, at, amount, given.of_region, same, itself);
    if (ended.parts > 0) return take_on(estimate, at, amount, given.before_call, ended, before);
    time_->placed_blindly = true;
    double all_ns = 0;
    estimate.for_line(line, [&](std::uint32_t, std::uint32_t, double length, double) { all_ns += length; });
    estimate.for_line(line, [&](std::uint32_t call, std::uint32_t, double length, double) {
      lessen(at, call, -amount * length / all_ns);
    });
  }

  /// In gaps of one sort: where the line has as many as those that give, the first takes what their first
  /// gave, and so on; else by the time that the line has in the code there already, or, where that is little,
  /// evenly.
  template <typename SortOf>
  void take_on(const Estimate& estimate, std::size_t at, double amount, const Shares& given,
               const Places& places, SortOf sort_of) {
    std::unordered_map<std::uint32_t, std::size_t> counts;
    estimate.for_line(store_.lines()[at], [&](std::uint32_t call, std::uint32_t region, double, double ns) {
      const auto place = places.sorts.find(sort_of(region));
      if (place == places.sorts.end()) return;
      const auto& [sort, has] = *place;
      const std::size_t number = counts[sort]++;
      const double more = amount * has.part / places.parts;
      const auto share = given.find(sort);
      const bool matches = share != given.end() && share->second.ns > 0 &&
                           share->second.matches(static_cast<std::size_t>(has.gaps));
      const bool by_time = has.in_ns >= more / 4;
      lessen(at, call,
             -more * (matches   ? share->second.each[number] / share->second.ns
                      : by_time ? ns / has.in_ns
                                : 1 / has.gaps));
    });
  }

  /// Of one region, over the lines that have it: how many there are, how often each comes there, and the time
  /// of the first time that each does, of the second, and so on.
  struct Instances {
    double lines = 0;
    std::size_t count = 0;
    bool alike = true;
    double all_ns = 0;
    std::vector<double> ns;
  };

  /// Gaps between the same calls, the n-th of one rank with the n-th of the others. Where ranks come there
  /// differently often, each takes the mean of all.
  void even_out(const Estimate& estimate) {
    time_->after_ns = time_->before_ns;
    std::unordered_map<std::uint32_t, Instances> regions;
    for (const std::size_t at : concerned_) {
      std::unordered_map<std::uint32_t, std::size_t> counts;
      estimate.for_line(store_.lines()[at], [&](std::uint32_t, std::uint32_t region, double, double ns) {
        const std::size_t number = counts[region]++;
        std::vector<double>& sums = regions[region].ns;
        if (number >= sums.size()) sums.resize(number + 1, 0);
        sums[number] += ns;
        regions[region].all_ns += ns;
      });
      for (const auto& [region, count] : counts) {
        Instances& one = regions[region];
        one.alike = one.alike && (one.lines == 0 || one.count == count);
        one.count = count;
        ++one.lines;
      }
    }
    for (const std::size_t at : concerned_) even_out(estimate, at, regions);
  }

  void even_out(const Estimate& estimate, std::size_t at,
                const std::unordered_map<std::uint32_t, Instances>& regions) {
    const TimeLine& line = store_.lines()[at];
    std::unordered_map<std::uint32_t, Has> own;
    std::unordered_map<std::uint32_t, std::size_t> counts;
    estimate.for_line(line, [&](std::uint32_t, std::uint32_t region, double, double ns) {
      Has& has = own[region];
      ++has.gaps;
      has.in_ns += ns;
    });
    estimate.for_line(line, [&](std::uint32_t call, std::uint32_t region, double, double ns) {
      const Instances& one = regions.at(region);
      if (one.alike) return lessen(at, call, ns - one.ns[counts[region]++] / one.lines);
      const double mean = one.all_ns / one.lines;
      const Has& has = own[region];
      const double wanted = has.in_ns > 0 ? mean * ns / has.in_ns : mean / has.gaps;
      lessen(at, call, ns - wanted);
    });
  }

  const RankMap& rank_map_;
  const Matched& matched_;
  const TraceStore& store_;
  std::span<const std::uint8_t> change_of_;
  std::vector<bool> chosen_;            // by line
  std::vector<std::size_t> concerned_;  // lines
  std::vector<double> totals_;          // by line
  ChangedTime* time_ = nullptr;
  ChangedWork result_;
};

}  // namespace

ChangedWork changed_work(const RankMap& rank_map, const Matched& matched, std::span<const WorkChange> changes,
                         std::span<const std::uint8_t> change_of, std::span<const std::int32_t> ranks) {
  Changing changing(rank_map, matched, change_of, ranks);
  for (std::size_t i = 0; i < changes.size(); ++i)
    changing.change(changes[i], static_cast<std::uint8_t>(i + 1));
  return changing.take();
}

}  // namespace culprit::waits
