#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/values/shape.hpp"
#include "waits/communication/traffic.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// What MPI calls took and moved, as the database has it.
namespace culprit::merge {

/// How much of who sent to whom a database holds: beyond it, small communicators become one, then
/// neighbouring ranks.
struct PartnerLimits {
  std::size_t communicators = 64;
  std::size_t rows = std::size_t{1} << 18;
};

/// Rows of one run, put together from those of several ranks of the analysis; independent of their order.
std::vector<database::PartnerTraffic> add_up_partners(std::span<const waits::PartnerSum> sums,
                                                      const PartnerLimits& limits = {});

/// Collective: brings `calls` and `partners` of all ranks to rank 0; the others get nothing. Call paths
/// become the scopes at which calls are shown. `threads`: of each time line, its thread in the database.
database::Communication gather_communication(exchange::Communicator& comm, const Shape& shape,
                                             std::span<const std::uint32_t> threads,
                                             const std::vector<waits::CallSum>& calls,
                                             const std::vector<waits::PartnerSum>& partners);

}  // namespace culprit::merge
