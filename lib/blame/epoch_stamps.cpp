// Waits of single epochs, exact by the definitions of traces (docs/algorithms.md 7), where all processes of
// an epoch kept the times of their calls: collective creations, releases and fences by window and number,
// starts with posts and completes, waits with completes. Epochs that some process left out, or of several
// hosts, do not count. Sums waiting and duration per call path: their ratio is the estimate for all its
// calls. Cost: a map entry per stamp.
#include "blame/one_sided.hpp"

#include <algorithm>

namespace culprit::blame {

using measurement::EpochKind;

namespace {

using Stamps = std::vector<const EpochStamp*>;

Cause cause_of(const EpochStamp& stamp) {
  return {stamp.location, stamp.context};
}

std::uint64_t duration(const EpochStamp& stamp) {
  return stamp.exit_ns > stamp.enter_ns ? stamp.exit_ns - stamp.enter_ns : 0;
}

bool on_one_host(const Stamps& stamps) {
  return std::ranges::all_of(stamps, [&](const EpochStamp* each) { return each->host == stamps[0]->host; });
}

const EpochStamp& latest_enter(const Stamps& stamps) {
  return **std::ranges::max_element(stamps, {}, &EpochStamp::enter_ns);
}

class Matching {
 public:
  explicit Matching(std::span<const EpochStamp> stamps);
  std::map<CallSite, SampledCalls> run();

 private:
  using Instance = std::tuple<std::uint64_t, std::uint32_t>;  // window, number
  using Pair =
      std::tuple<std::uint64_t, std::int32_t, std::int32_t, std::uint32_t>;  // window, origin, target
  using Call = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;      // location, window, enter

  static Pair by_origin(const EpochStamp& stamp) {
    return {stamp.window, stamp.rank, stamp.peer, stamp.instance};
  }
  static Pair by_target(const EpochStamp& stamp) {
    return {stamp.window, stamp.peer, stamp.rank, stamp.instance};
  }

  SampledCalls& site(const EpochStamp& stamp, EpochKind kind) {
    return sites_[{stamp.location, stamp.context, kind}];
  }
  /// A wait from `since` until `until`, if both fall into the call. Returns whether they do.
  static bool add(SampledCalls::Waiting& waiting, const EpochStamp& call, std::uint64_t since,
                  std::uint64_t until, const EpochStamp& cause);

  void collective(const Stamps& calls, EpochKind kind);
  void fence(const Instance& instance, const Stamps& calls);
  void access(const Stamps& starts);
  void exposure(const Stamps& waits);
  /// The stamps of the other side of a call's members; empty unless all are there, on one host.
  template <typename Key>
  static Stamps others(const Stamps& members, const std::map<Pair, const EpochStamp*>& there, Key key);

