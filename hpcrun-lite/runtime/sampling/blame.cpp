// From the accounts to the measurement (docs/algorithms.md 12). A sample of a thread that works is charged
// with its weight times idle/working at that moment, and the thread counts the same quantity exactly, as an
// integral: prof-mpi scales the first to the second. A call that was not interrupted stands for itself: it is
// charged with the mean ratio while it lasted. What others waited for a lock is charged where it is given
// back: each wait that is long, and of short ones as many as are due, chosen with a probability in proportion
// to their length, so that walks cost at most some percent of what was waited.
#include "runtime/sampling/blame.hpp"

#include "runtime/recording/call_path.hpp"
#include "runtime/recording/flusher.hpp"
#include "runtime/recording/held_off.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/traced_regions.hpp"
#include "runtime/recording/traced_waits.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/backoff.hpp"
#include "runtime/system/own_stack.hpp"
#include "runtime/system/system_calls.hpp"

#include <cerrno>
#include <csignal>

namespace culprit::runtime {
namespace {

using measurement::EpochKind;
using measurement::NodeIndex;
using measurement::ThreadTotal;
using measurement::WaitKind;

/// Totals are published by the first sample after this number of ns: a process that is killed lacks what came
/// after.
constexpr std::uint64_t kPublish = kSecond / 4;
/// Waits for a lock from this number of ns on are charged one by one; shorter ones are added up to that. A
/// walk takes a few hundred ns.
constexpr std::uint64_t kChargedAtOnce = 50'000;

/// Threads that live for less than this may end before they are sampled. Those that are sampled stand for the
/// others: by chance, as often as in proportion to how long they live.
constexpr std::uint64_t kBrief = kSecond / 20;

/// Of threads that ended without a tree, by ThreadTotal; whoever publishes next takes them, but for what such
/// threads caused: that goes to one that stands for them, or at the end of the process to none.
std::atomic<std::uint64_t> left_behind[measurement::kThreadTotals] = {};
/// Of borne_by_nobody: what is published.
std::atomic<std::uint64_t> nobody_published{0};

std::uint64_t whole_ns(SignedWide value) {
  return value < 0 ? 0 : static_cast<std::uint64_t>(value >> LevelState::kFraction);
}

/// What a thread does in a call that is marked so.
Activity activity_of(std::uint8_t kind) {
  switch (kind) {
    case CallMark::waiting:
      return Activity::outside;
    case CallMark::lock:
      return Activity::for_lock;
    case CallMark::condition:
    case CallMark::join:
      return Activity::idles;
    default:
      return Activity::works;
  }
}

void count_thread(Thread* thread) {
  teams::begin(thread->blame.account, account_time());
  culprit_rt_thread.counted = true;
}

/// A wait for a lock that a longjmp left behind: nobody is to bear it any more.
void leave_lock(Blame& blame, std::uint64_t time) {
  if (blame.waits_at == 0) return;
  blame.waits_at = 0;
  static_cast<void>(locks::leave(blame.waiter, time, true));
}

/// A mark that a longjmp left behind: the thread works.
void forget_left_wait(Blame& blame, std::uint64_t time) {
  const bool waits = blame.account.activity != Activity::works;
  if (!waits || !blame.account.marked) return;
  leave_lock(blame, time);
  teams::turn(blame.account, Activity::works, time);
}

void charge(Thread* thread, NodeIndex node, std::uint64_t ns) {
  thread->blame.charged = thread->blame.charged || ns != 0;
  if (ns != 0) thread->tree->accumulators().count_caused(node, EpochKind::idleness_caused, ns);
}

/// What the thread has counted up to now.
struct Totals {
  std::uint64_t of[measurement::kThreadTotals];

