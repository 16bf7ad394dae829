/* Rank 1 works twice as long as the others, who wait for it in MPI_Allreduce. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

__attribute__((noinline)) static long work(double seconds) {
  long sum = 0;
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  const double end = (double)time.tv_sec + 1e-9 * (double)time.tv_nsec + seconds;
  do {
    for (long i = 0; i < 2000; ++i) sum += i ^ sum;
    clock_gettime(CLOCK_MONOTONIC, &time);
  } while ((double)time.tv_sec + 1e-9 * (double)time.tv_nsec < end);
  return sum;
}

int main(int argc, char** argv) {
  int rank = 0;
  long sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 5; ++i) {
    const long own = work(rank == 1 ? 0.4 : 0.2);
    MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  if (rank == 0) printf("%d\n", sum != 0);
  return 0;
}
