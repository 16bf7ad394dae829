/* Truth: programs that are wrong, or end badly. Each must leave a usable measurement. Usage:
 * broken LOGDIR [seconds of work] [unmatched|exit|kill|window|threads]; the log is written where the process
 * lives long enough. Work and waiting are half of the time each, so that what was lost can be seen. */
#include "truth_program.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { kWritten = 1000 }; /* ms */
static double seconds = 1;

/* Rank 0 works, all others wait for it. */
static __attribute__((noinline)) void lead_and_wait(void) {
  for (int i = 0; i < 10; ++i) {
    if (rank == 0) truth_compute(100 * seconds);
    align();
  }
}

/* Messages that nobody receives, and a receive that nobody sends for: cancelled, so that the program can end.
 */
static void unmatched(void) {
  const int word = 1;
  int never;
  MPI_Request request;
  lead_and_wait();
  for (int i = 0; i < 3; ++i) {
    CALL(MPI_Send, &word, 1, MPI_INT, (rank + 1) % ranks, 100 + i, MPI_COMM_WORLD);
    truth_sends(0, (rank + 1) % ranks, 100 + i, WORLD, sizeof word, TRUTH_EAGER);
  }
  CALL(MPI_Irecv, &never, 1, MPI_INT, (rank + 1) % ranks, 200, MPI_COMM_WORLD, &request);
  truth_receives(1, (rank + 1) % ranks, 200, WORLD, sizeof never);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The last rank leaves in the middle, without a word to MPI; the others wait for it for ever. */
static void dies(int signal) {
  lead_and_wait();
  if (rank == ranks - 1) {
    truth_compute(200 * seconds);
    truth_write();
    if (signal == 0) exit(1);
    kill(getpid(), signal);
  }
  align();
}

/* Windows that are never freed, one of them with an epoch that is never closed. */
static void window_left(void) {
  MPI_Win win[2];
  int* memory[2];
  for (int i = 0; i < 2; ++i) {
    CALL(MPI_Win_allocate, sizeof *memory[i], sizeof *memory[i], MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i],
         &win[i]);
    truth_collective(TRUTH_CREATE, WORLD, 0, 0);
    truth_window(1 + i, WORLD);
    CALL(MPI_Win_fence, 0, win[i]);
    truth_fence(1 + i);
  }
  lead_and_wait();
  CALL(MPI_Win_fence, MPI_MODE_NOSUCCEED, win[0]);
  truth_fence(1);
  truth_write(); /* MPICH over UCX aborts in MPI_Finalize, and kills the other processes, which until then
                    have written what they recorded: a quarter of a second later at most, if there is a
                    processor */
  truth_sleep(kWritten);
}

enum { kThreads = 3 };
static MPI_Comm lane[kThreads];

/* Each thread of a rank has a communicator of its own. Rank 0's threads work, the others' wait for them. */
static void* in_lane(void* which) {
  const int number = *(const int*)which;
  for (int i = 0; i < 10; ++i) {
    if (rank == 0) truth_compute(100 * seconds / kThreads);
    CALL(MPI_Barrier, lane[number]);
    truth_collective(TRUTH_BARRIER, 1 + number, 0, 0);
  }
  return NULL;
}

static void threads(void) {
  pthread_t thread[kThreads];
  int number[kThreads];
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &lane[i]);
  for (int i = 0; i < kThreads; ++i) {
    number[i] = i;
    pthread_create(&thread[i], NULL, in_lane, &number[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(thread[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&lane[i]);
}

int main(int argc, char** argv) {
  const char* how = argc > 3 ? argv[3] : "unmatched";
  truth_open(argc > 1 ? argv[1] : ".");
  if (argc > 2) seconds = atof(argv[2]);
  int provided;
  const int wanted = strcmp(how, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  CALL(MPI_Init_thread, &argc, &argv, wanted, &provided);
  truth_collective(TRUTH_INIT, WORLD, 0, 0);
  truth_begin_world(2);
  if (strcmp(how, "unmatched") == 0) unmatched();
  if (strcmp(how, "exit") == 0) dies(0);
  if (strcmp(how, "kill") == 0) dies(SIGKILL);
  if (strcmp(how, "window") == 0) window_left();
  if (strcmp(how, "threads") == 0 && provided == MPI_THREAD_MULTIPLE) threads();
  scenarios_run = 1;
  return truth_end();
}