  std::uint64_t& operator[](ThreadTotal total) { return of[static_cast<std::size_t>(total)]; }
};

Totals totals_of(const Blame& blame, std::uint64_t time) {
  Totals totals{};
  totals[ThreadTotal::caused] = whole_ns(teams::caused_up_to(blame.account, time));
  totals[ThreadTotal::idle] = teams::idle_up_to(blame.account, time);
  totals[ThreadTotal::lock_caused] = blame.lock_caused;
  totals[ThreadTotal::lock_waited] = blame.lock_waited;
  totals[ThreadTotal::lock_unborne] = blame.lock_unborne;
  return totals;
}

/// No tree will have it: the next thread that publishes takes it along.
void leave_behind(Totals totals) {
  totals[ThreadTotal::caused_unsampled] += totals[ThreadTotal::caused];
  totals[ThreadTotal::lock_unborne] += totals[ThreadTotal::lock_caused];
  totals[ThreadTotal::caused] = totals[ThreadTotal::lock_caused] = 0;
  for (std::size_t i = 0; i < measurement::kThreadTotals; ++i)
    left_behind[i].fetch_add(totals.of[i], std::memory_order_relaxed);
}

void publish_nobodys(Thread* thread, std::uint64_t time) {
  const std::uint64_t all = teams::borne_by_nobody(time);
  std::uint64_t before = nobody_published.load(std::memory_order_relaxed);
  if (all <= before || !nobody_published.compare_exchange_strong(before, all, std::memory_order_relaxed))
    return;
  thread->tree->accumulators().add_total(ThreadTotal::borne_by_nobody, all - before);
}

/// Of a thread that goes on meanwhile. False: it was in the middle of a change all the time.
bool look_at_totals(const Blame& blame, std::uint64_t time, Totals& totals) {
  constexpr int kLooks = 150;  // some milliseconds, if the thread has no processor
  Backoff backoff;
  for (int look = 0; look < kLooks; ++look) {
    const std::uint32_t before = blame.account.changes;
    std::atomic_thread_fence(std::memory_order_acquire);
    totals = totals_of(blame, time);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && blame.account.changes == before) return true;
    backoff.pause();
  }
  return false;
}

/// Who publishes, of the threads that left something behind: what they caused is for one, or for none.
enum class Publisher : std::uint8_t { any, stands_for_brief, last };

/// Adds what is left behind.
void take_left_behind(Totals& totals, Publisher publisher) {
  for (std::size_t i = 0; i < measurement::kThreadTotals; ++i) {
    const bool caused = static_cast<ThreadTotal>(i) == ThreadTotal::caused_unsampled;
    if ((caused && publisher == Publisher::any) || left_behind[i].load(std::memory_order_relaxed) == 0)
      continue;
    const bool stands_for = caused && publisher == Publisher::stands_for_brief;
    totals.of[stands_for ? static_cast<std::size_t>(ThreadTotal::caused) : i] +=
        left_behind[i].exchange(0, std::memory_order_relaxed);
  }
}

/// Adds what is new in the thread's totals to its tree.
void publish(Thread* thread, Totals totals, std::uint64_t time, Publisher publisher) {
  Blame& blame = thread->blame;
  blame.published_at = time;
  for (std::size_t i = 0; i < measurement::kThreadTotals; ++i) {
    const std::uint64_t all = totals.of[i];
    totals.of[i] = all > blame.published[i] ? all - blame.published[i] : 0;
    blame.published[i] += totals.of[i];
  }
  if (thread->tree == nullptr || !thread->tree->life().usable()) {
    leave_behind(totals);
    return;
  }
  take_left_behind(totals, publisher);
  for (std::size_t i = 0; i < measurement::kThreadTotals; ++i) {
    if (totals.of[i] != 0) thread->tree->accumulators().add_total(static_cast<ThreadTotal>(i), totals.of[i]);
  }
  publish_nobodys(thread, time);
}

/// What the thread has waited for: as its mark says, or others of its team.
WaitKind awaited_by(const Account& account) {
  return account.marked ? static_cast<WaitKind>(culprit_rt_thread.mark) : WaitKind::omp_barrier;
}

/// A charge that is to be recorded.
struct Charge {
  Thread* thread;
  unwind::Registers start;
  CallPlace taken;  ///< the lock, as far as known
  std::uint64_t ns;
};

void record_charge(void* argument) {
  const auto* charge = static_cast<const Charge*>(argument);
  Thread* thread = charge->thread;
  if (!begin_recording(thread)) return;
  if (ensure_tree(thread)) {
    WalkFlaws flaws;
    const NodeIndex end = current_path(thread, charge->start, flaws);
    const NodeIndex node = calling_place(thread, end, charge->start.sp, charge->taken);
    thread->tree->accumulators().count_caused(node, EpochKind::lock_wait_caused, charge->ns);
    if (thread->tree->arena().asks_for_room()) ring_flusher();
  }
  end_recording(thread);
}

/// Charges the call path of the caller of the function that calls this, which is in the middle of nothing of
/// ours, and has given back a lock that was taken at `taken`.
[[gnu::noinline]] void charge_here(Thread* thread, const CallPlace& taken, std::uint64_t ns) {
  const char place = 0;
  if (!own_process() || sampling_stopped() || is_held_off(thread, &place)) return;
  Charge charge{.thread = thread, .start = unwind::registers_here(), .taken = taken, .ns = ns};
  on_handler_stack(thread, record_charge, &charge);
}

}  // namespace

