#pragma once

#include "measurement/processor_set.hpp"

#include <cstdint>

// What the kernel's scheduler did with a thread, and what the host had to give (docs/algorithms.md 5.6). Both
// are read outside the signal handler. Free of anything that allocates.
namespace culprit::measurement {

/// How a thread was scheduled, up to the last time that the runtime asked the kernel.
struct Schedule {
  std::uint64_t ran_ns = 0;       ///< on a processor; 0: nothing is known of the thread
  std::uint64_t runnable_ns = 0;  ///< ready to run, without a processor
  std::uint32_t voluntary = 0;    ///< context switches because it waited
  std::uint32_t involuntary = 0;  ///< context switches because another thread took its processor
  ProcessorSet processors{};      ///< that it may run on

  [[nodiscard]] bool known() const { return ran_ns != 0; }
  friend bool operator==(const Schedule&, const Schedule&) = default;
};
static_assert(sizeof(Schedule) == 56);

inline constexpr std::uint64_t kIdleUnknown = ~std::uint64_t{0};

/// The processors of the process's host, from its start up to the last time that the runtime looked.
struct HostLoad {
  std::uint64_t span_ns = 0;             ///< from the process's start; 0: nothing is known
  std::uint32_t online = 0;              ///< processors of the host
  std::uint32_t allowed = 0;             ///< of them, what the control group allows the process
  std::uint64_t quota = 0;               ///< thousandths of a processor; 0: no limit is known
  std::uint64_t throttled_ns = 0;        ///< how long the quota stopped the control group, over processors
  std::uint64_t idle_ns = kIdleUnknown;  ///< what the host's processors had nothing to do, added up

  [[nodiscard]] bool known() const { return span_ns != 0; }
  friend bool operator==(const HostLoad&, const HostLoad&) = default;
};
static_assert(sizeof(HostLoad) == 40);

}  // namespace culprit::measurement
