#pragma once

#include "mpi/room.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

#include <mpi.h>

namespace culprit::mpi {

/// Which places of a grid's neighbours have nobody, since the grid ends there: a bit for each, of the
/// first 64.
using Nobody = std::uint64_t;

/// Places for partners in one direction of a collective.
struct Places {
  int count;
  Nobody nobody;

  [[nodiscard]] bool has(int place) const { return place >= 64 || ((nobody >> place) & 1) == 0; }
  [[nodiscard]] int partners() const { return count - std::popcount(nobody); }
};

/// Whom this process receives from and sends to in the neighbourhood collectives of a communicator, in their
/// order (MPI-3.1, 7.6): ranks of the communicator, kNobody where a grid ends. None where it has no
/// topology, or not one of its own.
class Neighbors {
 public:
  explicit Neighbors(MPI_Comm comm);

  const int* sources() { return ranks_.data(); }
  [[nodiscard]] std::size_t source_count() const { return ranks_.size() == 0 ? 0 : counts_.sources; }
  const int* destinations() { return ranks_.data() + counts_.sources; }
  [[nodiscard]] std::size_t destination_count() const {
    return ranks_.size() == 0 ? 0 : counts_.destinations;
  }
  /// Of the sources, and of the destinations as well: those of a grid are the same.
  Nobody nobody();

 private:
  struct Counts {
    int kind;
    int dimensions;
    std::size_t sources, destinations;
  };
  static constexpr std::size_t kFew = 64;  ///< more than grids have

  static Counts count(MPI_Comm comm);
  void read_grid(MPI_Comm comm);
  void read_graph(MPI_Comm comm);
  void read_distributed_graph(MPI_Comm comm);

  Counts counts_;
  Room<int, kFew> ranks_;
};

}  // namespace culprit::mpi
