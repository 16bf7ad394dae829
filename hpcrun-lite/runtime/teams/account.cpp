// The accounts of threads (docs/algorithms.md 12). Each change of what a thread does is one compare-and-swap
// for each of its teams (level.hpp), and one or two more where a team's last working thread stops or its
// first begins: then its idle threads pass to the level around it, by as much as the compare-and-swap found.
// The levels above the process are those of threads in MPI, and of nobody. So each idle thread is counted in
// one level at any time, and all that working threads bear is what was idle, but for what nobody bore.
#include "runtime/teams/account.hpp"

namespace culprit::runtime::teams {
namespace {

/// Places of levels: three fixed ones, then teams.
constexpr std::uint16_t kProcess = 0, kInMpi = 1, kNobody = 2, kFirstTeam = 3;
constexpr std::size_t kPlaces = 1024;

constinit Level levels[kPlaces];
constinit TeamPath paths[kPlaces] = {};  // while the team is there
constinit std::atomic<bool> taken[kPlaces] = {};
constinit std::atomic<bool> active_now{false};
constinit std::atomic<std::uint32_t> next_place{0};

/// What one thread's turn changes of the levels, from within.
struct Turn {
  std::uint64_t time;
  int idle;     ///< in the innermost level that is left
  int working;  ///< in all of the thread's teams
};

/// The levels above the process bear what it passes on.
void pass_on(int idle, std::uint64_t time) {
  LevelState before(0);
  if (idle == 0 || !levels[kInMpi].change(0, time, idle, 0, before)) return;
  if (before.working() == 0) levels[kNobody].change(0, time, idle, 0, before);
}

/// Threads that wait in MPI become more or fewer. Returns what the level was.
LevelState count_in_mpi(int more, std::uint64_t time) {
  LevelState before(0);
  levels[kInMpi].change(0, time, 0, more, before);
  const int passed = before.changed(time, 0, more).passed_on() - before.passed_on();
  LevelState nobody(0);
  if (passed != 0) levels[kNobody].change(0, time, passed, 0, nobody);
  return before;
}

/// Does the turn in the account's teams. `each(i, state)` is called with what each level was, if it is still
/// there; levels that need no change are only read.
template <typename Each>
void apply(const Account& account, Turn turn, Each each) {
  int idle = turn.idle;
  for (std::size_t i = account.path.depth; i-- > 0;) {
    const TeamRef team = account.path.teams[i];
    LevelState before = levels[team.place].load();
    if (before.generation() != team.generation) continue;  // it ended: who idles there, idles around it
    int passed = 0;
    if (idle != 0 || turn.working != 0) {
      if (!levels[team.place].change(team.generation, turn.time, idle, turn.working, before)) continue;
      passed = before.changed(turn.time, idle, turn.working).passed_on() - before.passed_on();
    }
    each(i, before);
    idle = passed;
  }
  pass_on(idle, turn.time);
}

/// The account's teams bear so many idle threads more.
void pass_outwards(const Account& account, int idle, std::uint64_t time) {
  apply(account, {.time = time, .idle = idle, .working = 0}, [](std::size_t, LevelState) {});
}

/// While it lives the handler looks away.
class Changing {
 public:
  explicit Changing(Account& account) : account_(account) {
    account_.changing = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Changing() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    account_.changing = false;
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  Account& account_;
};

/// Whether a thread whose innermost team is that of `outer` only has to enter one more to be in `inner`'s.
bool is_around(const TeamPath& outer, const TeamPath& inner) {
  if (outer.depth + 1 != inner.depth) return false;
  for (std::size_t i = 0; i < outer.depth; ++i) {
    if (outer.teams[i] != inner.teams[i]) return false;
  }
  return true;
}

void change(Account& account, Activity to, std::uint64_t time) {
  const Activity from = account.activity;
  const auto is = [](Activity activity, Activity what) { return activity == what ? 1 : 0; };
  const Turn turn{.time = time,
                  .idle = is(to, Activity::idles) - is(from, Activity::idles),
                  .working = is(to, Activity::works) - is(from, Activity::works)};
  const Wide seen_in_mpi = account.seen[0];
  apply(account, turn, [&](std::size_t i, LevelState state) {
    const Wide value = state.value(time);
    if (from == Activity::works) account.caused += since(account.seen[i], value);
    account.seen[i] = value;
  });
  if (from == Activity::in_mpi) account.caused += since(seen_in_mpi, count_in_mpi(-1, time).value(time));
  if (to == Activity::in_mpi) account.seen[0] = count_in_mpi(1, time).value(time);
  if (from == Activity::idles && time > account.idle_since) account.idle_ns += time - account.idle_since;
  if (to == Activity::idles) account.idle_since = time;
  account.activity = to;
}

}  // namespace

void activate() {
  if (active_now.exchange(true, std::memory_order_relaxed)) return;
  LevelState before(0);
  if (levels[kNobody].load().working() == 0) levels[kNobody].change(0, 0, 0, 1, before);
}

bool active() {
  return active_now.load(std::memory_order_relaxed);
}

void forget() {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    levels[i].reset(0, i == kNobody ? 1 : 0);
    taken[i].store(false, std::memory_order_relaxed);
  }
  active_now.store(false, std::memory_order_relaxed);
}

void begin(Account& account, std::uint64_t time) {
  const Changing changing(account);
  if (account.activity != Activity::none) return;  // a signal handler was faster
  account.path.depth = 1;
  account.path.teams[0] = {.place = kProcess, .generation = 0};
  change(account, Activity::works, time);
}

void end(Account& account, std::uint64_t time) {
  if (account.activity == Activity::none) return;
  const Changing changing(account);
  change(account, Activity::none, time);
}

void turn(Account& account, Activity activity, std::uint64_t time) {
  // A handler of the program's may have interrupted a change: what it does is short.
  if (account.activity == activity || account.changing) return;
  const Changing changing(account);
  change(account, activity, time);
}

bool make(const Account& master, TeamRef& team) {
  const std::size_t depth = master.path.depth;
  if (depth == 0 || depth >= TeamPath::kMost) return false;
  constexpr std::uint32_t kTeams = kPlaces - kFirstTeam;
  const std::uint32_t first = next_place.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kTeams; ++i) {
    const auto place = static_cast<std::uint16_t>(kFirstTeam + (first + i) % kTeams);
    if (taken[place].load(std::memory_order_relaxed) ||
        taken[place].exchange(true, std::memory_order_acquire))
      continue;
    next_place.store(first + i, std::memory_order_relaxed);
    team = {.place = place, .generation = levels[place].load().generation()};
    paths[place] = master.path;
    paths[place].teams[paths[place].depth++] = team;
    return true;
  }
  return false;
}

