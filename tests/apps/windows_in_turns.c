/* A target that asks several windows in turns whether their epochs are complete, which its origin completes
 * one after the other, each late. Prints when, in ns of CLOCK_MONOTONIC:
 *   origin WINDOW PUT-EXIT COMPLETE-ENTER PREEMPTED     target WINDOW BEGIN FOUND PREEMPTED
 * where BEGIN is when the target had nothing else to wait for any more, and PREEMPTED how often the thread
 * had been taken off its processor until then. Needs two ranks on one host. */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

enum { kWindows = 4, kDelay = 40 /* ms */ };

static MPI_Win window[kWindows];
static int* memory[kWindows];

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long preemptions(void) {
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static void complete_late(MPI_Group target) {
  const int word = 1;
  for (int i = 0; i < kWindows; ++i) {
    struct timespec left = {.tv_sec = 0, .tv_nsec = kDelay * 1000000L};
    MPI_Win_start(target, 0, window[i]);
    MPI_Put(&word, 1, MPI_INT, 1, 0, 1, MPI_INT, window[i]);
    const long long put = now();
    while (nanosleep(&left, &left) != 0) {
    }
    const long long end = now();
    printf("origin %d %lld %lld %ld\n", i, put, end, preemptions());
    MPI_Win_complete(window[i]);
  }
}

static void ask_in_turns(MPI_Group origin) {
  int found[kWindows] = {0};
  for (int i = 0; i < kWindows; ++i) MPI_Win_post(origin, 0, window[i]);
  long long begin = now();
  for (int left = kWindows, i = 0; left > 0; i = (i + 1) % kWindows) {
    if (found[i]) continue;
    MPI_Win_test(window[i], &found[i]);
    if (!found[i]) continue;
    const long long end = now();
    printf("target %d %lld %lld %ld\n", i, begin, end, preemptions());
    begin = end;
    --left;
  }
}

int main(int argc, char** argv) {
  int rank;
  MPI_Group all, other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int peer = 1 - rank;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &peer, &other);
  for (int i = 0; i < kWindows; ++i)
    MPI_Win_allocate(sizeof **memory, sizeof **memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &window[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) complete_late(other);
  if (rank == 1) ask_in_turns(other);
  for (int i = 0; i < kWindows; ++i) MPI_Win_free(&window[i]);
  MPI_Group_free(&all);
  MPI_Group_free(&other);
  MPI_Finalize();
  return 0;
}
