#include "mpi/topology.hpp"

#include "measurement/trace_operation.hpp"
#include "mpi/real_call.hpp"

#include <cstdint>

namespace culprit::mpi {

Neighbors::Neighbors(MPI_Comm comm) : counts_(count(comm)), ranks_(counts_.sources + counts_.destinations) {
  if (ranks_.size() == 0) return;
  if (counts_.kind == MPI_CART) read_grid(comm);
  if (counts_.kind == MPI_GRAPH) read_graph(comm);
  if (counts_.kind == MPI_DIST_GRAPH) read_distributed_graph(comm);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i] == MPI_PROC_NULL) ranks_[i] = measurement::trace::kNobody;
  }
}

Nobody Neighbors::nobody() {
  Nobody nobody = 0;
  for (std::size_t i = 0; i < source_count() && i < 64 && counts_.kind == MPI_CART; ++i)
    if (ranks_[i] == measurement::trace::kNobody) nobody |= Nobody{1} << i;
  return nobody;
}

namespace {

constexpr std::size_t kFew = 8;  ///< dimensions

/// Whether its extents are those of its processes. In Open MPI what MPI_Comm_create_group makes of some of a
/// grid's processes has the whole grid's, and MPI_Cart_shift divides by zero there.
bool is_grid(MPI_Comm comm, int dimensions) {
  const auto size = static_cast<std::size_t>(dimensions);
  Room<int, 3 * kFew> room(3 * size);
  if (room.size() == 0) return false;
  int* extents = room.data();
  CULPRIT_MPI(PMPI_Cart_get)(comm, dimensions, extents, extents + size, extents + 2 * size);
  std::int64_t processes = 1;
  for (std::size_t i = 0; i < size; ++i) processes *= extents[i];
  int all = 0;
  CULPRIT_MPI(PMPI_Comm_size)(comm, &all);
  return processes == all;
}

}  // namespace

Neighbors::Counts Neighbors::count(MPI_Comm comm) {
  Counts counts{.kind = MPI_UNDEFINED, .dimensions = 0, .sources = 0, .destinations = 0};
  CULPRIT_MPI(PMPI_Topo_test)(comm, &counts.kind);
  int sources = 0;
  int destinations = 0;
  if (counts.kind == MPI_CART) {
    CULPRIT_MPI(PMPI_Cartdim_get)(comm, &counts.dimensions);
    if (is_grid(comm, counts.dimensions)) sources = destinations = 2 * counts.dimensions;
  } else if (counts.kind == MPI_GRAPH) {
    int rank = 0;
    CULPRIT_MPI(PMPI_Comm_rank)(comm, &rank);
    CULPRIT_MPI(PMPI_Graph_neighbors_count)(comm, rank, &sources);
    destinations = sources;
  } else if (counts.kind == MPI_DIST_GRAPH) {
    int weighted = 0;
    CULPRIT_MPI(PMPI_Dist_graph_neighbors_count)(comm, &sources, &destinations, &weighted);
  }
  counts.sources = static_cast<std::size_t>(sources);
  counts.destinations = static_cast<std::size_t>(destinations);
  return counts;
}

void Neighbors::read_grid(MPI_Comm comm) {
  for (int i = 0; i < counts_.dimensions; ++i) {
    int* pair = ranks_.data() + 2 * static_cast<std::ptrdiff_t>(i);
    CULPRIT_MPI(PMPI_Cart_shift)(comm, i, 1, pair, pair + 1);
  }
  for (std::size_t i = 0; i < counts_.sources; ++i) ranks_[counts_.sources + i] = ranks_[i];
}

void Neighbors::read_graph(MPI_Comm comm) {
  int rank = 0;
  CULPRIT_MPI(PMPI_Comm_rank)(comm, &rank);
  CULPRIT_MPI(PMPI_Graph_neighbors)(comm, rank, static_cast<int>(counts_.sources), ranks_.data());
  for (std::size_t i = 0; i < counts_.sources; ++i) ranks_[counts_.sources + i] = ranks_[i];
}

void Neighbors::read_distributed_graph(MPI_Comm comm) {
  const std::size_t all = counts_.sources + counts_.destinations;
  Room<int, kFew> weights(all);
  if (weights.size() == 0) {
    counts_.sources = counts_.destinations = 0;
    return;
  }
  CULPRIT_MPI(PMPI_Dist_graph_neighbors)
  (comm, static_cast<int>(counts_.sources), ranks_.data(), weights.data(),
   static_cast<int>(counts_.destinations), ranks_.data() + counts_.sources, weights.data() + counts_.sources);
}

}  // namespace culprit::mpi
