#pragma once

#include <cstdint>

namespace culprit::runtime {

/// The processors that this process has, in thousandths: those that it may run on, or its share of them where
/// the ranks that its MPI launcher started here have to share; no more than its control group may use.
std::uint64_t processors_of_process();

}  // namespace culprit::runtime