void count_caller() {
  teams::activate();
  Thread* thread = this_thread();
  if (thread == nullptr) return;
  Account& account = thread->blame.account;
  if (account.activity == Activity::none) {
    count_thread(thread);
    return;
  }
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool waits = account.marked && account.activity != Activity::works;
  if (waits && is_outside_of_marks(here))  // a longjmp left that wait
    teams::turn(account, Activity::works, account_time());
}

void begin_blame(Thread* thread) {
  thread->blame = {};
  thread->blame.lock_pending = static_cast<std::uint64_t>(thread->tid) * 0x9e3779b97f4a7c15U % kChargedAtOnce;
  culprit_rt_thread.counted = false;
  if (teams::active()) count_thread(thread);
}

void end_blame(Thread* thread) {
  culprit_rt_thread.counted = false;
  const std::uint64_t time = account_time();
  leave_lock(thread->blame, time);
  teams::end(thread->blame.account, time);
}

void forget_blame() {
  if (!teams::active()) return;
  teams::forget();
  locks::forget();
  for (auto& total : left_behind) total.store(0, std::memory_order_relaxed);
  nobody_published.store(0, std::memory_order_relaxed);
  tick_clock.forget();
}

Activity turn_to(Thread* thread, Activity activity) {
  Account& account = thread->blame.account;
  const Activity before = account.activity;
  if (before == activity) return before;
  const std::uint64_t since = account.waits_since, time = account_time();
  teams::turn(account, activity, time);
  if (awaits_thread(before)) trace_wait(thread, awaited_by(account), since, time);
  return before;
}

Activity turn_unmarked(Thread* thread, Activity activity) {
  thread->blame.account.marked = false;
  return turn_to(thread, activity);
}

void enter_team(Thread* thread, const TeamRef* team) {
  Account& account = thread->blame.account;
  const Activity before = account.activity;
  const std::uint64_t since = account.waits_since, time = account_time();
  if (before == Activity::none) teams::begin(account, time);
  account.marked = false;
  if (team != nullptr) {
    teams::enter(account, *team, time);
  } else {
    teams::turn(account, Activity::works, time);
  }
  if (awaits_thread(before)) trace_wait(thread, WaitKind::omp_idle, since, time);
}

bool begin_region(Thread* master, TeamRef& team) {
  Account& account = master->blame.account;
  if (account.path.depth == 1) master->blame.region_since_ns = begin_traced_region(master);
  return teams::begin_team(account, team);
}

