/* MPI_THREAD_MULTIPLE: on each of 2 ranks, some threads send and receive at the same time, each with the
 * thread of its number on the other rank, its own tag and in part a communicator of its own; handles of
 * requests wander between them. Prints the number of calls that each thread made, in rank 0. Usage:
 * concurrent_calls ROUNDS */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 4, kAtOnce = 3 };

static int rank, rounds;
static MPI_Comm lane[kThreads];

static void* exchange(void* which) {
  const int number = *(const int*)which;
  for (int i = 0; i < rounds; ++i) {
    MPI_Request request[2 * kAtOnce];
    MPI_Comm comm = i % 2 ? lane[number] : MPI_COMM_WORLD;
    int out[kAtOnce], in[kAtOnce], done = 0;
    for (int k = 0; k < kAtOnce; ++k) {
      out[k] = i;
      MPI_Irecv(&in[k], 1, MPI_INT, 1 - rank, 10 * number + k, comm, &request[k]);
      MPI_Isend(&out[k], 1, MPI_INT, 1 - rank, 10 * number + k, comm, &request[kAtOnce + k]);
    }
    if (i % 3) MPI_Waitall(2 * kAtOnce, request, MPI_STATUSES_IGNORE);
    while (i % 3 == 0 && !done) MPI_Testall(2 * kAtOnce, request, &done, MPI_STATUSES_IGNORE);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, number[kThreads];
  pthread_t thread[kThreads];
  rounds = argc > 1 ? atoi(argv[1]) : 100;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &lane[i]);
  for (int i = 0; i < kThreads; ++i) {
    number[i] = i;
    pthread_create(&thread[i], NULL, exchange, &number[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(thread[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&lane[i]);
  MPI_Finalize();
  if (rank == 0) printf("%d\n", rounds * (2 * kAtOnce + 1));
  return 0;
}
