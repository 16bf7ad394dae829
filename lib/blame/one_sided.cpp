// Divides the idleness sampled in frames of one-sided calls among patterns, without a trace (patterns of
// Hermanns 2009; the estimate is ours; docs/algorithms.md 6). Calls wait for the share of their time that
// they waited in epochs with stamps; waits for locks and posts were measured; else calls waited for as long
// as they took beyond the shortest of their kind and size class in the run. Measured waits come first, and no
// frame gets more than its idleness. Late complete and early fence are parts, from stamps or from sums of
// gaps. Waits of threads pass through. Cost: a sort of the rows, then a few look-ups each.
#include "blame/one_sided.hpp"

#include "metrics/accumulator.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

namespace culprit::blame {

using database::Wait;
using database::WaitPattern;
using measurement::EpochKind;
using measurement::WaitKind;

namespace {

bool is_gap(EpochKind kind) {
  return kind == EpochKind::complete_gap || kind == EpochKind::fence_gap;
}

/// Not a call, but something about one.
bool is_detail(EpochKind kind) {
  return is_gap(kind) || kind == EpochKind::lock_wait || kind == EpochKind::post_wait;
}

/// What was measured call by call, not estimated.
bool is_measured(EpochKind kind) {
  return kind == EpochKind::lock_wait || kind == EpochKind::post_wait;
}

/// Whom such calls waited for, and how long, was measured: what more they took has other reasons.
bool releases_known(const EpochRow& row) {
  const bool passive =
      row.kind == EpochKind::lock || row.kind == EpochKind::flush || row.kind == EpochKind::access;
  return passive && (row.size_class & measurement::kReleasesKnown) != 0;
}

/// What an operation between MPI_Win_lock and MPI_Win_unlock waits for is a lock, after MPI_Win_start the
/// target's MPI_Win_post; after a fence there is nothing to wait for.
std::optional<WaitPattern> pattern_of_access(std::uint32_t size_class) {
  if ((size_class & measurement::kPassiveTarget) != 0) return WaitPattern::lock_wait;
  if ((size_class & measurement::kStartedAccess) != 0) return WaitPattern::early_transfer;
  return std::nullopt;
}

std::optional<WaitPattern> pattern_of(const EpochRow& row) {
  switch (row.kind) {
    case EpochKind::create:
      return WaitPattern::wait_at_create;
    case EpochKind::free:
      return WaitPattern::wait_at_free;
    case EpochKind::post_wait:
      return WaitPattern::early_transfer;
    case EpochKind::access:
      return pattern_of_access(row.size_class);
    case EpochKind::start:
    case EpochKind::complete:
      return WaitPattern::late_post;
    case EpochKind::wait:
      return WaitPattern::early_wait;
    case EpochKind::fence:
      return WaitPattern::wait_at_fence;
    case EpochKind::lock:
    case EpochKind::lock_wait:
      return WaitPattern::lock_wait;
    case EpochKind::flush:
      return WaitPattern::flush_wait;
    default:  // gaps, large transfers
      break;
  }
  switch (row.thread_wait) {
    case WaitKind::omp_barrier:
      return WaitPattern::omp_barrier;
    case WaitKind::omp_idle:
      return WaitPattern::omp_idle;
    case WaitKind::lock:
      return WaitPattern::lock_held;
    case WaitKind::condition:
      return WaitPattern::condition_wait;
    case WaitKind::join:
      return WaitPattern::join_wait;
    case WaitKind::none:
    case WaitKind::mpi:
      break;
  }
  return std::nullopt;
}

/// part × of / whole.
std::uint64_t share(std::uint64_t part, std::uint64_t of, std::uint64_t whole) {
  if (whole == 0) return 0;
  return static_cast<std::uint64_t>(metrics::Uint128{part} * of / whole);
}

/// One process in one window, for fences at one call path: all processes of a window pass the same fence, as
/// a rule on the same path.
using Member = std::tuple<std::uint64_t, std::int32_t, database::ContextId>;

Member member_of(const EpochRow& row, std::int32_t rank) {
  const bool fence = row.kind == EpochKind::fence || row.kind == EpochKind::fence_gap;
  return {row.window, rank, fence ? row.context : database::kNone};
}

/// Nobody leaves before the last one came, who does not wait.
bool collective(EpochKind kind) {
  return kind == EpochKind::create || kind == EpochKind::free || kind == EpochKind::fence;
}

/// No call that synchronizes processes takes longer by itself, on any network, unless it moves data, which is
/// sampled as work. Where even the shortest call of a run took longer, it may have waited as well.
constexpr std::uint64_t kLongestHandshake = 100'000;

class Estimate {
 public:
  Estimate(std::span<const EpochRow> rows, std::span<const EpochStamp> stamps)
      : rows_(rows.begin(), rows.end()), sampled_(match_stamps(stamps)) {
    std::ranges::sort(rows_, {}, [](const EpochRow& row) {
      return std::tuple(row.location, row.context, row.kind, row.thread_wait, row.size_class, row.window,
                        row.peers);
    });
    wait_ns_.resize(rows_.size());
    for (const EpochStamp& stamp : stamps) {
      if (stamp.kind != EpochKind::post_stamp) continue;
      const Cause post{stamp.location, stamp.context};
      const auto [found, fresh] = posts_.try_emplace(stamp.rank, post);
      if (!fresh) found->second = std::min(found->second, post);  // whatever the order of stamps
    }
  }

