// Two programs whose iterations are a loop that no procedure stands for, with the structure of well-known
// ones:
//   hydro N: as LULESH, everything is inlined into main; each time step reduces its length, exchanges halos
//            and works.
//   solver N: as HPCG, a solver is called a few times for tests, then for the measured sets; its own loop
//             iterates N times in each set.
// Both spend about 4 ms per iteration, one rank more than the other.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static double halo[2][64];

static inline __attribute__((always_inline)) void work(double seconds) {
  for (const double end = MPI_Wtime() + seconds * (rank == 0 ? 1.3 : 1); MPI_Wtime() < end;) continue;
}

static inline __attribute__((always_inline)) void exchange(void) {
  MPI_Request requests[2];
  MPI_Irecv(halo[0], 64, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(halo[1], 64, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static double reduced(double value) {
  double sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

static __attribute__((noinline)) double solve(int iterations) {
  double residual = reduced(1);
  for (int k = 0; k < iterations; ++k) {
    exchange();
    work(0.003);
    residual += reduced(k);
    work(0.001);
    residual += reduced(k + 1);
  }
  return residual;
}

static __attribute__((noinline)) double test_solver(void) {
  double residual = 0;
  for (int test = 0; test < 4; ++test) residual += solve(3);
  return residual;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int number = argc > 2 ? atoi(argv[2]) : 50;
  double result = 0;
  if (argc > 1 && strcmp(argv[1], "hydro") == 0) {
    for (int step = 0; step < number; ++step) {
      result += reduced(step);
      exchange();
      work(0.002);
      exchange();
      work(0.002);
    }
  } else {
    result = test_solver();
    for (int set = 0; set < 3; ++set) result += solve(number);
  }
  if (result == 1) puts("");
  MPI_Finalize();
}
