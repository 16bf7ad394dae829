#pragma once

#include "measurement/trace_operation.hpp"
#include "storage/hash.hpp"
#include "storage/sequence.hpp"
#include "waits/timeline/by_call.hpp"
#include "waits/timeline/event.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// What a call cannot end before, whether it had to wait for it or not. Candidates are those that mattered in
/// the run as it was; these are all, so that the run can be replayed otherwise.
struct Dependency {
  enum class On : std::uint8_t { enter, exit, instance };
  std::uint32_t event = 0;  ///< the call's index on its time line
  WaitPattern pattern = WaitPattern::none;
  On on = On::enter;  ///< of the cause, which is a call, or the number of a collective instance
  /// Of sends: size_code() of the message, or kSynchronous. Of others: kMayPass, where libraries differ on
  /// whether such a call waits; kNonblocking, on an instance by another call than the one that joined it.
  std::uint16_t size = 0;
  EventId cause;

  static constexpr std::uint16_t kSynchronous = 0xffff;
  static constexpr std::uint16_t kMayPass = 1;
  static constexpr std::uint16_t kNonblocking = 2;

  /// On a partner that was outside MPI while the transfer stood still, where that is no wait by any pattern.
  [[nodiscard]] bool on_progress() const { return pattern == WaitPattern::none && on == On::enter; }
};

/// A message's size in 16 bits, to one part in a thousand. Monotone; never Dependency::kSynchronous.
std::uint16_t size_code(std::uint64_t bytes);

/// A call of a time line takes part in a collective instance from its enter on.
struct Joined {
  std::uint32_t event = 0;
  std::uint32_t instance = 0;
  std::int32_t rank = -1;  ///< in the communicator
  bool root = false;
  bool bystander = false;  ///< nobody needs it
};

/// A collective instance as the run had it.
struct CollectiveRecord {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  measurement::trace::OperationKind kind{};
  bool contradictory = false;  ///< members took part in different operations
  std::uint32_t expected = 0, joined = 0;
  std::uint64_t latest_ns = 0;  ///< enter
  std::uint64_t root_ns = kNever;
  std::uint64_t first_out_ns = kNever;  ///< the earliest exit of a blocking member

  [[nodiscard]] bool whole() const { return !contradictory && joined == expected; }
};

/// All dependencies between the calls of a run, which one rank of the analysis has as a whole. Recorded while
/// calls are matched. Memory: blocks of the Spill, and the operations and instances that are open.
class Dependencies {
 public:
  explicit Dependencies(storage::Spill& spill) : spill_(spill) {}

  /// A time line; before anything is added to it.
  void open(Location location) {
    while (lines_.size() <= location) lines_.emplace_back(spill_);
  }
  /// A dependency on itself is none.
  void add(Location line, const Dependency& dependency) {
    if (dependency.cause != EventId{line, dependency.event} || dependency.on == Dependency::On::instance)
      lines_[line].found.add(dependency);
  }

  /// Nonblocking operation `id` of this rank in MPI_COMM_WORLD: the call that completed it, and what it
  /// depended on (`event` is filled in); in any order.
  void completed(std::int32_t rank, std::uint64_t id, EventId call);
  void of_operation(std::int32_t rank, std::uint64_t id, const Dependency& dependency);

  /// How a call takes part in a collective operation.
  struct Part {
    std::uint64_t context = 0;  ///< its global id
    std::uint32_t number = 0;   ///< of the instance in it
    std::uint32_t size = 0;     ///< of the context
    measurement::trace::OperationKind kind{};
    WaitPattern pattern = WaitPattern::none;  ///< what the operation makes its members wait for
    EventId call;
    std::uint64_t enter_ns = 0, exit_ns = 0;  ///< of the call
    std::int32_t process_rank = -1;           ///< in MPI_COMM_WORLD
    std::int32_t rank = -1;                   ///< in the communicator
    std::uint64_t operation = 0;              ///< 0: blocking
    bool root = false, bystander = false;
  };
  void join(const Part& part);

  struct Line {
    explicit Line(storage::Spill& spill) : found(spill), joined(spill) {}
    ByCall<Dependency> found;          ///< until they are taken
    storage::Sequence<Joined> joined;  ///< in the order of calls
  };
  [[nodiscard]] Line& line(Location location) { return lines_[location]; }
  [[nodiscard]] const std::vector<CollectiveRecord>& instances() const { return instances_; }
  /// Of a prefix reduction: when each member entered, by rank.
  [[nodiscard]] const std::vector<std::uint64_t>& enters(std::uint32_t instance) const {
    return prefixes_.at(instance);
  }

 private:
  struct Key {
    std::uint64_t a = 0, b = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return storage::hash_of(key.a, key.b); }
  };
  /// Of an operation, what came first.
  struct Half {
    EventId call;
    Dependency dependency;
  };
  struct Open {
    std::uint32_t instance = 0;
  };
  void enter(std::uint32_t instance, const Part& part);

  storage::Spill& spill_;
  std::vector<Line> lines_;  // by location
  tsl::robin_map<Key, Half, Hash> operations_;
  tsl::robin_map<Key, Open, Hash> open_;  // by context and number
  std::vector<CollectiveRecord> instances_;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> prefixes_;
};

}  // namespace culprit::waits