  Approximation run();

 private:
  /// Where a gap lay: who was late.
  struct Origin {
    std::uint64_t gap_ns = 0;
    std::int32_t rank = -1;
    std::uint32_t location = database::kNone;
    database::ContextId context = database::kNone;
  };

  /// Shortest call of a kind and size class, and whether several processes made such calls.
  struct Baseline {
    std::uint64_t least_ns = 0;
    std::int32_t rank = -1;
    bool shared = false;
  };

  [[nodiscard]] auto at(std::size_t row) const { return wait_ns_.begin() + static_cast<std::ptrdiff_t>(row); }
  [[nodiscard]] const SampledCalls* sampled(const EpochRow& row) const;
  void find_baselines();
  [[nodiscard]] std::uint64_t wait_of(const EpochRow& row, std::uint64_t intrinsic) const;
  void estimate(std::size_t first, std::size_t last);
  void leave_locks_out(std::size_t first, std::size_t last);
  void fit(std::size_t first, std::size_t last, std::uint64_t sum);
  void find_gaps();
  void find_releases();
  [[nodiscard]] Cause cause_of(const EpochRow& row) const;
  void add(const EpochRow& row, WaitPattern pattern, std::uint64_t ns, Cause cause);
  void add_whole(std::size_t i);
  void add_part(std::size_t i);
  void add_late_complete(std::size_t i);
  void add_early_fence(std::size_t i);

