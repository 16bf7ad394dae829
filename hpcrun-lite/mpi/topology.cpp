#include "mpi/topology.hpp"

#include "measurement/trace_operation.hpp"
#include "mpi/real_call.hpp"

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

Neighbors::Counts Neighbors::count(MPI_Comm comm) {
  Counts counts{.kind = MPI_UNDEFINED, .dimensions = 0, .sources = 0, .destinations = 0};
  CULPRIT_MPI(PMPI_Topo_test)(comm, &counts.kind);
  int sources = 0;
  int destinations = 0;
  if (counts.kind == MPI_CART) {
    CULPRIT_MPI(PMPI_Cartdim_get)(comm, &counts.dimensions);
    sources = destinations = 2 * counts.dimensions;
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
