// Work on all ranks, more of it on the last one, in functions, a file and regions whose names a test replaces
// in the built program by others as long, which no compiler would take (test_odd_names.py).
//   odd_names [ANYTHING...]
#include <culprit.h>
#include <mpi.h>
#include <time.h>

#line 1 "odd_file_name_to_be_replaced.c"
static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static volatile double result;

#define WORK                                                               \
  for (const double end = cpu_seconds() + seconds; cpu_seconds() < end;) { \
    for (int i = 0; i < 20000; ++i) result = result * 0.5 + i;             \
  }

__attribute__((noinline)) void odd_function_name_to_be_replaced_1(double seconds) {
  WORK
}
__attribute__((noinline)) void odd_function_name_to_be_replaced_2(double seconds) {
  WORK
}
__attribute__((noinline)) void odd_function_name_to_be_replaced_3(double seconds) {
  WORK
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double more = rank == ranks - 1 ? 3 : 1;
  for (int iteration = 0; iteration < 10; ++iteration) {
    culprit_iteration(iteration);
    culprit_region_begin("odd_region_name_to_be_replaced_1");
    odd_function_name_to_be_replaced_1(0.01 * more);
    odd_function_name_to_be_replaced_2(0.01);
    culprit_region_end("odd_region_name_to_be_replaced_1");
    culprit_region_begin("odd_region_name_to_be_replaced_2");
    odd_function_name_to_be_replaced_3(0.01 * more);
    int token = iteration;
    if (rank == ranks - 1) {
      for (int to = 0; to < rank; ++to) MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&token, 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    culprit_region_end("odd_region_name_to_be_replaced_2");
  }
  MPI_Finalize();
  return 0;
}
