#pragma once

#include "database/contents.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace culprit::viewer {

/// Threads that share processors which more of them want than there are.
struct Crowd {
  std::vector<std::uint32_t> locations;  ///< ascending
  std::size_t processors = 0;
  double wanted = 0;    ///< threads that want one at a time
  double lacked_s = 0;  ///< ready to run without one, in work and in waits, as the kernel counts it
  bool bound = false;   ///< the host has more processors
};

/// Crowds of all hosts, the one first whose threads lacked most. Cost: linear in threads times sets of
/// processors.
std::vector<Crowd> find_crowds(const database::Contents& experiment);

/// Processor time that was there for the run's threads, and that none of them worked in, in seconds: infinite
/// where the processors are not known. Other programs may have had it. Cost: as above.
double free_processors_s(const database::Contents& experiment);

/// `threads 0, 1 of rank 0 share 1 processor, and 1.4 threads want one at a time`
std::string crowd_phrase(const database::Contents& experiment, const Crowd& crowd);

}  // namespace culprit::viewer
