// The accounts of threads (docs/algorithms.md 12). Each change of what a thread does is one compare-and-swap
// for each of its teams (level.hpp), and one or two more where a team's last working thread stops or its
// first begins: then its idle threads pass to the level around it, by as much as the compare-and-swap found.
// The levels above the process are those of threads that wait for other processes, and of nobody. So each
// idle thread is counted in one level at any time, and all that working threads bear is what was idle, but
// for what nobody bore.
#include "runtime/teams/account.hpp"

namespace culprit::runtime::teams {
namespace {

/// Places of levels: three fixed ones, then teams.
constexpr std::uint16_t kProcess = 0, kOutside = 1, kNobody = 2, kFirstTeam = 3;
constexpr std::size_t kPlaces = 1024;

/// Those of the process and of its first team share a cache line, which a boundary then waits for once.
alignas(64) constinit Level levels[kPlaces];
struct alignas(64) PathOfTeam {
  TeamPath path;
};
constinit PathOfTeam paths[kPlaces] = {};  // while the team is there
constinit std::atomic<bool> taken[kPlaces] = {};
constinit std::atomic<bool> active_now{false};
constinit std::atomic<std::uint32_t> next_place{0};

/// What one thread's turn changes of the levels of a path, from within.
struct Turn {
  std::uint64_t time;
  int idle;                      ///< at `idle_at`, or in the next team around it that is still there
  std::size_t idle_at;           ///< index in the path
  int working;                   ///< in all teams of the path from this one inwards:
  std::size_t working_from = 0;  ///< index in the path
};

/// The levels above the process bear what it passes on.
void pass_on(int idle, std::uint64_t time) {
  LevelState before(0);
  int passed = 0;
  if (idle == 0 || !levels[kOutside].change(0, time, idle, 0, before, passed)) return;
  if (passed != 0) levels[kNobody].change(0, time, passed, 0, before, passed);
}

/// Threads that wait for other processes become more or fewer. Returns what the level was.
LevelState count_outside(int more, std::uint64_t time) {
  LevelState before(0), nobody(0);
  int passed = 0;
  levels[kOutside].change(0, time, 0, more, before, passed);
  if (passed != 0) levels[kNobody].change(0, time, passed, 0, nobody, passed);
  return before;
}

/// Does the turn in the path's teams. `each(i, state)` is called with what each level was, if it is still
/// there; levels that need no change are only read.
template <typename Each>
void apply(const TeamPath& path, const Turn& turn, Each each) {
  int idle = 0;
  for (std::size_t i = path.depth; i-- > 0;) {
    if (i == turn.idle_at) idle += turn.idle;
    const int working = i >= turn.working_from ? turn.working : 0;
    const TeamRef team = path.teams[i];
    LevelState before(0);
    int passed = 0;
    if (idle != 0 || working != 0) {
      // If it ended, who idles there idles around it.
      if (!levels[team.place].change(team.generation, turn.time, idle, working, before, passed)) continue;
    } else {
      before = levels[team.place].load();
      if (before.generation() != team.generation) continue;
    }
    each(i, before);
    idle = passed;
  }
  pass_on(idle, turn.time);
}

/// While it lives the handler looks away.
class Changing {
 public:
  explicit Changing(Account& account) : account_(account), outermost_(!account.changing()) {
    if (outermost_) account_.changes = account_.changes + 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Changing() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (outermost_) account_.changes = account_.changes + 1;
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  Account& account_;
  bool outermost_;
};

/// The teams of the path, from the process inwards, up to the last that is still there.
std::size_t depth_there(const TeamPath& path) {
  std::size_t depth = path.depth;
  while (depth > 0) {
    const TeamRef innermost = path.teams[depth - 1];
    if (levels[innermost.place].load().generation() == innermost.generation) break;
    --depth;
  }
  return depth;
}

/// Whether the first `depth` teams of `outer` are the outermost ones of `inner`.
bool is_around(const TeamPath& outer, std::size_t depth, const TeamPath& inner) {
  if (depth == 0 || depth > inner.depth) return false;
  for (std::size_t i = 0; i < depth; ++i) {
    if (outer.teams[i] != inner.teams[i]) return false;
  }
  return true;
}

void stop_idling(Account& account, std::uint64_t time) {
  if (account.activity == Activity::idles && time > account.waits_since)
    account.idle_ns += time - account.waits_since;
}

void change(Account& account, Activity to, std::uint64_t time) {
  const Activity from = account.activity;
  const auto is = [](Activity activity, Activity what) { return activity == what ? 1 : 0; };
  const Turn turn{.time = time,
                  .idle = is(to, Activity::idles) - is(from, Activity::idles),
                  .idle_at = account.path.depth - std::size_t{1},
                  .working = is(to, Activity::works) - is(from, Activity::works)};
  const Wide seen_outside = account.seen[0];
  apply(account.path, turn, [&](std::size_t i, LevelState state) {
    const Wide value = state.value(time);
    if (from == Activity::works) account.caused += since(account.seen[i], value);
    account.seen[i] = value;
  });
  if (from == Activity::outside) account.caused += since(seen_outside, count_outside(-1, time).value(time));
  if (to == Activity::outside) account.seen[0] = count_outside(1, time).value(time);
  stop_idling(account, time);
  if (awaits_thread(to)) account.waits_since = time;
  account.activity = to;
}

/// A place for one more team; 0: there is none.
std::uint16_t claim_place() {
  constexpr std::uint32_t kTeams = kPlaces - kFirstTeam;
  const std::uint32_t first = next_place.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kTeams; ++i) {
    const auto place = static_cast<std::uint16_t>(kFirstTeam + (first + i) % kTeams);
    if (taken[place].load(std::memory_order_relaxed) ||
        taken[place].exchange(true, std::memory_order_acquire))
      continue;
    next_place.store(first + i + 1, std::memory_order_relaxed);
    return place;
  }
  return 0;
}

void give_place_back(std::uint16_t place) {
  if (place != 0) taken[place].store(false, std::memory_order_release);
}

}  // namespace

void activate() {
  if (active() || active_now.exchange(true, std::memory_order_relaxed)) return;
  LevelState before(0);
  int passed = 0;
  if (levels[kNobody].load().working() == 0) levels[kNobody].change(0, 0, 0, 1, before, passed);
}

bool active() {
  return active_now.load(std::memory_order_relaxed);
}

void forget() {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    // What was never touched stays so: a child that forks often is not to copy it each time.
    if (i == kNobody || levels[i].load().word() != 0) levels[i].reset(0, i == kNobody ? 1 : 0);
    if (taken[i].load(std::memory_order_relaxed)) taken[i].store(false, std::memory_order_relaxed);
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
  give_place_back(account.spare);
  account.spare = 0;
}

void turn(Account& account, Activity activity, std::uint64_t time) {
  // Of a forked child's thread the end of what began in the parent comes by. A handler of the program's may
  // have interrupted a change: what it does is short.
  if (account.activity == activity || account.activity == Activity::none || account.changing()) return;
  const Changing changing(account);
  change(account, activity, time);
}

bool begin_team(Account& master, TeamRef& team) {
  const std::size_t depth = master.path.depth;
  if (depth == 0 || depth >= TeamPath::kMost || master.activity != Activity::works) return false;
  const std::uint16_t place = master.spare != 0 ? master.spare : claim_place();
  if (place == 0) return false;
  const Changing changing(master);
  master.spare = 0;
  // Nobody idles in it: whatever the time, its integral is 0.
  team = {.place = place, .generation = levels[place].begin()};
  TeamPath& path = paths[place].path;
  path = master.path;
  path.teams[path.depth++] = team;
  master.seen[depth] = 0;
  master.path = path;
  return true;
}

void enter(Account& account, TeamRef team, std::uint64_t time) {
  const Changing changing(account);
  const TeamPath& path = paths[team.place].path;
  const std::size_t around = depth_there(account.path);
  const Activity from = account.activity;
  if ((from != Activity::works && from != Activity::idles) || !is_around(account.path, around, path)) {
    change(account, Activity::none, time);
    account.path = path;
    change(account, Activity::works, time);
    return;
  }
  // What it idled is over where it idled; it works in all of its teams that it did not work in yet.
  const bool idled = from == Activity::idles;
  account.path.depth = path.depth;
  for (std::size_t i = around; i < path.depth; ++i) account.path.teams[i] = path.teams[i];
  const Turn turn{.time = time,
                  .idle = idled ? -1 : 0,
                  .idle_at = around - 1,
                  .working = 1,
                  .working_from = idled ? 0 : around};
  apply(path, turn, [&](std::size_t i, LevelState state) {
    if (i >= turn.working_from) account.seen[i] = state.value(time);
  });
  stop_idling(account, time);
  account.activity = Activity::works;
}

void end_team(Account& master, std::uint64_t time) {
  if (master.activity == Activity::none) return;
  const Changing changing(master);
  if (master.activity != Activity::works && master.activity != Activity::idles)
    change(master, Activity::works, time);
  const std::size_t innermost = master.path.depth - std::size_t{1};
  if (master.path.depth < 2) return;
  const bool idled = master.activity == Activity::idles;
  const TeamRef team = master.path.teams[innermost];
  --master.path.depth;
  const LevelState last = levels[team.place].end();
  if (!idled) master.caused += since(master.seen[innermost], last.value(time));
  // Who idles there and is not counted around it yet, is now; but for the master.
  const Turn turn{.time = time,
                  .idle = last.idle() - last.passed_on() - (idled ? 1 : 0),
                  .idle_at = innermost - 1,
                  .working = idled ? 1 : 0};
  apply(master.path, turn, [&](std::size_t i, LevelState state) {
    if (idled) master.seen[i] = state.value(time);
  });
  stop_idling(master, time);
  master.activity = Activity::works;
  // Before its generations repeat the place goes back among all.
  if (master.spare == 0 && team.generation != UINT8_MAX) {
    master.spare = team.place;
  } else {
    give_place_back(team.place);
  }
}

std::int64_t rate(const Account& account) {
  if (account.changing()) return 0;
  if (account.activity == Activity::outside) return levels[kOutside].load().rate();
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
  if (account.activity == Activity::outside)
    return caused + since(account.seen[0], levels[kOutside].load().value(time));
  if (account.activity != Activity::works) return caused;
  for (std::size_t i = 0; i < account.path.depth && i < TeamPath::kMost; ++i) {
    const LevelState state = levels[account.path.teams[i].place].load();
    if (state.generation() != account.path.teams[i].generation) continue;
    caused += since(account.seen[i], state.value(time));
  }
  return caused;
}

std::uint64_t idle_up_to(const Account& account, std::uint64_t time) {
  const bool idles = account.activity == Activity::idles && time > account.waits_since;
  return account.idle_ns + (idles ? time - account.waits_since : 0);
}

std::uint64_t borne_by_nobody(std::uint64_t time) {
  const SignedWide sum = since(0, levels[kNobody].load().value(time));
  return sum < 0 ? 0 : static_cast<std::uint64_t>(sum >> LevelState::kFraction);
}

}  // namespace culprit::runtime::teams
