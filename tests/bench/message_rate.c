/* Some 50 000 MPI calls a second in one rank: messages to itself, and work between them that takes as many
 * instructions in every run. */
#include <mpi.h>

enum { kRounds = 50000, kWork = 48000 }; /* some 60 us of work for three calls */

int main(int argc, char** argv) {
  MPI_Request requests[2];
  int sent = 0, received;
  volatile unsigned sink = 1;
  MPI_Init(&argc, &argv);
  for (int round = 0; round < kRounds; ++round) {
    unsigned value = sink;
    for (int i = 0; i < kWork; ++i) value = value * 1664525u + 1013904223u;
    sink = value;
    MPI_Irecv(&received, 1, MPI_INT, 0, round % 7, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, 0, round % 7, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
