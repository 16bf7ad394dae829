#pragma once

#include "measurement/processor_set.hpp"

#include <cstdint>
#include <vector>

// What the machine gave to the threads (docs/algorithms.md 5.6), sections 36 and 37 (docs/formats.md).
namespace culprit::database {

inline constexpr std::uint64_t kIdleUnknown = ~std::uint64_t{0};

/// How one thread was scheduled, and what its host had to give. The bytes are those of the file. Times in ns.
struct ScheduledThread {
  std::uint32_t location = 0;
  std::uint32_t online = 0;    ///< processors of its host; 0: nothing is known of the host
  std::uint32_t allowed = 0;   ///< of them, what its control group may use
  std::uint32_t slept_ms = 0;  ///< of its samples in waits for threads of its process: asleep; ms
  std::uint32_t voluntary = 0, involuntary = 0;  ///< context switches
  std::uint64_t ran_ns = 0;                      ///< on a processor, in its whole life
  std::uint64_t runnable_ns = 0;                 ///< ready to run without a processor, likewise
  std::uint64_t lived_ns = 0;
  std::uint64_t sampled_ns = 0, idle_ns = 0, cpu_ns = 0;  ///< of its samples: REALTIME, idleness, CPU
  std::uint64_t work_ns = 0, work_cpu_ns = 0;             ///< of them REALTIME and CPU outside waits
  std::uint64_t instructions = 0;                         ///< outside waits; 0 where they were not counted
  // Of its process's host, since the process's start.
  std::uint64_t span_ns = 0;                  ///< for how long
  std::uint64_t quota = 0;                    ///< thousandths of a processor; 0: none is known
  std::uint64_t throttled_ns = 0;             ///< how long the quota stopped the control group
  std::uint64_t host_idle_ns = kIdleUnknown;  ///< what the host's processors had nothing to do, added up
  measurement::ProcessorSet processors{};     ///< that it may run on; empty: not known

  friend bool operator==(const ScheduledThread&, const ScheduledThread&) = default;
};
static_assert(sizeof(ScheduledThread) == 160);

enum class MachineKind : std::uint8_t {
  oversubscribed,  ///< more threads than processors want to run
  bound_together,  ///< they are bound to fewer processors than there are, and others are free
  quota,           ///< a control group's limit stops them
  slow,            ///< the same instructions take longer
};
inline constexpr std::uint32_t kMachineKinds = 4;

/// Threads that the machine, not their code, made late. Times in ns.
struct MachineSuspect {
  MachineKind kind = MachineKind::oversubscribed;
  bool by_others = false;         ///< oversubscribed: by programs that were not measured
  std::uint32_t processors = 0;   ///< that they share; of slow: 0
  std::uint64_t wanted = 0;       ///< how many of the run's threads wanted one of these, in thousandths
  std::uint64_t others = 0;       ///< what other programs used of the hosts' processors, in thousandths
  std::uint64_t free = 0;         ///< what of the hosts' processors was idle, in thousandths
  std::uint64_t quota = 0;        ///< thousandths of a processor
  std::uint64_t lost_ns = 0;      ///< outside waits, without a processor; of slow: CPU time too much
  std::uint64_t explains_ns = 0;  ///< of all threads' idleness
  std::vector<std::uint32_t> locations{};  ///< the threads, ascending

  friend bool operator==(const MachineSuspect&, const MachineSuspect&) = default;
};

/// All that a database knows of the machine.
struct Machine {
  std::vector<ScheduledThread> threads;  ///< ascending by location; only those of which anything is known
  std::vector<MachineSuspect> suspects;  ///< most explained first

  friend bool operator==(const Machine&, const Machine&) = default;
};

/// Whether all locations exist, and are in their order.
bool is_sound(const Machine& machine, std::size_t locations);

}  // namespace culprit::database
