// One rank sends itself messages on many call paths, from stacks of many depths: each is another place for
// who counts calls.
#include <mpi.h>
#include <stddef.h>

enum { kDepth = 11, kPlaces = 1 << kDepth, kRounds = 4 };

__attribute__((noinline)) static void send_from(int depth) {
  *(volatile char*)__builtin_alloca(16 * (size_t)(depth + 1)) = 0;
  double given = depth, taken;
  MPI_Request request;
  MPI_Isend(&given, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
  MPI_Recv(&taken, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Left or right: two places that call.
__attribute__((noinline)) static void descend(int depth, int place) {
  if (depth == kDepth) {
    send_from(place);
  } else if (place >> depth & 1) {
    descend(depth + 1, place);
    __asm__ volatile("# left");
  } else {
    descend(depth + 1, place);
    __asm__ volatile("# right");
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int round = 0; round < kRounds; ++round) {
    for (int place = 0; place < kPlaces; ++place) descend(0, place);
  }
  MPI_Finalize();
}
