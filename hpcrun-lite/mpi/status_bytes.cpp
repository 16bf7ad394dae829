#include "mpi/status_bytes.hpp"

#include "mpi/predefined.hpp"
#include "mpi/real_call.hpp"

namespace culprit::mpi {

bool is_truncation_failure(int error) {
  int sort = MPI_SUCCESS;
  return CULPRIT_MPI(PMPI_Error_class)(error, &sort) == MPI_SUCCESS && sort == MPI_ERR_TRUNCATE;
}

bool was_cancelled(const MPI_Status& status) {
  int cancelled = 0;
  CULPRIT_MPI(PMPI_Test_cancelled)(&status, &cancelled);
  return cancelled != 0;
}

bool is_complete(MPI_Request request, MPI_Status& status) {
  int flag = 0;
  return CULPRIT_MPI(PMPI_Request_get_status)(request, &flag, &status) == MPI_SUCCESS && flag != 0;
}

void find_status_fields() {
  constexpr int kAmount = 0x12345678;
  MPI_Status status{};
  if (CULPRIT_MPI(PMPI_Status_set_elements)(&status, bytes(), kAmount) != MPI_SUCCESS) return;
  status_has_bytes.store(status_field::bytes(status) == kAmount, std::memory_order_relaxed);
}

std::uint64_t counted_bytes(const MPI_Status& status, std::uint64_t posted) {
  int count = 0;
  CULPRIT_MPI(PMPI_Get_count)(&status, bytes(), &count);
  return count >= 0 ? static_cast<std::uint64_t>(count) : posted;  // negative: does not fit an int
}

}  // namespace culprit::mpi
