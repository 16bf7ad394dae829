#pragma once

#include "database/machine.hpp"

#include <cstdint>
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

/// What of a thread's time outside waits it spent ready to run, without a processor, in ns: of its time
/// without a processor as much as falls on work in proportion, between what must and what can fall there
/// (docs/algorithms.md 5.6). 0 where nothing is known.
double preempted_ns(const database::ScheduledThread& thread);

/// Whether the machine is a suspect, and by which kinds; most explained first. `threads` ascend by location.
/// Empty where facts do not suffice to say so. Cost: sorts, and linear in threads times different processor
/// masks of a host.
std::vector<database::MachineSuspect> find_machine_suspects(std::span<const ThreadOnHost> threads);

}  // namespace culprit::blame