void end_region(Thread* master, bool is_team) {
  if (!is_team) {
    turn_unmarked(master, Activity::works);
    return;
  }
  Account& account = master->blame.account;
  account.marked = false;
  const bool waited = awaits_thread(account.activity);
  const std::uint64_t since = account.waits_since, time = account_time();
  teams::end_team(account, time);
  if (waited) trace_wait(master, WaitKind::omp_barrier, since, time);
  if (account.path.depth == 1) end_traced_region(master, master->blame.region_since_ns, true);
}

void begin_window(Thread* thread, std::uint64_t time) {
  Account& account = thread->blame.account;
  account.window_since = 0;  // not known
  if (account.changing()) return;
  account.window_caused = teams::caused_up_to(account, time);
  account.window_since = time;
}

void blame_sample(Thread* thread, NodeIndex node, BlamedSample sample, std::uint64_t time) {
  Account& account = thread->blame.account;
  if (account.changing()) return;
  if (account.activity == Activity::none) {  // it was there before the first that was created
    count_thread(thread);
    return;
  }
  if (sample.left) {
    forget_left_wait(thread->blame, time);
    sample.rate = teams::rate(account);
  }
  if (thread->blocked_call) {
    blame_call(thread, node, sample.ns, time);
  } else if (sample.rate > 0) {
    charge(thread, node, whole_ns(static_cast<SignedWide>(sample.rate) * static_cast<SignedWide>(sample.ns)));
  }
  if (time >= thread->blame.published_at + kPublish) publish_totals(thread, time);
}

void blame_call(Thread* thread, NodeIndex node, std::uint64_t ns, std::uint64_t time) {
  const Account& account = thread->blame.account;
  if (account.changing() || account.window_since == 0 || time <= account.window_since) return;
  const SignedWide caused = teams::caused_up_to(account, time) - account.window_caused;
  if (caused <= 0) return;
  const auto length = static_cast<SignedWide>(time - account.window_since);
  charge(thread, node, whole_ns(caused / length * static_cast<SignedWide>(ns)));
}

void publish_totals(Thread* thread, std::uint64_t time) {
  if (teams::active()) publish(thread, totals_of(thread->blame, time), time, Publisher::any);
}

void publish_last_totals(Thread* thread, std::uint64_t time) {
  if (!teams::active()) return;
  trace_short_waits(thread, monotonic_time(time));
  const bool brief = !thread->main && monotonic_time(time) < thread->start_ns + kBrief;
  publish(thread, totals_of(thread->blame, time), time,
          brief && thread->blame.charged ? Publisher::stands_for_brief : Publisher::any);
}

void publish_all_totals() {
  if (!teams::active() || !file.open()) return;  // a rank that is not wanted has no trees any more
  const std::uint64_t time = account_time();
  Thread* last = nullptr;  // that has a tree: takes what those without leave behind
  for (Thread* thread = first_thread(); thread != nullptr; thread = thread->pool.next) {
    if (!thread->pool.used.load(std::memory_order_acquire) ||
        thread->blame.account.activity == Activity::none)
      continue;
    trace_short_waits(thread, monotonic_time(time));
    Totals totals{};
    if (!look_at_totals(thread->blame, time, totals)) continue;
    publish(thread, totals, time, Publisher::any);
    if (thread->tree != nullptr && thread->tree->life().usable()) last = thread;
  }
  if (last != nullptr) publish(last, {}, time, Publisher::last);
}

OutsideWait::OutsideWait(bool waits) : thread_(waits && culprit_rt_thread.counted ? this_thread() : nullptr) {
  if (thread_ == nullptr) return;
  if (thread_->blame.account.activity != Activity::works) {
    thread_ = nullptr;
  } else {
    turn_unmarked(thread_, Activity::outside);
  }
}

OutsideWait::~OutsideWait() {
  if (thread_ != nullptr) turn_unmarked(thread_, Activity::works);
}

void leave_outside(Thread* thread) {
  const Account& account = thread->blame.account;
  if (account.activity == Activity::outside && !account.marked) turn_unmarked(thread, Activity::works);
}

