#pragma once

#include "database/machine.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace culprit::blame {

/// A thread of which something is known, and where it ran.
struct ThreadOnHost {
  database::ScheduledThread facts{};
  std::uint32_t role = 0;
  std::uint32_t host = 0;     ///< any number per host
  std::uint64_t process = 0;  ///< likewise per process
  bool is_rank = false;       ///< the main thread of a rank
};

/// Threads of a host of which the kernel was not asked, as they hardly ran; CPU time by their samples.
struct BriefThreads {
  std::uint64_t threads = 0, cpu_ns = 0;
};

/// What is known of a run's threads.
struct ScheduledRun {
  std::span<const ThreadOnHost> threads;          ///< ascending by location
  std::map<std::uint32_t, BriefThreads> brief{};  ///< by host
  std::uint64_t period_ns = 0;                    ///< of sampling
};

/// Time that a thread was ready to run, without a processor, in ns.
struct Preempted {
  double work_ns = 0;   ///< outside waits
  double waits_ns = 0;  ///< in waits
};

/// Divides a thread's time without a processor: work bears only what does not fit into its waits, by their
/// lack of CPU time (docs/algorithms.md 5.6). 0 where nothing is known.
Preempted preempted(const database::ScheduledThread& thread);

/// Whether the machine is a suspect, and by which kinds; most explained first. Empty where facts do not
/// suffice to say so. Cost: sorts, and linear in threads times different processor masks of a host.
std::vector<database::MachineSuspect> find_machine_suspects(const ScheduledRun& run);

}  // namespace culprit::blame
