#pragma once

#include "database/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The sets of processors that threads share (docs/algorithms.md 5.6).
namespace culprit::blame {

/// Processors that threads of a host may run on, and these threads.
struct SharedProcessors {
  std::vector<std::uint16_t> processors;  ///< ascending; empty: not known
  std::vector<std::size_t> threads;       ///< by their places in what was asked, ascending
};

/// Ascending: those of the thread's mask; all of its host where that is not known. Empty: not known either.
std::vector<std::uint16_t> processors_of(const database::ScheduledThread& thread);

/// The sets of processors that threads of one host may run on, those that overlap as one: between sets no
/// thread can move. By their first threads; those of which no processor is known are one set. Cost: nearly
/// linear in the sum of the threads' processors, where neighbours with the same ones count once.
std::vector<SharedProcessors> shared_processors(
    std::span<const database::ScheduledThread* const> threads_of_host);

}  // namespace culprit::blame
