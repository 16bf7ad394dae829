/* The cost of calls on a window that two processes share and only one of them uses, in ns per call: the
 * smallest of many batches. One line per kind; those of pairs are half of what the pair costs. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { kBatches = 2000, kCalls = 500, kIdle = 1000 /* us */ };

#define MEASURE(name, calls, ...)                                       \
  do {                                                                  \
    double smallest = 1e9;                                              \
    for (int batch = 0; batch < kBatches; ++batch) {                    \
      const double begin = MPI_Wtime();                                 \
      for (int i = 0; i < kCalls; ++i) (void)(__VA_ARGS__);             \
      const double time = (MPI_Wtime() - begin) / kCalls / (calls)*1e9; \
      if (time < smallest) smallest = time;                             \
    }                                                                   \
    printf(name " %.1f\n", smallest);                                   \
  } while (0)

/* On this process's own memory, which takes the library least; whose it is makes no difference to a profiler.
 */
static void use(int rank, MPI_Win window) {
  const int value = 0;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  MPI_Win_flush(rank, window);
  MEASURE("Put", 1, MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, window));
  MEASURE("Win_flush", 1, MPI_Win_flush(rank, window));
  MPI_Win_unlock(rank, window);
  MEASURE("Win_lock+unlock", 2, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window),
          MPI_Win_unlock(rank, window));
  MEASURE("shared-lock+unlock", 2, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window),
          MPI_Win_unlock(rank, window));
  MEASURE("Win_lock+Put+unlock", 3, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window),
          MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, window), MPI_Win_unlock(rank, window));
}

int main(int argc, char** argv) {
  MPI_Win window;
  MPI_Request request;
  int rank, done = 0, *memory;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  if (rank == 0) use(rank, window);
  /* The other one must not take a processor, nor its caches, meanwhile. */
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) usleep(kIdle);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
