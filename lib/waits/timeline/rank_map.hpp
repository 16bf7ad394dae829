#pragma once

#include "exchange/communicator.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/process_trace.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace culprit::waits {

/// Which rank of the analysis has which process's time lines, and how these are numbered. The same
/// everywhere.
class RankMap {
 public:
  /// Collective. A rank in MPI_COMM_WORLD that two processes claim belongs to the first; the other's time
  /// lines take no part.
  RankMap(exchange::Communicator& analysis, std::span<const std::unique_ptr<ProcessTrace>> own);

  /// The rank of the analysis that has the process, or -1.
  [[nodiscard]] int owner_of(std::int32_t rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < owner_.size()
               ? owner_[static_cast<std::size_t>(rank)]
               : -1;
  }
  [[nodiscard]] Location location_of(std::int32_t rank, std::size_t thread) const {
    return first_[static_cast<std::size_t>(rank)] + static_cast<Location>(thread);
  }
  /// The rank in MPI_COMM_WORLD of the process that the location belongs to.
  [[nodiscard]] std::int32_t rank_of(Location location) const { return rank_of_[location]; }
  /// The rank of the analysis that has the location.
  [[nodiscard]] int holder_of(Location location) const { return owner_of(rank_of_[location]); }
  [[nodiscard]] Location locations() const { return first_.empty() ? 0 : first_.back(); }
  [[nodiscard]] std::size_t ranks() const { return owner_.size(); }

 private:
  std::vector<int> owner_;             // by rank in MPI_COMM_WORLD
  std::vector<Location> first_;        // the same; one more at the end
  std::vector<std::int32_t> rank_of_;  // by location
};

}  // namespace culprit::waits
