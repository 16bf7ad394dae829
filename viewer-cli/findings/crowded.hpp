#pragma once

#include "database/contents.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
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

/// Crowds of all hosts, the one first whose threads lacked most. Cost: about linear in threads.
std::vector<Crowd> find_crowds(const database::Contents& experiment);

/// Of what threads waited (by location), in seconds, as much as processors were free for: of each set of
/// processors that threads share no more than the time in which none of them worked there, of threads whose
/// processors are not known all. Other programs may have had that time. Cost: as above.
double waited_while_free_s(const database::Contents& experiment, std::span<const std::uint64_t> waited_ns);

/// `threads 0, 1 of rank 0 share 1 processor, and 1.4 threads want one at a time`
std::string crowd_phrase(const database::Contents& experiment, const Crowd& crowd);

/// `ranks 0-63 share 2 processors on host n1`: main threads that are more than the processors which they may
/// run on; of several such hosts the number and the most crowded. Empty where there are none.
std::string crowded_hosts_phrase(const database::Contents& experiment);

/// Processors that some threads of one host may run on, and those that the host has. 0: not known.
struct UsableProcessors {
  std::size_t usable = 0, online = 0;
  bool bound = false;  ///< their control group allows more: they are bound to these
};
UsableProcessors usable_processors(const database::Contents& experiment,
                                   std::span<const std::uint32_t> locations);

/// Whether the host of these threads has processors on which no thread of the run may run.
bool host_has_more(const database::Contents& experiment, std::span<const std::uint32_t> locations);

/// `on host n1`, `on hosts n1 and n2`, `on 12 hosts`: each name once.
std::string hosts_phrase(const std::vector<std::string>& hosts);

/// Where threads run: ` on host n1 (64 processors)`, ` on hosts n1, n2`, ` on host n1, where they may use
/// only 1 of 64 processors`.
std::string on_hosts_phrase(const database::Contents& experiment, std::span<const std::uint32_t> locations);

}  // namespace culprit::viewer