  std::map<Instance, Stamps> creations_, releases_, fences_, accesses_;
  std::map<Call, Stamps> starts_, waits_;
  std::map<Pair, const EpochStamp*> posts_, completions_;
  std::map<CallSite, SampledCalls> sites_;
};

Matching::Matching(std::span<const EpochStamp> stamps) {
  for (const EpochStamp& stamp : stamps) {
    const Instance instance{stamp.window, stamp.instance};
    const Call call{stamp.location, stamp.window, stamp.enter_ns};
    switch (stamp.kind) {
      case EpochKind::create_stamp:
        creations_[instance].push_back(&stamp);
        break;
      case EpochKind::free_stamp:
        releases_[instance].push_back(&stamp);
        break;
      case EpochKind::fence_stamp:
        fences_[instance].push_back(&stamp);
        break;
      case EpochKind::fence_access_stamp:
        accesses_[instance].push_back(&stamp);
        break;
      case EpochKind::post_stamp:
        posts_[by_target(stamp)] = &stamp;
        break;
      case EpochKind::start_stamp:
        starts_[call].push_back(&stamp);
        break;
      case EpochKind::complete_stamp:
        completions_[by_origin(stamp)] = &stamp;
        break;
      case EpochKind::wait_stamp:
        waits_[call].push_back(&stamp);
        break;
      default:
        break;
    }
  }
}

bool Matching::add(SampledCalls::Waiting& waiting, const EpochStamp& call, std::uint64_t since,
                   std::uint64_t until, const EpochStamp& cause) {
  if (since >= until || until >= call.exit_ns || cause.location == call.location) return false;
  waiting.ns += until - since;
  waiting.causes[cause_of(cause)] += until - since;
  return true;
}

void Matching::collective(const Stamps& calls, EpochKind kind) {
  if (calls.size() != calls[0]->members || !on_one_host(calls)) return;
  const EpochStamp& latest = latest_enter(calls);
  for (const EpochStamp* call : calls) {
    SampledCalls& sampled = site(*call, kind);
    sampled.duration_ns += duration(*call);
    add(sampled.all, *call, call->enter_ns, latest.enter_ns, latest);
  }
}

void Matching::fence(const Instance& instance, const Stamps& calls) {
  if (calls.size() != calls[0]->members || !on_one_host(calls)) return;
  const EpochStamp& latest = latest_enter(calls);
  const std::uint64_t first_exit = (*std::ranges::min_element(calls, {}, &EpochStamp::exit_ns))->exit_ns;
  const bool together = latest.enter_ns <= first_exit;
  const auto accesses = accesses_.find(instance);
  for (const EpochStamp* call : calls) {
    SampledCalls& sampled = site(*call, EpochKind::fence);
    sampled.duration_ns += duration(*call);
    if (together) add(sampled.all, *call, call->enter_ns, latest.enter_ns, latest);
    const EpochStamp* last = nullptr;
    for (const EpochStamp* access : accesses == accesses_.end() ? Stamps{} : accesses->second) {
      if (access->peer == call->rank && access->rank != call->rank &&
          (last == nullptr || access->last_ns > last->last_ns))
        last = access;
    }
    if (last == nullptr || !add(sampled.part, *call, call->enter_ns, last->last_ns, *last)) continue;
    if (!together) add(sampled.all, *call, call->enter_ns, last->last_ns, *last);
  }
}

template <typename Key>
Stamps Matching::others(const Stamps& members, const std::map<Pair, const EpochStamp*>& there, Key key) {
  Stamps found;
  if (members.size() != members[0]->members) return found;
  for (const EpochStamp* member : members) {
    const auto other = there.find(key(*member));
    if (other == there.end() || other->second->host != members[0]->host) return {};
    found.push_back(other->second);
  }
  return found;
}

// The origin waits in MPI_Win_start, or else in MPI_Win_complete.
void Matching::access(const Stamps& starts) {
  const Stamps posts = others(starts, posts_, by_origin);
  const Stamps completions = others(starts, completions_, by_origin);
  if (posts.empty() || completions.empty()) return;
  const EpochStamp& start = *starts[0];
  const EpochStamp& complete = *completions[0];
  const EpochStamp& latest = latest_enter(posts);
  SampledCalls& starting = site(start, EpochKind::start);
  SampledCalls& completing = site(complete, EpochKind::complete);
  starting.duration_ns += duration(start);
  completing.duration_ns += duration(complete);
  if (!add(starting.all, start, start.enter_ns, latest.enter_ns, latest))
    add(completing.all, complete, complete.enter_ns, latest.enter_ns, latest);
}

void Matching::exposure(const Stamps& waits) {
  const Stamps completions = others(waits, completions_, by_target);
  if (completions.empty()) return;
  const EpochStamp& wait = *waits[0];
  const EpochStamp& latest = latest_enter(completions);
  SampledCalls& sampled = site(wait, EpochKind::wait);
  sampled.duration_ns += duration(wait);
  if (!add(sampled.all, wait, wait.enter_ns, latest.enter_ns, latest)) return;
  const std::uint64_t arrived = (*std::ranges::max_element(completions, {}, &EpochStamp::last_ns))->last_ns;
  add(sampled.part, wait, std::max(arrived, wait.enter_ns), latest.enter_ns, latest);
}

std::map<CallSite, SampledCalls> Matching::run() {
  for (const auto& [instance, calls] : creations_) collective(calls, EpochKind::create);
  for (const auto& [instance, calls] : releases_) collective(calls, EpochKind::free);
  for (const auto& [instance, calls] : fences_) fence(instance, calls);
  for (const auto& [call, starts] : starts_) access(starts);
  for (const auto& [call, waits] : waits_) exposure(waits);
  return std::move(sites_);
}

}  // namespace

std::map<CallSite, SampledCalls> match_stamps(std::span<const EpochStamp> stamps) {
  return Matching(stamps).run();
}

}  // namespace culprit::blame
