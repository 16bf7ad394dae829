#pragma once

#include <mpi.h>

// MPI's predefined handles. Those of Open MPI are addresses of objects in its library, which this one does
// not link: they are looked up in the program.
namespace culprit::mpi {

MPI_Comm world();
MPI_Comm self();
MPI_Comm no_communicator();
MPI_Request no_request();
MPI_Message message_of_nobody();  ///< MPI_MESSAGE_NO_PROC
MPI_Datatype bytes();             ///< MPI_BYTE
MPI_Datatype counts();            ///< MPI_UINT64_T
MPI_Op sum();
MPI_Op maximum();

/// Looks all of them up, in MPI_Init: later, that might wait for the loader (find_all_calls()).
void find_all_predefined();

}  // namespace culprit::mpi
