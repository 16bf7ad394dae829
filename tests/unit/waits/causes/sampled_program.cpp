#include "causes/sampled_program.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::waits::testing {

namespace {

constexpr std::uint64_t kPeriod = 5'000'000, kCost = 2'000, kLatency = 1'000, kHeldUp = 20'000;
constexpr double kNoise = 0.02;

}  // namespace

SampledProgram::SampledProgram(std::int32_t ranks, std::uint64_t seed)
    : random_(seed), scripts_(static_cast<std::size_t>(ranks)), at_(scripts_.size()) {
  paths_.parent.push_back(CallPaths::kNone);
  paths_.procedure.push_back(CallPaths::kNone);
  path(0, "main");
  for (Rank& rank : at_) rank.sample = random_() % kPeriod;
  barrier();
}

std::uint32_t SampledProgram::path(std::uint32_t parent, const std::string& procedure) {
  const auto number = static_cast<std::uint32_t>(paths_.parent.size());
  const auto [entry, is_new] = path_of_.try_emplace({parent, procedure}, number);
  if (is_new) {
    paths_.parent.push_back(parent);
    paths_.procedure.push_back(number);
  }
  return entry->second;
}

std::uint32_t SampledProgram::path_of(std::string_view chain) {
  std::uint32_t at = 1;
  while (!chain.empty()) {
    const std::size_t end = std::min(chain.find('/'), chain.size());
    at = path(at, std::string(chain.substr(0, end)));
    chain.remove_prefix(std::min(end + 1, chain.size()));
  }
  return at;
}

std::uint32_t SampledProgram::call_path(std::string_view chain, const char* call) {
  return path(path_of(chain), call);
}

void SampledProgram::compute(std::int32_t rank, std::string_view chain, double ms) {
  if (ms <= 0) return;
  const double noise = std::normal_distribution<>(1, kNoise)(random_);
  script(rank).push_back({.kind = Kind::compute,
                          .path = path_of(chain),
                          .ns = static_cast<std::uint64_t>(1e6 * ms * std::max(noise, 0.5))});
}

void SampledProgram::sleep(std::int32_t rank, std::string_view chain, double ms) {
  script(rank).push_back(
      {.kind = Kind::sleep, .path = path_of(chain), .ns = static_cast<std::uint64_t>(1e6 * ms)});
}

void SampledProgram::send(std::int32_t rank, std::int32_t to, std::string_view chain) {
  script(rank).push_back({.kind = Kind::send, .path = call_path(chain, "MPI_Send"), .peer = to});
}

void SampledProgram::receive(std::int32_t rank, std::int32_t from, std::string_view chain) {
  script(rank).push_back({.kind = Kind::receive, .path = call_path(chain, "MPI_Recv"), .peer = from});
}

void SampledProgram::collective(Kind kind, std::string_view chain, const char* name, std::int32_t root,
                                bool held_up) {
  for (std::int32_t rank = 0; rank < ranks(); ++rank) {
    script(rank).push_back({.kind = kind, .path = call_path(chain, name), .peer = root, .held_up = held_up});
  }
}

void SampledProgram::barrier(std::string_view chain) {
  collective(Kind::barrier, chain, "MPI_Barrier", 0, false);
}
void SampledProgram::allreduce(std::string_view chain) {
  collective(Kind::allreduce, chain, "MPI_Allreduce", 0, false);
}
void SampledProgram::broadcast(std::int32_t root, bool held_up) {
  collective(Kind::broadcast, "", "MPI_Bcast", root, held_up);
}

void SampledProgram::broadcast_through(std::int32_t root, std::int32_t inner, std::int32_t below) {
  broadcast(root, false);
  script(below).back().through = inner;
}

ScriptedRun SampledProgram::run() {
  ScriptedRun run(ranks());
  run.paths = paths_;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int32_t rank = 0; rank < ranks(); ++rank) {
      while (advance(rank, run)) moved = true;
    }
  }
  return run;
}

bool SampledProgram::advance(std::int32_t at, ScriptedRun& run) {
  Rank& rank = at_[static_cast<std::size_t>(at)];
  if (rank.next == script(at).size() || !take(at, script(at)[rank.next], run)) return false;
  ++rank.next;
  return true;
}

