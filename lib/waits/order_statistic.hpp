#pragma once

#include "exchange/communicator.hpp"

#include <cstdint>
#include <vector>

namespace culprit::waits {

/// Collective: the value at `place`, from 0, if those of all ranks of the analysis stood in order; there must
/// be more than `place`. Each rank looks at its own only, which come to stand in another order.
std::uint64_t order_statistic(exchange::Communicator& analysis, std::vector<std::uint64_t>& values,
                              std::uint64_t place);

}  // namespace culprit::waits