void enter(Account& account, TeamRef team, std::uint64_t time) {
  const Changing changing(account);
  const TeamPath& path = paths[team.place];
  LevelState before(0);
  if (account.activity == Activity::works && is_around(account.path, path)) {
    if (!levels[team.place].change(team.generation, time, 0, 1, before)) return;
    // Others may idle there already, whom those around bore until now.
    const int passed = before.changed(time, 0, 1).passed_on() - before.passed_on();
    if (passed != 0) pass_outwards(account, passed, time);
    account.seen[account.path.depth] = before.value(time);
    account.path.teams[account.path.depth++] = team;
    return;
  }
  change(account, Activity::none, time);
  account.path = path;
  change(account, Activity::works, time);
}

void dissolve(Account& master, std::uint64_t time) {
  if (master.path.depth < 2) return;
  const Changing changing(master);
  const std::size_t innermost = master.path.depth - 1U;
  const TeamRef team = master.path.teams[innermost];
  LevelState before(0);
  if (!levels[team.place].change(team.generation, time, 0, -1, before)) return;
  master.caused += since(master.seen[innermost], before.value(time));
  --master.path.depth;
  const int passed = before.changed(time, 0, -1).passed_on() - before.passed_on();
  const LevelState last = levels[team.place].end();
  const int left = last.idle() - last.passed_on();  // what others had passed on already is there
  taken[team.place].store(false, std::memory_order_release);
  if (passed + left != 0) pass_outwards(master, passed + left, time);
}

std::int64_t rate(const Account& account) {
  if (account.changing) return 0;
  if (account.activity == Activity::in_mpi) return levels[kInMpi].load().rate();
  if (account.activity != Activity::works) return 0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < account.path.depth; ++i) {
    const LevelState state = levels[account.path.teams[i].place].load();
    if (state.generation() == account.path.teams[i].generation) sum += state.rate();
  }
  return sum;
}

SignedWide caused_up_to(const Account& account, std::uint64_t time) {
  SignedWide caused = account.caused;
  if (account.activity == Activity::in_mpi)
    return caused + since(account.seen[0], levels[kInMpi].load().value(time));
  if (account.activity != Activity::works) return caused;
  for (std::size_t i = 0; i < account.path.depth; ++i) {
    const LevelState state = levels[account.path.teams[i].place].load();
    if (state.generation() != account.path.teams[i].generation) continue;
    caused += since(account.seen[i], state.value(time));
  }
  return caused;
}

std::uint64_t idle_up_to(const Account& account, std::uint64_t time) {
  const bool idles = account.activity == Activity::idles && time > account.idle_since;
  return account.idle_ns + (idles ? time - account.idle_since : 0);
}

std::uint64_t borne_by_nobody(std::uint64_t time) {
  const SignedWide sum = since(0, levels[kNobody].load().value(time));
  return sum < 0 ? 0 : static_cast<std::uint64_t>(sum >> LevelState::kFraction);
}

}  // namespace culprit::runtime::teams
