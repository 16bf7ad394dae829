#pragma once

#include "scripted_run.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace culprit::waits::testing {

/// A simulated MPI program on a few ranks, sampled every 5 ms, whose computing takes 2 % more or less at
/// random. Procedures are named by their chains, as "solve/smooth". Ranks are scripts, written one step after
/// the other; run() finds out who waits for whom.
class SampledProgram {
 public:
  SampledProgram(std::int32_t ranks, std::uint64_t seed);

  void compute(std::int32_t rank, std::string_view chain, double ms);
  /// Takes exactly so long, of which one sample at the end tells.
  void sleep(std::int32_t rank, std::string_view chain, double ms);
  /// Blocking; sends are buffered. `chain` is where the call is made from.
  void send(std::int32_t rank, std::int32_t to, std::string_view chain = "");
  void receive(std::int32_t rank, std::int32_t from, std::string_view chain = "");
  /// On all ranks.
  void barrier(std::string_view chain = "");
  void allreduce(std::string_view chain = "");
  /// On all ranks; `held_up`: the root leaves it only when the last has entered.
  void broadcast(std::int32_t root, bool held_up);
  /// On all ranks; `below` gets its data through `inner`, and leaves only when that has entered.
  void broadcast_through(std::int32_t root, std::int32_t inner, std::int32_t below);
  [[nodiscard]] std::int32_t ranks() const { return static_cast<std::int32_t>(scripts_.size()); }

  /// The time lines of all that was written down so far; to be called once.
  ScriptedRun run();
  /// The path that samples of the chain have.
  [[nodiscard]] std::uint32_t path_of(std::string_view chain);

 private:
  enum class Kind : std::uint8_t { compute, sleep, send, receive, barrier, allreduce, broadcast };
  struct Step {
    Kind kind = Kind::compute;
    std::uint32_t path = 0;
    std::int32_t peer = 0;
    std::uint64_t ns = 0;
    bool held_up = false;
    std::int32_t through = -1;
  };
  struct Rank {
    std::size_t next = 0;  // step
    std::uint64_t now = 0;
    std::uint64_t sample = 0;     // when the next one is due
    std::size_t collectives = 0;  // that it entered
    bool inside = false;          // of the next step, a collective
  };
  /// Of a collective instance.
  struct Instance {
    std::size_t entered = 0;
    std::uint64_t latest = 0;
    std::map<std::int32_t, std::uint64_t> enters;
  };

  std::uint32_t path(std::uint32_t parent, const std::string& procedure);
  std::uint32_t call_path(std::string_view chain, const char* call);
  std::vector<Step>& script(std::int32_t rank) { return scripts_[static_cast<std::size_t>(rank)]; }
  void collective(Kind kind, std::string_view chain, const char* call, std::int32_t root, bool held_up);
  bool advance(std::int32_t at, ScriptedRun& run);
  bool take(std::int32_t at, const Step& step, ScriptedRun& run);
  bool take_collective(std::int32_t at, const Step& step, ScriptedRun& run);
  void work(std::int32_t at, const Step& step, ScriptedRun& run);
  void doze(std::int32_t at, const Step& step, ScriptedRun& run);
  void call(std::int32_t at, const Step& step, std::uint64_t exit, const Operation& operation,
            ScriptedRun& run);

  std::mt19937_64 random_;
  std::vector<std::vector<Step>> scripts_;
  std::vector<Rank> at_;
  std::vector<Instance> instances_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::uint64_t>> sent_;  // enters, by pair
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> received_;
  CallPaths paths_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> path_of_;
};

/// Of all waiting, the share that is charged to these: (rank, chain), with all that the chain calls.
double share_of(const Found& found, SampledProgram& program, const CallPaths& paths,
                const std::vector<std::pair<std::int32_t, std::string>>& causes);

}  // namespace culprit::waits::testing
