// The machine as a suspect (docs/algorithms.md 5.6). A thread that worked without CPU time was preempted or
// slept; the kernel's count of how long it was ready to run without a processor says which. Threads that lost
// a twentieth of their work so are affected. Why, follows from the processors that they may run on: the
// largest set of processors which more of the run's threads want than it has. It is all that the host allows
// (oversubscribed) or processors beside it were idle (bound together). Where there is no such set, a quota
// stopped them, or programs that were not measured took their processors. Nothing is claimed unless that
// explains a fifth of the idleness, or took a tenth of the work's time.
#include "blame/machine.hpp"

#include "blame/processor_sets.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace culprit::blame {
namespace {

using database::MachineKind;
using database::MachineSuspect;
using database::ScheduledThread;

constexpr double kAffected = 0.05;          // of a thread's work: lost without a processor
constexpr double kAffectedLife = 0.01;      // and of its whole time
constexpr double kWorthClaiming = 0.2;      // of the idleness: worth a claim
constexpr double kIdle = 0.05;              // of the time: less idleness is none to be explained
constexpr double kStretched = 0.1;          // of all work: worth a claim without any idleness
constexpr double kThrottled = 0.2;          // of the time lost: the quota is what took it
constexpr double kByOthers = 0.5;           // of the time lost: what other programs used at least
constexpr double kCrowded = 1.02;           // threads per processor: not by rounding
constexpr double kFree = 0.5;               // processors
constexpr double kSameInstructions = 0.05;  // instructions around the median
constexpr double kSlow = 0.1;               // CPU time above the median
constexpr double kThousand = 1000;

double real(std::uint64_t value) {
  return static_cast<double>(value);
}
std::uint64_t whole(double value) {
  return value <= 0 ? 0 : static_cast<std::uint64_t>(std::llround(value));
}

/// Ascending.
using Processors = std::vector<std::uint16_t>;

/// Work of a role that CPU time and instructions show.
struct RoleTimes {
  std::vector<std::size_t> threads;
  double idle = 0;
};

/// Σ over threads of what they lack of the largest value.
double static_excess(const std::vector<double>& values) {
  if (values.empty()) return 0;
  const double most = *std::ranges::max_element(values);
  double sum = 0;
  for (const double value : values) sum += most - value;
  return sum;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// A set of processors of a host that threads are bound to, and how many of them want one.
struct Place {
  Processors processors{};
  double wanted = 0;  ///< threads at a time
  std::size_t ranks = 0;

  [[nodiscard]] bool crowded() const {
    return std::max(wanted, static_cast<double>(ranks)) > kCrowded * static_cast<double>(processors.size());
  }
  [[nodiscard]] bool holds(const Processors& others) const {
    return std::ranges::includes(processors, others);
  }
};

/// What a host had to give, and what its threads lost. Times in ns.
struct HostState {
  const ScheduledThread* facts = nullptr;
  double lost = 0, stopped = 0;  ///< without a processor; by a quota
  bool idle_known = false;
  double idle = 0, others = 0;  ///< processors: idle; used by programs that were not measured, at least
  bool enough_others = true;    ///< these can have taken what was lost
};

/// What a group of suspects have in common.
using Group = std::tuple<MachineKind, bool, std::uint32_t, std::uint64_t>;

class Finder {
 public:
  explicit Finder(const ScheduledRun& run) : run_(run), threads_(run.threads), lost_(run.threads.size()) {
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      const ScheduledThread& facts = threads_[t].facts;
      const double lost = preempted(facts).work_ns;
      const bool affected = lost >= kAffected * real(facts.work_ns) &&
                            lost >= kAffectedLife * real(facts.sampled_ns) && lost > 0;
      if (affected) lost_[t] = lost;
      roles_[threads_[t].role].threads.push_back(t);
      roles_[threads_[t].role].idle += real(facts.idle_ns);
      hosts_[threads_[t].host].push_back(t);
      time_ += real(facts.sampled_ns);
      work_ += real(facts.work_ns);
      idle_ += real(facts.idle_ns);
    }
  }

  std::vector<MachineSuspect> find() {
    find_slow();
    const double explained = explained_by_preemption();
    const double lost = sum_of(lost_);
    if (worth_a_claim(explained) || (work_ > 0 && lost >= kStretched * work_)) {
      for (const auto& [host, members] : hosts_) look_at(members);
      for (auto& [group, suspect] : suspects_) {
        suspect.explains_ns = whole(lost > 0 ? explained * real(suspect.lost_ns) / lost : 0);
        found_.push_back(std::move(suspect));
      }
    }
    for (MachineSuspect& suspect : found_) {
      std::ranges::sort(suspect.locations);
      suspect.locations.erase(std::unique(suspect.locations.begin(), suspect.locations.end()),
                              suspect.locations.end());
    }
    std::ranges::stable_sort(found_, [](const MachineSuspect& a, const MachineSuspect& b) {
      return std::pair(a.explains_ns, a.lost_ns) > std::pair(b.explains_ns, b.lost_ns);
    });
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool worth_a_claim(double explained) const {
    return idle_ >= kIdle * time_ && explained >= kWorthClaiming * idle_ && explained > 0;
  }

  /// Of a role's idleness, what its threads' work would explain without any preemption is left out; of the
  /// rest, at most the time that all of them lost, or that all waited for the one that lost most.
  [[nodiscard]] double explained_by_preemption() const {
    double explained = 0;
    for (const auto& [number, role] : roles_) {
      std::vector<double> undisturbed, lost;
      for (const std::size_t t : role.threads) {
        const ScheduledThread& facts = threads_[t].facts;
        undisturbed.push_back(real(facts.work_ns) - preempted(facts).work_ns);
        lost.push_back(lost_[t]);
      }
      const double rest = role.idle - std::min(role.idle, static_excess(undisturbed));
      const double by_loss = std::max(sum_of(lost), static_excess(lost));
      if (sum_of(lost) > 0) explained += std::min(rest, by_loss);
    }
    return explained;
  }

  /// The same number of instructions, and more CPU time for it.
  void find_slow() {
    for (const auto& [number, role] : roles_) {
      std::vector<double> instructions, cpu;
      for (const std::size_t t : role.threads) {
        const ScheduledThread& facts = threads_[t].facts;
        instructions.push_back(real(facts.instructions));
        cpu.push_back(real(facts.work_cpu_ns));
      }
      if (role.threads.size() < 2 || *std::ranges::min_element(instructions) <= 0) continue;
      const double usual_instructions = median(instructions);
      const double usual_cpu = median(cpu);
      const double explained = std::min(role.idle, static_excess(cpu));
      if (!worth_a_claim(explained)) continue;
      MachineSuspect slow{.kind = MachineKind::slow, .explains_ns = whole(explained)};
      bool slowest_is = false;
      for (std::size_t i = 0; i < cpu.size(); ++i) {
        const bool same =
            std::abs(instructions[i] - usual_instructions) <= kSameInstructions * usual_instructions;
        if (!same || cpu[i] < (1 + kSlow) * usual_cpu) continue;
        slow.locations.push_back(threads_[role.threads[i]].facts.location);
        slow.lost_ns += whole(cpu[i] - usual_cpu);
        slowest_is = slowest_is || cpu[i] == *std::ranges::max_element(cpu);
      }
      if (slowest_is) found_.push_back(std::move(slow));
    }
  }

  /// All sets of processors that threads of the host are bound to, and the unions of those that overlap:
  /// between processors of sets apart no thread can move.
  [[nodiscard]] std::vector<Place> places_of(const std::vector<std::size_t>& members) const {
    std::set<Processors> distinct;
    std::vector<const ScheduledThread*> all;
    all.reserve(members.size());
    for (const std::size_t t : members) {
      distinct.insert(processors_of(threads_[t].facts));
      all.push_back(&threads_[t].facts);
    }
    for (SharedProcessors& shared : shared_processors(all)) distinct.insert(std::move(shared.processors));
    std::vector<Place> places;
    places.reserve(distinct.size());
    for (const Processors& processors : distinct) places.push_back({.processors = processors});
    double longest = 1;
    for (const std::size_t t : members) longest = std::max(longest, real(threads_[t].facts.lived_ns));
    for (const std::size_t t : members) {
      const ScheduledThread& facts = threads_[t].facts;
      const Processors own = processors_of(facts);
      for (Place& place : places) {
        if (!place.holds(own)) continue;
        place.wanted += std::min(1.0, (real(facts.ran_ns) + real(facts.runnable_ns)) / longest);
        place.ranks += threads_[t].is_rank ? 1 : 0;
      }
    }
    return places;
  }

  /// CPU time of the run's threads on a host, at most: what each ran after its last sample nobody counted,
  /// and that is a period, or less.
  [[nodiscard]] double most_cpu(const std::vector<std::size_t>& members) const {
    const auto brief = run_.brief.find(threads_[members.front()].host);
    const BriefThreads others = brief == run_.brief.end() ? BriefThreads{} : brief->second;
    double sum = real(others.cpu_ns) + real(others.threads + members.size()) * real(run_.period_ns);
    // Of a thread that ended the kernel was asked some time before.
    for (const std::size_t t : members)
      sum += std::max(real(threads_[t].facts.ran_ns), real(threads_[t].facts.cpu_ns));
    return sum;
  }

  /// What all processes of a host saw of it; the one that looked at it for the longest counts.
  [[nodiscard]] HostState state_of(const std::vector<std::size_t>& members) const {
    HostState host;
    for (const std::size_t t : members) {
      const ScheduledThread& facts = threads_[t].facts;
      host.lost += lost_[t];
      host.stopped = std::max(host.stopped, real(facts.throttled_ns));
      if (host.facts == nullptr || facts.span_ns > host.facts->span_ns) host.facts = &facts;
    }
    const double span = std::max(real(host.facts->span_ns), 1.0);
    host.idle_known = host.facts->host_idle_ns != database::kIdleUnknown && host.facts->span_ns != 0;
    if (!host.idle_known) return host;
    host.idle = real(host.facts->host_idle_ns) / span;
    host.others = std::max(0.0, host.facts->online - host.idle - most_cpu(members) / span);
    host.enough_others = host.others * span >= kByOthers * host.lost;
    return host;
  }

  void look_at(const std::vector<std::size_t>& members) {
    const HostState host = state_of(members);
    if (host.lost <= 0) return;
    const std::vector<Place> places = places_of(members);
    std::map<const Place*, MachineSuspect*> crowded;
    for (const std::size_t t : members) {
      if (lost_[t] > 0) judge(t, host, places, crowded);
    }
    // Who shares processors is named, whether it lost something or not.
    for (const auto& [place, suspect] : crowded) {
      for (const std::size_t t : members) {
        const bool shares = threads_[t].is_rank || lost_[t] > 0;
        if (shares && place->holds(processors_of(threads_[t].facts)))
          suspect->locations.push_back(threads_[t].facts.location);
      }
    }
  }

  void judge(std::size_t thread, const HostState& host, const std::vector<Place>& places,
             std::map<const Place*, MachineSuspect*>& all_crowded) {
    const Processors own = processors_of(threads_[thread].facts);
    const Place* crowded = nullptr;
    for (const Place& place : places) {
      const bool larger = crowded == nullptr || place.processors.size() > crowded->processors.size();
      if (larger && place.crowded() && place.holds(own)) crowded = &place;
    }
    MachineSuspect suspect{.others = whole(host.others * kThousand), .free = whole(host.idle * kThousand)};
    if (host.facts->quota != 0 && host.stopped >= kThrottled * host.lost) {
      suspect.kind = MachineKind::quota;
      suspect.quota = host.facts->quota;
    } else if (crowded != nullptr) {
      const bool less = crowded->processors.size() < host.facts->allowed;
      const bool free = less && (!host.idle_known || host.idle >= kFree);
      suspect.kind = free ? MachineKind::bound_together : MachineKind::oversubscribed;
      suspect.processors = static_cast<std::uint32_t>(crowded->processors.size());
      suspect.wanted = whole(crowded->wanted * kThousand);
    } else if (host.enough_others) {
      suspect.by_others = true;
      suspect.processors = static_cast<std::uint32_t>(own.size());
    } else {
      return;  // nothing that was measured says why
    }
    MachineSuspect& all = add(suspect, thread);
    if (suspect.wanted > 0) all_crowded.emplace(crowded, &all);
  }

  /// To what is said of others like it.
  MachineSuspect& add(const MachineSuspect& one, std::size_t thread) {
    const Group group{one.kind, one.by_others, one.processors, one.quota};
    MachineSuspect& all = suspects_.try_emplace(group, one).first->second;
    all.wanted = std::max(all.wanted, one.wanted);
    all.others = std::max(all.others, one.others);
    all.free = std::max(all.free, one.free);
    all.lost_ns += whole(lost_[thread]);
    all.locations.push_back(threads_[thread].facts.location);
    return all;
  }

  const ScheduledRun& run_;
  std::span<const ThreadOnHost> threads_;
  std::vector<double> lost_;  ///< per thread; 0 where it is not affected
  std::map<std::uint32_t, RoleTimes> roles_;
  std::map<std::uint32_t, std::vector<std::size_t>> hosts_;
  double time_ = 0, work_ = 0, idle_ = 0;
  std::map<Group, MachineSuspect> suspects_;
  std::vector<MachineSuspect> found_;
};

}  // namespace

Preempted preempted(const ScheduledThread& thread) {
  const auto lack = [](std::uint64_t wall, std::uint64_t cpu) { return wall > cpu ? real(wall - cpu) : 0.0; };
  const double in_work = lack(thread.work_ns, thread.work_cpu_ns);
  constexpr double kMillisecond = 1e6;
  const double in_all_waits = lack(thread.sampled_ns - std::min(thread.sampled_ns, thread.work_ns),
                                   thread.cpu_ns - std::min(thread.cpu_ns, thread.work_cpu_ns));
  // Who sleeps until another thread of its process wakes it is not ready to run.
  const double in_waits = std::max(0.0, in_all_waits - kMillisecond * thread.slept_ms);
  if (thread.ran_ns == 0 || thread.lived_ns == 0 || in_work + in_waits <= 0) return {};
  // Sampling may have been stopped for a part of the thread's life.
  const double sampled = std::min(1.0, real(thread.sampled_ns) / real(thread.lived_ns));
  const double runnable = std::min(real(thread.runnable_ns) * sampled, in_work + in_waits);
  // A rank that sleeps in its work and yields in its waits lost its processor in waits alone.
  const double work = std::max(0.0, runnable - in_waits);
  return {.work_ns = work, .waits_ns = runnable - work};
}

std::vector<MachineSuspect> find_machine_suspects(const ScheduledRun& run) {
  return Finder(run).find();
}

}  // namespace culprit::blame