  std::vector<EpochRow> rows_;
  std::map<CallSite, SampledCalls> sampled_;
  Approximation result_;
  std::vector<std::uint64_t> wait_ns_;  ///< per row
  std::map<std::pair<EpochKind, std::uint32_t>, Baseline> baseline_;
  std::map<Member, std::uint64_t> exposed_, fenced_;  ///< waits of a target, of a fence's participant
  std::map<Member, std::vector<Origin>> complete_gaps_, fence_gaps_;  ///< by target
  std::map<std::int32_t, Cause> posts_;                               ///< where a process posted
  std::map<std::int32_t, EpochRow> releases_;  ///< where most of a process's locks were given back
  std::map<std::tuple<WaitPattern, std::uint32_t, database::ContextId>, Wait> waits_;
  std::map<std::tuple<WaitPattern, std::uint32_t, database::ContextId>, std::map<Cause, std::uint64_t>>
      causes_;  ///< of waits_, ns by cause
};

constexpr Cause kUnknown{database::kNone, database::kNone};

Cause largest(const std::map<Cause, std::uint64_t>& causes) {
  if (causes.empty()) return kUnknown;
  return std::ranges::max_element(causes, {}, [](const auto& cause) { return cause.second; })->first;
}

/// Null where no epoch of the calls has stamps of all its processes.
const SampledCalls* Estimate::sampled(const EpochRow& row) const {
  const auto found = sampled_.find({row.location, row.context, row.kind});
  return found == sampled_.end() || found->second.duration_ns == 0 ? nullptr : &found->second;
}

void Estimate::find_baselines() {
  for (const EpochRow& row : rows_) {
    if (row.kind == EpochKind::none || is_detail(row.kind)) continue;
    const auto [found, fresh] =
        baseline_.try_emplace({row.kind, row.size_class}, Baseline{row.least_ns, row.rank, false});
    Baseline& baseline = found->second;
    baseline.least_ns = std::min(baseline.least_ns, row.least_ns);
    baseline.shared = baseline.shared || row.rank != baseline.rank;
  }
}

/// E = max(0, Σ duration − count · b). b is the shortest such call of the run, who did not wait: in a
/// collective call somebody comes last. Where all may have waited in all others, b is at most `intrinsic`.
std::uint64_t Estimate::wait_of(const EpochRow& row, std::uint64_t intrinsic) const {
  if (const SampledCalls* calls = sampled(row)) return share(row.total_ns, calls->all.ns, calls->duration_ns);
  if (is_measured(row.kind)) return row.total_ns;
  if (!pattern_of(row) || (releases_known(row) && row.kind != EpochKind::flush)) return 0;
  const Baseline& baseline = baseline_.at({row.kind, row.size_class});
  std::uint64_t base = baseline.least_ns;
  if (!(collective(row.kind) && baseline.shared) && base > kLongestHandshake)
    base = std::min(base, std::max(intrinsic, kLongestHandshake));
  const metrics::Uint128 cost = metrics::Uint128{row.count} * base;
  return cost < row.total_ns ? row.total_ns - static_cast<std::uint64_t>(cost) : 0;
}

/// The rows of one frame of one thread: together no more than its idleness I. `intrinsic` is what was sampled
/// there as work.
void Estimate::estimate(std::size_t first, std::size_t last) {
  std::uint64_t duration = 0;
  std::uint64_t count = 0;
  const std::uint64_t idle = rows_[first].idle_ns;
  for (std::size_t i = first; i < last; ++i) {
    if (is_detail(rows_[i].kind)) continue;
    duration += rows_[i].total_ns;
    count += rows_[i].count;
  }
  const std::uint64_t intrinsic = duration > idle && count != 0 ? (duration - idle) / count : 0;
  for (std::size_t i = first; i < last; ++i) {
    const EpochRow& row = rows_[i];
    if (is_gap(row.kind)) continue;
    wait_ns_[i] = row.kind == EpochKind::none ? idle : wait_of(row, intrinsic);
  }
  leave_locks_out(first, last);
  const std::uint64_t sum = std::accumulate(at(first), at(last), std::uint64_t{0});
  if (sum <= idle) {
    result_.unclassified_ns += idle - sum;
    return;
  }
  result_.excess_ns += sum - idle;
  fit(first, last, sum);
}

/// What calls that complete operations waited for locks is not what they waited for the operations.
void Estimate::leave_locks_out(std::size_t first, std::size_t last) {
  std::uint64_t locks = 0;
  std::uint64_t flushes = 0;
  const auto completes = [&](std::size_t i) {
    return rows_[i].kind == EpochKind::flush && releases_known(rows_[i]);
  };
  for (std::size_t i = first; i < last; ++i) {
    if (rows_[i].kind == EpochKind::lock_wait) locks += wait_ns_[i];
    if (completes(i)) flushes += wait_ns_[i];
  }
  const std::uint64_t rest = flushes - std::min(flushes, locks);
  for (std::size_t i = first; i < last; ++i) {
    if (completes(i)) wait_ns_[i] = share(wait_ns_[i], rest, flushes);
  }
}

/// No more than was sampled as idle. What was measured goes before what is estimated.
void Estimate::fit(std::size_t first, std::size_t last, std::uint64_t sum) {
  const std::uint64_t idle = rows_[first].idle_ns;
  std::uint64_t measured = 0;
  for (std::size_t i = first; i < last; ++i) {
    if (is_measured(rows_[i].kind)) measured += wait_ns_[i];
  }
  const std::uint64_t taken = std::min(idle, measured);
  for (std::size_t i = first; i < last; ++i) {
    wait_ns_[i] = is_measured(rows_[i].kind) ? share(wait_ns_[i], taken, measured)
                                             : share(wait_ns_[i], idle - taken, sum - measured);
  }
}

/// Of the places where a process gives locks back, the one where that took longest in all.
void Estimate::find_releases() {
  for (const EpochRow& row : rows_) {
    if (row.kind != EpochKind::flush || (row.size_class & measurement::kGivesLockBack) == 0) continue;
    const auto [found, fresh] = releases_.try_emplace(row.rank, row);
    if (!fresh && row.total_ns > found->second.total_ns) found->second = row;
  }
}

/// Whose call ended what was measured of a row: an unlock, or a post, of which some have stamps.
Cause Estimate::cause_of(const EpochRow& row) const {
  const std::int32_t by = static_cast<std::int32_t>(row.peers) - 1;
  if (row.kind == EpochKind::post_wait) {
    const auto post = posts_.find(by);
    return post == posts_.end() ? kUnknown : post->second;
  }
  const auto release = releases_.find(by);
  return release == releases_.end() ? kUnknown : Cause(release->second.location, release->second.context);
}

void Estimate::find_gaps() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const EpochRow& row = rows_[i];
    if (row.window == 0) continue;
    if (row.kind == EpochKind::wait) exposed_[member_of(row, row.rank)] += wait_ns_[i];
    if (row.kind == EpochKind::fence) fenced_[member_of(row, row.rank)] += wait_ns_[i];
    if (!is_gap(row.kind)) continue;
    auto& gaps = row.kind == EpochKind::complete_gap ? complete_gaps_ : fence_gaps_;
    std::vector<Origin>& origins = gaps[member_of(row, static_cast<std::int32_t>(row.peers))];
    const auto known = std::ranges::find(origins, row.rank, &Origin::rank);
    if (known != origins.end()) {
      known->gap_ns += row.total_ns;
    } else {
      origins.push_back(
          {.gap_ns = row.total_ns, .rank = row.rank, .location = row.location, .context = row.context});
    }
  }
}

