/* Groups of ranks, each with a master that deals tasks out to whoever asks first; after every few tasks the
 * masters exchange with their neighbours, and wait for each other. Tasks differ in length, those of the first
 * group are longer. Usage: masters GROUP TASKS: ranks of a group, tasks of each group. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kAsk = 1, kTask, kHalo, kBetween = 16 };

static __attribute__((noinline)) void work_on(double seconds) {
  const double end = MPI_Wtime() + seconds;
  volatile double sum = 0;
  while (MPI_Wtime() < end) {
    for (int i = 1; i < 200; ++i) sum += 1.0 / i;
  }
}

static __attribute__((noinline)) void exchange(MPI_Comm masters, int done) {
  int rank, ranks, theirs;
  MPI_Comm_rank(masters, &rank);
  MPI_Comm_size(masters, &ranks);
  MPI_Sendrecv(&done, 1, MPI_INT, (rank + 1) % ranks, kHalo, &theirs, 1, MPI_INT, (rank + ranks - 1) % ranks,
               kHalo, masters, MPI_STATUS_IGNORE);
}

/* Microseconds of each task; 0 sends the workers home. */
static __attribute__((noinline)) void deal_out(MPI_Comm group, MPI_Comm masters, int tasks, int longer) {
  int workers, nothing;
  MPI_Comm_size(group, &workers);
  for (int task = 0; task < tasks + workers - 1; ++task) {
    const int length = task < tasks ? 20 + task * 37 % 180 + (longer ? 100 : 0) : 0;
    MPI_Status asker;
    MPI_Recv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, kAsk, group, &asker);
    MPI_Send(&length, 1, MPI_INT, asker.MPI_SOURCE, kTask, group);
    if (task < tasks && task % kBetween == 0) exchange(masters, task);
  }
}

static __attribute__((noinline)) int serve(MPI_Comm group) {
  int done = 0, length;
  for (;; ++done) {
    MPI_Send(&done, 1, MPI_INT, 0, kAsk, group);
    MPI_Recv(&length, 1, MPI_INT, 0, kTask, group, MPI_STATUS_IGNORE);
    if (length == 0) return done;
    work_on(1e-6 * length);
  }
}

int main(int argc, char** argv) {
  int rank, place, done = 0, sum;
  MPI_Comm group, masters;
  MPI_Init(&argc, &argv);
  const int size = argc > 1 ? atoi(argv[1]) : 4, tasks = argc > 2 ? atoi(argv[2]) : 1000;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank / size, rank, &group);
  MPI_Comm_rank(group, &place);
  MPI_Comm_split(MPI_COMM_WORLD, place == 0 ? 0 : MPI_UNDEFINED, rank, &masters);
  if (place == 0) {
    deal_out(group, masters, tasks, rank == 0);
  } else {
    done = serve(group);
  }
  MPI_Reduce(&done, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d tasks\n", sum);
  MPI_Finalize();
  return 0;
}
