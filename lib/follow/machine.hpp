#pragma once

#include "measurement/processor_set.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace culprit::follow {

/// How a rank's main thread was scheduled, lately or in the run so far.
struct Scheduling {
  std::int32_t rank = -1;  ///< -1: none
  std::string host;
  std::uint64_t ran_ns = 0, runnable_ns = 0;  ///< on a processor; ready to run, without one. 0: unknown
  measurement::ProcessorSet processors{};     ///< that it may run on
  std::uint32_t allowed = 0;                  ///< of its host's, to its control group; 0: unknown
};

/// Whether the machine slows the run down, in one sentence without a full stop; empty where it does not.
std::string machine_in_words(std::span<const Scheduling> threads);

}  // namespace culprit::follow