void Estimate::add(const EpochRow& row, WaitPattern pattern, std::uint64_t ns, Cause cause) {
  if (ns == 0) return;
  const auto key = std::tuple(pattern, row.location, row.context);
  Wait& wait = waits_[key];
  wait.pattern = pattern;
  wait.location = row.location;
  wait.context = row.context;
  wait.ns += ns;
  wait.count += row.count;
  if (cause == kUnknown) return;
  auto& causes = causes_[key];
  causes[cause] += ns;
  std::tie(wait.cause_location, wait.cause_context) = largest(causes);
}

void Estimate::add_whole(std::size_t i) {
  const auto pattern = pattern_of(rows_[i]);
  if (!pattern) return;
  const SampledCalls* calls = sampled(rows_[i]);
  Cause cause = calls == nullptr ? kUnknown : largest(calls->all.causes);
  if (is_measured(rows_[i].kind)) cause = cause_of(rows_[i]);
  add(rows_[i], *pattern, wait_ns_[i], cause);
}

/// late-complete and early-fence, which are parts of their row's wait.
void Estimate::add_part(std::size_t i) {
  const EpochRow& row = rows_[i];
  if (row.kind != EpochKind::wait && row.kind != EpochKind::fence) return;
  const bool fence = row.kind == EpochKind::fence;
  if (const SampledCalls* calls = sampled(row)) {
    const std::uint64_t part = std::min(calls->part.ns, calls->all.ns);
    add(row, fence ? WaitPattern::early_fence : WaitPattern::late_complete,
        share(wait_ns_[i], part, calls->all.ns), largest(calls->part.causes));
  } else if (fence) {
    add_early_fence(i);
  } else {
    add_late_complete(i);
  }
}

/// Of what a target waited, at most the longest gap that an origin left after its last operation on it.
void Estimate::add_late_complete(std::size_t i) {
  const EpochRow& row = rows_[i];
  const Member here = member_of(row, row.rank);
  const auto gaps = complete_gaps_.find(here);
  if (row.window == 0 || gaps == complete_gaps_.end()) return;
  const Origin& late = *std::ranges::max_element(gaps->second, {}, &Origin::gap_ns);
  const std::uint64_t all = exposed_[here];
  add(row, WaitPattern::late_complete, share(wait_ns_[i], std::min(all, late.gap_ns), all),
      {late.location, late.context});
}

/// max(0, Σ wait(target) − min over its origins of (Σ wait(origin) + Σ gap(origin)))
void Estimate::add_early_fence(std::size_t i) {
  const EpochRow& row = rows_[i];
  const Member here = member_of(row, row.rank);
  const auto gaps = fence_gaps_.find(here);
  if (row.window == 0 || gaps == fence_gaps_.end()) return;
  const auto before = [&](const Origin& origin) {
    const auto wait = fenced_.find(member_of(row, origin.rank));
    return origin.gap_ns + (wait == fenced_.end() ? 0 : wait->second);
  };
  const Origin& late = *std::ranges::min_element(gaps->second, {}, before);
  const std::uint64_t all = fenced_[here];
  const std::uint64_t rest = std::min(all, before(late));
  add(row, WaitPattern::early_fence, share(wait_ns_[i], all - rest, all), {late.location, late.context});
}

Approximation Estimate::run() {
  find_baselines();
  for (std::size_t first = 0; first < rows_.size();) {
    std::size_t last = first;
    while (last < rows_.size() && rows_[last].location == rows_[first].location &&
           rows_[last].context == rows_[first].context)
      ++last;
    estimate(first, last);
    first = last;
  }
  find_gaps();
  find_releases();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    add_whole(i);
    add_part(i);
  }
  for (const auto& [key, wait] : waits_) result_.waits.push_back(wait);
  std::ranges::stable_sort(result_.waits, std::ranges::greater(), &Wait::ns);
  return std::move(result_);
}

}  // namespace

Approximation approximate_waits(std::span<const EpochRow> rows, std::span<const EpochStamp> stamps) {
  return Estimate(rows, stamps).run();
}

}  // namespace culprit::blame