LockWait::LockWait(const void* lock) : thread_(culprit_rt_thread.counted ? this_thread() : nullptr) {
  if (thread_ == nullptr) return;
  Blame& blame = thread_->blame;
  const auto here = reinterpret_cast<std::uintptr_t>(this);
  // Within another wait, of a run-time library's own lock, it is that wait.
  if (blame.account.activity != Activity::for_lock || blame.waits_at > here) {
    thread_ = nullptr;
    return;
  }
  const std::uint64_t time = account_time();
  leave_lock(blame, time);
  blame.releases.count = 0;
  blame.waiter = locks::enter(lock, time);
  blame.waits_at = here;
}

void LockWait::end(bool acquired) {
  if (thread_ == nullptr || thread_->blame.waits_at != reinterpret_cast<std::uintptr_t>(this)) return;
  Blame& blame = thread_->blame;
  blame.waits_at = 0;
  const std::uint64_t time = account_time();
  if (acquired && culprit_rt_tracing.load(std::memory_order_relaxed))
    blame.releases = locks::releases_since(blame.waiter);
  blame.lock_unborne += locks::leave(blame.waiter, time, acquired);
  if (time > blame.waiter.since) blame.lock_waited += time - blame.waiter.since;
}

void note_join(pthread_t thread) {
  if (culprit_rt_thread.counted) this_thread()->blame.joins = static_cast<std::uintptr_t>(thread);
}

std::uint64_t settle_lock(const void* lock, std::uint64_t holders) {
  return locks::is_awaited(lock) ? locks::charge(lock, account_time(), holders, this_thread()) : 0;
}

void charge_lock_wait(const volatile void* lock, std::uint64_t owed) {
  Thread* thread = culprit_rt_thread.counted ? this_thread() : nullptr;
  if (thread == nullptr) {
    left_behind[static_cast<std::size_t>(ThreadTotal::lock_unborne)].fetch_add(owed,
                                                                               std::memory_order_relaxed);
    return;
  }
  Blame& blame = thread->blame;
  blame.lock_caused += owed;
  std::uint64_t charged = owed;
  if (owed < kChargedAtOnce) {
    blame.lock_pending += owed;
    if (blame.lock_pending < kChargedAtOnce) return;
    charged = kChargedAtOnce;
    blame.lock_pending -= charged;
  }
  const TakenLocks::Place& taken = blame.taken.of(lock);
  const int error = errno;
  charge_here(thread, taken.lock == lock ? taken.by : CallPlace{}, charged);
  errno = error;
}

}  // namespace culprit::runtime

using culprit::runtime::Activity;

bool culprit_rt_left_behind(std::uintptr_t here) {
  stack_t alternate{};
  if (culprit::runtime::system_call(SYS_sigaltstack, 0, culprit::runtime::word(&alternate)) < 0) return true;
  const auto low = reinterpret_cast<std::uintptr_t>(alternate.ss_sp);
  const auto lies_there = [&](std::uintptr_t at) { return at - low < alternate.ss_size; };
  return !lies_there(here) || lies_there(culprit_rt_thread.marked_below);
}

std::uint8_t culprit_rt_begin_wait(std::uint8_t kind) {
  culprit::runtime::Thread* thread = culprit::runtime::this_thread();
  if (thread == nullptr) return static_cast<std::uint8_t>(Activity::none);
  culprit::runtime::Account& account = thread->blame.account;
  Activity before = account.activity;
  // This mark is the outermost one: a longjmp left another behind.
  if (account.marked && before != Activity::none) before = Activity::works;
  if (before == Activity::works) {
    account.marked = true;
    culprit::runtime::turn_to(thread, culprit::runtime::activity_of(kind));
  }
  return static_cast<std::uint8_t>(before);
}

void culprit_rt_end_wait(std::uint8_t before) {
  culprit::runtime::Thread* thread = culprit::runtime::this_thread();
  if (thread == nullptr || before == static_cast<std::uint8_t>(Activity::none)) return;
  culprit::runtime::turn_to(thread, static_cast<Activity>(before));
}
