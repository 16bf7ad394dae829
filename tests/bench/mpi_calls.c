/* The cost of MPI calls that have nothing to do, in ns per call: the smallest of many batches. One line per
 * call. */
#include <mpi.h>
#include <stdio.h>

enum { kBatches = 400, kCalls = 5000 };

#define MEASURE(name, ...)                                      \
  do {                                                          \
    double smallest = 1e9;                                      \
    for (int batch = 0; batch < kBatches; ++batch) {            \
      const double begin = MPI_Wtime();                         \
      for (int i = 0; i < kCalls; ++i) MPI_##name(__VA_ARGS__); \
      const double time = (MPI_Wtime() - begin) / kCalls * 1e9; \
      if (time < smallest) smallest = time;                     \
    }                                                           \
    printf(#name " %.1f\n", smallest);                          \
  } while (0)

int main(int argc, char** argv) {
  MPI_Request request = MPI_REQUEST_NULL;
  int flag;
  MPI_Init(&argc, &argv);
  MEASURE(Wait, &request, MPI_STATUS_IGNORE);
  MEASURE(Test, &request, &flag, MPI_STATUS_IGNORE);
  MEASURE(Iprobe, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  MPI_Win window;
  int *memory, value = 0;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &window);
  MPI_Win_lock_all(0, window);
  MEASURE(Put, &value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MEASURE(Win_flush, 0, window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
