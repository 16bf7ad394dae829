/* Hangs in the way that its first argument names, and ends itself after as many seconds as the second one
   says. Calls whose lines the test asks for are marked: the words after "here:" name them.
   tests/integration/test_stuck.py. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLarge = 1 << 20 };

static int rank, ranks;
static char* buffer;
static volatile double sink;

#define NOINLINE __attribute__((noinline))

NOINLINE static void ring_of_sends(void) {
  MPI_Send(buffer, kLarge, MPI_BYTE, (rank + 1) % ranks, 3, MPI_COMM_WORLD); /* here: ring */
  MPI_Recv(buffer, kLarge, MPI_BYTE, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

NOINLINE static void wait_for_first(void) {
  MPI_Recv(buffer, 1, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: missing */
}
NOINLINE static void missing_barrier(void) {
  if (rank == ranks - 1) wait_for_first();
  MPI_Barrier(MPI_COMM_WORLD); /* here: barrier */
}
/* The same within a communicator of the upper ranks. */
NOINLINE static void missing_in_part(void) {
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0, 0, &part);
  if (rank == 0) MPI_Recv(buffer, 1, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == ranks - 1) wait_for_first();
  MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_BYTE, MPI_BOR, part); /* here: part */
}

NOINLINE static void mismatched_tag(void) {
  if (rank == 0) MPI_Send(buffer, 8, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(buffer, 8, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: tag */
  MPI_Barrier(MPI_COMM_WORLD);
}
NOINLINE static void mismatched_communicator(void) {
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  if (rank == 0) MPI_Send(buffer, 8, MPI_BYTE, 1, 5, other);
  if (rank == 1)
    MPI_Recv(buffer, 8, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: communicator */
  MPI_Barrier(MPI_COMM_WORLD);
}
NOINLINE static void mismatched_requests(void) {
  const int other = 1 - rank;
  MPI_Request requests[2];
  if (rank > 1) return;
  MPI_Irecv(buffer, 8, MPI_BYTE, other, 5 + rank, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(buffer + 8, 8, MPI_BYTE, other, 5 + rank, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* here: requests */
}
NOINLINE static void partly_sent(void) {
  const int other = 1 - rank;
  MPI_Request requests[2];
  if (rank > 1) return;
  for (int i = 0; i < 2; ++i) MPI_Irecv(buffer + 8 * i, 8, MPI_BYTE, other, 5, MPI_COMM_WORLD, &requests[i]);
  MPI_Send(buffer + 16, 8, MPI_BYTE, other, 5, MPI_COMM_WORLD); /* one for two */
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);                /* here: two for one */
}
NOINLINE static void polls(void) {
  MPI_Request request;
  int done = 0;
  if (rank == 0) wait_for_first(); /* from itself: nobody sends */
  MPI_Irecv(buffer, 8, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &request);
  while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* here: polls */
}

NOINLINE static void wrong_root(void) {
  const int root = rank == 2 ? 1 : 0;
  MPI_Gather(buffer, 8, MPI_BYTE, buffer + kLarge, 8, MPI_BYTE, root, MPI_COMM_WORLD); /* here: root */
  MPI_Barrier(MPI_COMM_WORLD);
}
NOINLINE static void different_calls(void) {
  if (rank == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, buffer, 8, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  } else {
    MPI_Allreduce(MPI_IN_PLACE, buffer, kLarge, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  }
}

NOINLINE static void kept_lock(void) {
  MPI_Win window;
  MPI_Win_create(buffer, kLarge, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (rank == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Put(buffer + 8, 8, MPI_BYTE, 0, 8, 8, MPI_BYTE, window);
    MPI_Win_flush(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(buffer, 8, MPI_BYTE, 2, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: holder */
  if (rank == 2) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Put(buffer + 8, 8, MPI_BYTE, 0, 8, 8, MPI_BYTE, window);
    MPI_Win_unlock(0, window);
    MPI_Send(buffer, 8, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
NOINLINE static void never_posted(void) {
  MPI_Win window;
  MPI_Group all, target;
  const int first = 1;
  MPI_Win_create(buffer, kLarge, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &first, &target);
  if (rank == 0) {
    MPI_Win_start(target, 0, window);
    MPI_Put(buffer, 8, MPI_BYTE, 1, 8, 8, MPI_BYTE, window);
    MPI_Win_complete(window);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* here: post */
}

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold;
NOINLINE static void* lock_backwards(void* unused) {
  pthread_mutex_lock(&second_lock);
  pthread_barrier_wait(&both_hold);
  pthread_mutex_lock(&first_lock); /* here: backwards */
  sink += 1;
  return unused;
}
NOINLINE static void lock_forwards(void) {
  pthread_mutex_lock(&first_lock);
  pthread_barrier_wait(&both_hold);
  pthread_mutex_lock(&second_lock); /* here: forwards */
  sink += 1;
}
NOINLINE static void thread_deadlock(void) {
  pthread_t other;
  if (rank == 1) {
    pthread_barrier_init(&both_hold, NULL, 2);
    pthread_create(&other, NULL, lock_backwards, NULL);
    lock_forwards();
    pthread_join(other, NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

NOINLINE static void work(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) sink += 1; /* here: work */
}
NOINLINE static void endless_loop(void) {
  for (volatile long i = 0; i >= 0; i = (i + 1) % 1000) sink += 1; /* here: loop */
}
NOINLINE static void one_loops(void) {
  if (rank == ranks - 1) endless_loop();
  MPI_Allreduce(MPI_IN_PLACE, buffer, 8, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD); /* here: others */
}
NOINLINE static void one_sleeps(void) {
  if (rank == ranks - 1) {
    work(1); /* is sampled elsewhere before */
    pause(); /* here: asleep */
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
NOINLINE static void read_input(void) {
  int ends[2];
  char byte;
  if (rank == 0 && pipe(ends) == 0 && read(ends[0], &byte, 1) == 1) sink += byte; /* here: input */
}
/* Returns to main, and so to MPI_Finalize. */
NOINLINE static void one_finalizes(void) {
  if (rank != 1) MPI_Barrier(MPI_COMM_WORLD); /* here: barrier without the one */
}
NOINLINE static void one_stops(void) {
  if (rank == ranks - 1) {
    work(1); /* long enough to be sampled on a busy machine */
    raise(SIGSTOP);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* here: barrier of the others */
}
NOINLINE static void slow_but_moving(void) {
  for (int i = 0; i < 1000; ++i) {
    work(rank == ranks - 1 ? 0.6 : 0.1);
    MPI_Allreduce(MPI_IN_PLACE, buffer, 8, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  }
}
/* A pipeline in which each waits for the one before it: long chains of waits, and all of it moves. */
NOINLINE static void pipeline(void) {
  for (int i = 0; i < 1000; ++i) {
    if (rank > 0) MPI_Recv(buffer, 8, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    work(0.2);
    if (rank + 1 < ranks) MPI_Ssend(buffer, 8, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
  }
}

/* Polls once and computes for long: while it computes, it does not wait for what it polled for. */
NOINLINE static void polls_and_computes(void) {
  MPI_Request request;
  int done;
  if (rank == 0) MPI_Irecv(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 1000 && rank < 2; ++i) {
    if (rank == 1) {
      MPI_Recv(buffer, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      work(3);
      MPI_Send(buffer, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    }
  }
}

/* Rank 1 is in MPI_Reduce for seconds without a look at other messages, as this is what adds up the data of
   rank 2. Rank 0 waits for one of them, and enters MPI_Reduce then. */
static double adding;
static void add_slowly(void* in, void* sum, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)sum)[i] += ((int*)in)[i];
  work(adding);
}
NOINLINE static void reduce_slowly(void) {
  static MPI_Op add;
  int one = 1, sum = 0;
  if (adding == 0) MPI_Op_create(add_slowly, 1, &add);
  adding = 10;
  MPI_Reduce(&one, &sum, 1, MPI_INT, add, 1, MPI_COMM_WORLD);
}
static MPI_Comm talk;
NOINLINE static void posted_together(void) {
  MPI_Request requests[4];
  for (int i = 0; i < 1000; ++i) {
    if (rank == 0) work(1);
    for (int part = 0; part < 4 && rank == 0; ++part)
      MPI_Irecv(buffer + part * kLarge, kLarge, MPI_BYTE, 1, 5, talk, &requests[part]);
    if (rank == 1) MPI_Isend(buffer, kLarge, MPI_BYTE, 0, 5, talk, &requests[0]);
    if (rank == 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    reduce_slowly();
    for (int part = 1; part < 4 && rank == 1; ++part)
      MPI_Isend(buffer, kLarge, MPI_BYTE, 0, 5, talk, &requests[part]);
    if (rank < 2) MPI_Waitall(rank == 0 ? 3 : 4, requests + (rank == 0), MPI_STATUSES_IGNORE);
  }
}
/* The same after a cancelled receive, on a communicator with a handle that another one had, on which rank 0
   received more than it will on this one. Rank 1 has another handle. */
NOINLINE static void posted_after_others(void) {
  MPI_Comm first, own = MPI_COMM_NULL;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  for (int i = 0; i < 8; ++i) {
    if (rank == 0) MPI_Recv(buffer, 8, MPI_BYTE, 1, 5, first, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(buffer, 8, MPI_BYTE, 0, 5, first);
  }
  MPI_Comm_free(&first);
  if (rank == 1) MPI_Comm_dup(MPI_COMM_SELF, &own);
  MPI_Comm_dup(MPI_COMM_WORLD, &talk);
  if (rank == 0) {
    MPI_Irecv(buffer, 8, MPI_BYTE, 1, 5, talk, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  posted_together();
}
NOINLINE static void started_again(void) {
  MPI_Request request;
  if (rank == 1) MPI_Send_init(buffer, kLarge, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 1000; ++i) {
    if (rank == 1) MPI_Start(&request);
    if (rank == 0) {
      if (i > 1) work(1);
      MPI_Recv(buffer, kLarge, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (i > 1) reduce_slowly();
    if (rank == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/* Of four receives one message comes, of four starts of a request three. */
NOINLINE static void posted_in_vain(void) {
  MPI_Request requests[4];
  if (rank == 1) MPI_Send(buffer, 8, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(buffer, 8, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 4 && rank == 0; ++i)
    MPI_Irecv(buffer + 8 * i, 8, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[i]);
  if (rank == 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  if (rank == 0) MPI_Wait(&requests[1], MPI_STATUS_IGNORE); /* here: posted */
}
NOINLINE static void started_in_vain(void) {
  MPI_Request request;
  if (rank == 1) {
    for (int i = 0; i < 3; ++i) MPI_Send(buffer, 8, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    MPI_Recv(buffer, 8, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 0) {
    MPI_Recv_init(buffer, 8, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 4; ++i) {
      MPI_Startall(1, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: started */
    }
  }
}

static const struct {
  const char* name;
  void (*hang)(void);
} ways[] = {
    {"ring", ring_of_sends},
    {"barrier", missing_barrier},
    {"part", missing_in_part},
    {"tag", mismatched_tag},
    {"communicator", mismatched_communicator},
    {"requests", mismatched_requests},
    {"partly", partly_sent},
    {"polls", polls},
    {"root", wrong_root},
    {"different", different_calls},
    {"lock", kept_lock},
    {"post", never_posted},
    {"threads", thread_deadlock},
    {"loop", one_loops},
    {"asleep", one_sleeps},
    {"finalize", one_finalizes},
    {"stopped", one_stops},
    {"slow", slow_but_moving},
    {"pipeline", pipeline},
    {"polling", polls_and_computes},
    {"posted", posted_together},
    {"posted-after", posted_after_others},
    {"started", started_again},
    {"posted-in-vain", posted_in_vain},
    {"started-in-vain", started_in_vain},
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) return 2;
  alarm((unsigned)atoi(argv[2]));
  buffer = calloc(4, kLarge);
  talk = MPI_COMM_WORLD;
  if (strcmp(argv[1], "input") == 0) read_input(); /* no call since MPI_Init */
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(argv[1], ways[i].name) == 0) ways[i].hang();
  }
  MPI_Finalize();
  return 0;
}
