#pragma once

#include "runtime/teams/level.hpp"

#include <cstddef>
#include <cstdint>

// Undirected blame (docs/algorithms.md 12): a thread that works bears, at any time, idle/working of each team
// that it belongs to. Teams are nested; the outermost one is the process. Where nobody of a team works, its
// idle threads count in the team around it; where nobody in the process works, threads that wait for other
// processes bear them; where there are none, nobody does.
namespace culprit::runtime {

/// A team, and which of those that have had its place.
struct TeamRef {
  std::uint16_t place = 0;
  std::uint8_t generation = 0;

  friend bool operator==(const TeamRef&, const TeamRef&) = default;
};

/// What a thread does, for the accounts.
enum class Activity : std::uint8_t {
  none,      ///< it is not counted
  works,     ///< also: it sleeps, reads and writes files
  idles,     ///< it waits for work, or for another thread of its team
  outside,   ///< it waits for another process: in MPI, for messages, descriptors, signals
  for_lock,  ///< it waits for a lock: its holder bears that (lock_queue.hpp)
};

/// Whether it waits for another thread of its process.
constexpr bool awaits_thread(Activity activity) {
  return activity == Activity::idles || activity == Activity::for_lock;
}

/// A team and those around it, from the process inwards.
struct TeamPath {
  static constexpr std::size_t kMost = 8;  ///< teams that are nested in each other; those within count as one

  std::uint8_t depth;
  TeamRef teams[kMost];
};

/// What one thread has to do with the teams. Written by the thread itself alone, also from its signal handler
/// unless that interrupted a change. All zero is valid: it is not counted.
struct Account {
  volatile Activity activity;
  bool marked;                     ///< the activity is a CallMark's
  std::uint16_t spare;             ///< place of the last team that it made, for the next; 0: none
  volatile std::uint32_t changes;  ///< odd in the middle of one
  TeamPath path;                   ///< of its innermost team
  Wide seen[TeamPath::kMost];      ///< the integrals when it began to do what it does
  SignedWide caused;               ///< what it caused up to then, in 2^-32 ns
  std::uint64_t waits_since;       ///< where it waits for another thread
  std::uint64_t idle_ns;           ///< that it idled up to then
  SignedWide window_caused;        ///< caused_up_to() when the present call began, that is one sample
  std::uint64_t window_since;      ///< when that was; 0: there is none

  /// The account is not what it will be: its thread's handler looks away, other threads look again.
  [[nodiscard]] bool changing() const { return (changes & 1) != 0; }
};

/// The levels of a process. Lock-free and async-signal-safe; times are the sampling clock's.
namespace teams {

/// From here on threads are counted: there is more than one. Before, nothing costs anything.
void activate();
[[nodiscard]] bool active();
/// In a forked child, and for tests: nobody is counted any more.
void forget();

/// The thread works from `time` on, in the process alone. Does nothing where it is counted already.
void begin(Account& account, std::uint64_t time);
/// It is counted no more.
void end(Account& account, std::uint64_t time);
/// It does something else from `time` on.
void turn(Account& account, Activity activity, std::uint64_t time);

/// Makes a team within the innermost one of a thread that works, its master, which works in it from now on.
/// False: there is no place for one more; its threads count in the team around it then. Needs no clock: as
/// long as nobody else is in the team, nobody idles there.
bool begin_team(Account& master, TeamRef& team);
/// The thread works in `team` from `time` on, wherever it was.
void enter(Account& account, TeamRef team, std::uint64_t time);
/// The master works again around its innermost team, which ends: who idles there does so around it.
void end_team(Account& master, std::uint64_t time);

/// What the thread causes at present: idle threads per working one, in 2^-32. A load or two for each of its
/// teams.
[[nodiscard]] std::int64_t rate(const Account& account);
/// What it has caused up to `time`, in 2^-32 ns.
[[nodiscard]] SignedWide caused_up_to(const Account& account, std::uint64_t time);
/// How long it has idled.
[[nodiscard]] std::uint64_t idle_up_to(const Account& account, std::uint64_t time);
/// Idleness that nobody bore, up to `time`, in ns.
[[nodiscard]] std::uint64_t borne_by_nobody(std::uint64_t time);

}  // namespace teams
}  // namespace culprit::runtime
