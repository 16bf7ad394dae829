#pragma once

#include "mpi/call_facts.hpp"
#include "mpi/room.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace culprit::mpi {

/// The handles that MPI_Start or MPI_Startall was given. Open MPI replaces that of a buffered send of which
/// the last message is still under way.
class StartedHandles {
 public:
  /// Before the call.
  void keep(const RequestStart& facts) {
    handles_.emplace(static_cast<std::size_t>(std::max(facts.count, 0)));
    std::copy_n(facts.requests, handles_->size(), handles_->data());
  }
  /// After it: the n-th one, as it was; the one that it has now, where there was no memory.
  [[nodiscard]] MPI_Request before(const RequestStart& facts, int n) {
    const auto at = static_cast<std::size_t>(n);
    return at < handles_->size() ? (*handles_)[at] : facts.requests[n];
  }

 private:
  static constexpr std::size_t kFew = 32;  ///< on the stack

  std::optional<Room<MPI_Request, kFew>> handles_;
};

}  // namespace culprit::mpi
