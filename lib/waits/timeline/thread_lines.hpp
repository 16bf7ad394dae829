#pragma once

#include "waits/timeline/process_trace.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace culprit::waits {

/// The path at which code of a worker, the second one, is shown below the call by which the main thread runs
/// a region, the first.
using BesideMain = std::function<std::uint32_t(std::uint32_t, std::uint32_t)>;

/// The threads of a process that calls no MPI, each as the only time line of a rank of its own, which is the
/// thread's number: waits for other threads are calls, and where it can be concluded who ended a wait, both
/// take part in a barrier (docs/algorithms.md 12.2). What is waited for else has a call without operations.
/// Of `process`, which must be able to begin anew, samples say with `wait` whether they are in such a wait,
/// and parallel regions with `charged` which call runs them. Samples of a worker in one of the main thread's
/// parallel regions are charged to what `beside` says. Reads it once, but for what the lines read.
std::vector<std::unique_ptr<ProcessTrace>> thread_lines(std::unique_ptr<ProcessTrace> process,
                                                        const BesideMain& beside);

}  // namespace culprit::waits