/// False: it has to wait for another rank's steps.
bool SampledProgram::take(std::int32_t at, const Step& step, ScriptedRun& run) {
  Rank& rank = at_[static_cast<std::size_t>(at)];
  switch (step.kind) {
    case Kind::compute:
      work(at, step, run);
      return true;
    case Kind::sleep:
      doze(at, step, run);
      return true;
    case Kind::send:
      sent_[{at, step.peer}].push_back(rank.now);
      call(at, step, rank.now + kCost, message(OperationKind::send, step.peer), run);
      return true;
    case Kind::receive: {
      std::size_t& count = received_[{step.peer, at}];
      const std::vector<std::uint64_t>& sent = sent_[{step.peer, at}];
      if (count == sent.size()) return false;
      const std::uint64_t arrived = sent[count++] + kLatency;
      call(at, step, std::max(rank.now, arrived) + kCost, message(OperationKind::receive, step.peer), run);
      return true;
    }
    default:
      return take_collective(at, step, run);
  }
}

bool SampledProgram::take_collective(std::int32_t at, const Step& step, ScriptedRun& run) {
  Rank& rank = at_[static_cast<std::size_t>(at)];
  if (!rank.inside) {
    if (rank.collectives == instances_.size()) instances_.emplace_back();
    Instance& instance = instances_[rank.collectives];
    ++instance.entered;
    instance.latest = std::max(instance.latest, rank.now);
    instance.enters[at] = rank.now;
    rank.inside = true;
  }
  const Instance& instance = instances_[rank.collectives];
  const bool rooted = step.kind == Kind::broadcast;
  const bool waits_for_all = !rooted || (step.held_up && at == step.peer);
  std::uint64_t free = instance.latest;
  if (waits_for_all) {
    if (instance.entered < scripts_.size()) return false;
  } else {
    const std::int32_t through = step.through >= 0 ? step.through : step.peer;
    if (!instance.enters.contains(step.peer) || !instance.enters.contains(through)) return false;
    free = std::max(instance.enters.at(step.peer), instance.enters.at(through));
  }
  const std::uint64_t held_up = rooted && waits_for_all ? kHeldUp : 0;
  const std::uint64_t exit = std::max(rank.now, free) + kCost + held_up;
  const OperationKind kind = rooted                         ? OperationKind::one_to_all
                             : step.kind == Kind::allreduce ? OperationKind::all_to_all
                                                            : OperationKind::barrier;
  call(at, step, exit, rooted ? on(kind, 0, step.peer) : on(kind), run);
  ++rank.collectives;
  rank.inside = false;
  return true;
}

/// Computes, and is sampled when samples are due.
void SampledProgram::work(std::int32_t at, const Step& step, ScriptedRun& run) {
  Rank& rank = at_[static_cast<std::size_t>(at)];
  rank.now += step.ns;
  const auto jitter = [this] { return random_() % (kPeriod / 5); };
  for (; rank.sample < rank.now; rank.sample += kPeriod * 9 / 10 + jitter()) {
    if (rank.sample >= rank.now - step.ns)
      run.sample(at, rank.sample, rank.sample - std::min(rank.sample, kPeriod), step.path);
  }
}

void SampledProgram::doze(std::int32_t at, const Step& step, ScriptedRun& run) {
  Rank& rank = at_[static_cast<std::size_t>(at)];
  run.sample(at, rank.now + step.ns - 1, rank.now, step.path);
  rank.now += step.ns;
  while (rank.sample < rank.now) rank.sample += kPeriod;
}

void SampledProgram::call(std::int32_t at, const Step& step, std::uint64_t exit, const Operation& operation,
                          ScriptedRun& run) {
  Rank& rank = at_[static_cast<std::size_t>(at)];
  run.call(at, rank.now, exit, {operation});
  run.path(step.path);
  rank.now = exit;
  // Samples in the call tell of no gap.
  while (rank.sample < rank.now) rank.sample += kPeriod * 9 / 10 + random_() % (kPeriod / 5);
}

double share_of(const Found& found, SampledProgram& program, const CallPaths& paths,
                const std::vector<std::pair<std::int32_t, std::string>>& causes) {
  std::uint64_t all = found.delays.unattributed_ns, right = 0;
  for (const DelayCost& cost : found.delays.costs) {
    const std::uint64_t ns = cost.short_term_ns + cost.long_term_ns;
    all += ns;
    if (cost.path.context == PathOfRegion::kBetween) continue;
    for (const auto& [rank, chain] : causes) {
      std::uint32_t at = cost.path.context;
      const std::uint32_t wanted = program.path_of(chain);
      while (at > wanted && at != CallPaths::kNone) at = paths.parent[at];
      if (at == wanted && cost.location == static_cast<Location>(rank)) right += ns;
    }
  }
  return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
}

}  // namespace culprit::waits::testing
