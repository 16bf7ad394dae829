#include "mpi/predefined.hpp"

#include "mpi/real_call.hpp"

#include <atomic>

namespace culprit::mpi {

#ifdef OPEN_MPI
#define CULPRIT_PREDEFINED(type, name, object, constant)  \
  type name() {                                           \
    static std::atomic<void*> known{nullptr};             \
    void* handle = known.load(std::memory_order_relaxed); \
    if (handle == nullptr) {                              \
      handle = find_object(#object);                      \
      known.store(handle, std::memory_order_relaxed);     \
    }                                                     \
    return static_cast<type>(handle);                     \
  }
#else
#define CULPRIT_PREDEFINED(type, name, object, constant) \
  type name() {                                          \
    return constant;                                     \
  }
#endif

CULPRIT_PREDEFINED(MPI_Comm, world, ompi_mpi_comm_world, MPI_COMM_WORLD)
CULPRIT_PREDEFINED(MPI_Comm, self, ompi_mpi_comm_self, MPI_COMM_SELF)
CULPRIT_PREDEFINED(MPI_Comm, no_communicator, ompi_mpi_comm_null, MPI_COMM_NULL)
CULPRIT_PREDEFINED(MPI_Request, no_request, ompi_request_null, MPI_REQUEST_NULL)
CULPRIT_PREDEFINED(MPI_Message, message_of_nobody, ompi_message_no_proc, MPI_MESSAGE_NO_PROC)
CULPRIT_PREDEFINED(MPI_Datatype, bytes, ompi_mpi_byte, MPI_BYTE)
CULPRIT_PREDEFINED(MPI_Datatype, counts, ompi_mpi_uint64_t, MPI_UINT64_T)
CULPRIT_PREDEFINED(MPI_Op, sum, ompi_mpi_op_sum, MPI_SUM)
CULPRIT_PREDEFINED(MPI_Op, maximum, ompi_mpi_op_max, MPI_MAX)

void find_all_predefined() {
  world();
  self();
  no_communicator();
  no_request();
  message_of_nobody();
  bytes();
  counts();
  sum();
  maximum();
}

}  // namespace culprit::mpi
