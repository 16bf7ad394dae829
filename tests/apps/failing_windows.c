/* Windows that cannot be made, in a program that goes on; more windows than anybody watches; and then one
 * that works. Needs two ranks. Prints what it saw, which is the same whether it is measured or not. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FAILURES = 100, MANY = 70, LATE = 100 /* ms */ };
static int rank, failed;

static void expect_failure(int code) {
  failed += code != MPI_SUCCESS;
}

static int descriptors(void) {
  int count = 0;
  DIR* all = opendir("/proc/self/fd");
  while (readdir(all) != NULL) ++count;
  closedir(all);
  return count;
}

/* Of memory that a profiler shares between the processes of a window. */
static int tables(void) {
  char line[512];
  int count = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) count += strstr(line, "culprit-window") != NULL;
  fclose(maps);
  return count;
}

static void fail(void) {
  int memory = 0;
  MPI_Win window;
  MPI_Comm half, two;
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank, 0, &two);
  MPI_Comm_set_errhandler(two, MPI_ERRORS_RETURN);
  for (int i = 0; i < FAILURES; ++i) {
    expect_failure(MPI_Win_create(&memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    expect_failure(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_NULL, &window));
#ifdef OPEN_MPI /* MPICH makes some kind of window of it */
    expect_failure(MPI_Win_create_dynamic(MPI_INFO_NULL, two, &window));
#endif
  }
  MPI_Comm_free(&two);
  MPI_Comm_free(&half);
}

static void make_many(void) {
  MPI_Win window[MANY];
  int* base;
  for (int i = 0; i < MANY; ++i)
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window[i]);
  for (int i = 0; i < MANY; ++i) MPI_Win_free(&window[i]);
}

/* Rank 1 waits for rank 0's lock. */
static __attribute__((noinline)) void wait_for_lock(MPI_Win window) {
  struct timespec left = {.tv_sec = 0, .tv_nsec = LATE * 1000000L};
  const int one = 1;
  if (rank == 1) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_flush(0, window);
  if (rank == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    while (nanosleep(&left, &left) != 0) {
    }
  }
  MPI_Win_unlock(0, window);
}

int main(int argc, char** argv) {
  MPI_Win window;
  int* base;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  make_many(); /* what libraries open for themselves, they have opened then */
  const int before = descriptors();
  fail();
  make_many();
  const int left = descriptors() - before;
  MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  *base = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  wait_for_lock(window);
  MPI_Win_free(&window);
  printf("rank %d: %d failed, %d descriptors and %d tables left\n", rank, failed, left, tables());
  MPI_Finalize();
  return 0;
}
