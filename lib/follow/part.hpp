#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace culprit::follow {

inline constexpr double kNsPerSecond = 1e9;

/// What a rank mostly did.
enum class State : std::uint8_t {
  work,
  wait,
  io,
  asleep,        ///< blocked in a call that is neither: sleep, poll
  no_processor,  ///< it would run, and did not
  silent,        ///< its process has written nothing since the look before
  not_sampled,   ///< it lives, and no time was measured: the program has stopped that
  died,
  ended,
};
inline constexpr std::size_t kShares = 5;  ///< of states up to no_processor
constexpr std::size_t index_of(State state) {
  return static_cast<std::size_t>(state);
}

/// `work`, `wait`, `io`, `asleep`, `no-processor`, `silent`, `not-sampled`, `died`, `ended`.
const char* name_of(State state);
/// One letter of a line of states.
char letter_of(State state);
/// Of two ranks' states the one that says more about what holds the run up: dead, silent, without a
/// processor, then those who are waited for, then those who wait.
State worse(State a, State b);

/// A rank in the last interval, or in the run so far.
struct RankRow {
  std::int32_t rank = -1;  ///< -1: none
  std::string process;     ///< host:pid
  std::uint64_t key = 0;   ///< of its measurement: no other has it, though host and pid be the same
  State state = State::silent;
  double seconds = 0;
  double silent_s = 0;                  ///< where it is silent: since it wrote last; 0: not to be said
  bool here = false;                    ///< its process is one of this host
  std::array<double, kShares> share{};  ///< of its seconds, by State; the main thread's
  std::string at;                       ///< where it spent most of what it mostly did
};

/// Code that was run, or a call that was waited in.
struct HotSpot {
  std::string text;  ///< `assemble at solve.c:41`, `MPI_Allreduce (solve at solve.c:52)`
  std::string procedure, file, call;
  std::uint32_t line = 0;
  State state = State::work;
  double seconds = 0;
  double share = 0;                 ///< of the time of all threads
  std::vector<std::int32_t> ranks;  ///< which spent at least half as much in it as the one that spent most
};

/// One interval, or the run so far.
struct Part {
  double seconds = 0;                   ///< from its begin to its end
  std::array<double, kShares> share{};  ///< of all ranks' time
  std::vector<RankRow> ranks;           ///< by rank; processes that are no ranks only where there are none
  std::vector<HotSpot> hot;             ///< work, then waits, the largest first
  std::string machine;                  ///< what the machine does to the run (machine.hpp); empty: nothing
  std::string diagnosis;                ///< a sentence, which begins with that of the machine
};

/// Who works, waits, reads and writes, or has no processor, in one sentence without a full stop. Needs the
/// rows and hot spots of the part.
std::string diagnose(const Part& part);

}  // namespace culprit::follow
