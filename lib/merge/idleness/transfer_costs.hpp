#pragma once

#include "exchange/communicator.hpp"
#include "measurement/measurement.hpp"
#include "merge/idleness/transfer_arrivals.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace culprit::merge {

/// What calls that move many bytes cost per byte where they do not wait (docs/blame.md), learned from all
/// such calls of the run: of the calls of one family and size class, whose costs the runtime counted by
/// class. In each message or collective somebody comes last and waits for nobody. So at least one call in as
/// many as there are processes shows the cost itself. That many calls, counted from the cheapest, are taken
/// for those, and their lower quartile for the cost of all: a machine that is busy with other things makes
/// calls dearer, never cheaper.
class TransferCosts {
 public:
  /// Adds the calls of one process.
  void add(const measurement::Measurement& file);

  /// Collective: every rank gets the costs that the calls of all ranks show. To be called once, before
  /// cost().
  void agree(exchange::Communicator& comm);

  /// Picoseconds per byte; 0 where it is not known: nothing of the kind was counted, or only one side of
  /// messages.
  [[nodiscard]] double cost(std::uint64_t family, std::uint32_t size_class) const;

 private:
  using Kind = std::pair<std::uint64_t, std::uint32_t>;  ///< family, size class

  struct Calls {
    std::map<std::uint64_t, std::uint64_t> by_cost;  ///< class of cost → calls
    std::uint64_t sent = 0, received = 0;            ///< bytes
  };

  [[nodiscard]] double learn(std::uint64_t family, const Calls& calls) const;

  std::map<Kind, Calls> calls_;
  std::uint64_t processes_ = 1;
  std::map<Kind, double> costs_;
};

/// What the whole run shows about calls that move many bytes: what they cost where they do not wait, and for
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
