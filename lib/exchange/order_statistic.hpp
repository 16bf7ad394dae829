#pragma once

#include "exchange/communicator.hpp"

#include <cstdint>
#include <span>

namespace culprit::exchange {

/// Collective: the value at `place`, from 0, if those of all ranks of the analysis stood in order; there must
/// be more than `place`. Each rank looks at its own only, and at a sample of the others', and copies those of
/// its own among which it still may be: mostly an eighth.
std::uint64_t order_statistic(Communicator& analysis, std::span<const std::uint64_t> values,
                              std::uint64_t place);

}  // namespace culprit::exchange
