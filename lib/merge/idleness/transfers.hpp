#pragma once

#include "merge/idleness/transfer_arrivals.hpp"
#include "merge/idleness/transfer_costs.hpp"

namespace culprit::merge {

/// What the whole run tells about calls that move many bytes: what they cost where they do not wait, and for
/// whom single ones waited (docs/blame.md).
struct Transfers {
  TransferCosts costs;
  TransferArrivals arrivals;

  /// Adds one process.
  void add(const measurement::Measurement& file) {
    costs.add(file);
    arrivals.add(file);
  }
  /// Collective: the same on every rank from then on. To be called once.
  void agree(exchange::Communicator& comm) {
    costs.agree(comm);
    arrivals.agree(comm);
  }
};

}  // namespace culprit::merge
