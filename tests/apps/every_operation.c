/* Every sort of operation that a time line knows, on 4 ranks. Each rank writes, for each of its MPI calls in
 * order, what a trace should hold of it to DIRECTORY/expected-RANK: one line per call, operations separated
 * by "|", each of them
 *   [+|-]KIND [on=COMMUNICATOR] [peer=RANK] [tag=N] [bytes=N] [received=N] [id=NAME] [made=NAME] [group=R,R…]
 * [FLAG…]
 * + begins only, - completes only; names are the program's own. A line "any" begins calls that return at the
 * first of several operations. Lines "members NAME RANK…" say who is in a communicator. Usage:
 * every_operation DIRECTORY */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRanks = 4, kMany = 10000 };

static FILE* expected;
static int rank, left, right;
static int out[kMany], in[kMany];
static MPI_Comm world;

static void E(const char* format, ...) {
  va_list list;
  va_start(list, format);
  vfprintf(expected, format, list);
  va_end(list);
  fputc('\n', expected);
}

static void align(void) {
  MPI_Barrier(world);
  E("barrier on=world");
}

static void blocking(void) {
  MPI_Status status;
  char space[1000];
  int size;
  void* attached;
  if (rank == 0) {
    MPI_Send(out, 10, MPI_INT, 1, 1, world);
    E("send on=world peer=1 tag=1 bytes=40");
    MPI_Ssend(out, 3, MPI_INT, 1, 2, world);
    E("send_synchronous on=world peer=1 tag=2 bytes=12");
    MPI_Buffer_attach(space, sizeof space);
    MPI_Bsend(out, 4, MPI_INT, 1, 3, world);
    E("send_buffered on=world peer=1 tag=3 bytes=16");
    MPI_Buffer_detach(&attached, &size);
    E("");
    align();
    MPI_Rsend(out, 0, MPI_INT, 1, 4, world);
    E("send on=world peer=1 tag=4 bytes=0");
  } else if (rank == 1) {
    MPI_Request request;
    MPI_Recv(in, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
    E("receive on=world peer=0 tag=1 bytes=40");
    MPI_Recv(in, 100, MPI_INT, 0, 2, world, &status);
    E("receive on=world peer=0 tag=2 bytes=12");
    MPI_Recv(in, 100, MPI_INT, 0, 3, world, MPI_STATUS_IGNORE);
    E("receive on=world peer=0 tag=3 bytes=16");
    MPI_Irecv(in, 1, MPI_INT, 0, 4, world, &request);
    E("+receive on=world peer=0 tag=4 id=ready");
    align();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    E("-receive on=world peer=0 tag=4 bytes=0 id=ready");
  } else {
    align();
  }
  MPI_Sendrecv(out, 2, MPI_INT, right, 5, in, 9, MPI_INT, left, 5, world, MPI_STATUS_IGNORE);
  E("send on=world peer=%d tag=5 bytes=8 | receive on=world peer=%d tag=5 bytes=8", right, left);
  MPI_Sendrecv_replace(in, 3, MPI_INT, right, 6, left, 6, world, &status);
  E("send on=world peer=%d tag=6 bytes=12 | receive on=world peer=%d tag=6 bytes=12", right, left);
  MPI_Sendrecv(out, 2, MPI_INT, MPI_PROC_NULL, 5, in, 9, MPI_INT, MPI_PROC_NULL, 5, world, MPI_STATUS_IGNORE);
  E("send on=world tag=5 bytes=0 | receive on=world tag=5 bytes=0");
}

static void probes(void) {
  MPI_Message message;
  MPI_Request request;
  MPI_Status status;
  int found = 0;
  for (int i = 0; i < 5; ++i) {
    MPI_Request sent;
    MPI_Isend(out, 5, MPI_INT, right, 10 + i, world, &sent);
    E("+send on=world peer=%d tag=%d bytes=20 id=probed%d", right, 10 + i, i);
    MPI_Request_free(&sent);
    E("");
  }
  MPI_Probe(left, 10, world, MPI_STATUS_IGNORE);
  E("probe on=world peer=%d tag=10 bytes=20", left);
  MPI_Recv(in, 5, MPI_INT, left, 10, world, MPI_STATUS_IGNORE);
  E("receive on=world peer=%d tag=10 bytes=20", left);
  MPI_Mprobe(MPI_ANY_SOURCE, 11, world, &message, MPI_STATUS_IGNORE);
  E("probe on=world peer=%d tag=11 bytes=20 id=m1", left);
  MPI_Mrecv(in, 5, MPI_INT, &message, MPI_STATUS_IGNORE);
  E("receive_matched on=world peer=%d tag=11 bytes=20 id=m1", left);
  MPI_Mprobe(left, 12, world, &message, &status);
  E("probe on=world peer=%d tag=12 bytes=20 id=m2", left);
  MPI_Imrecv(in, 5, MPI_INT, &message, &request);
  E("+receive_matched on=world peer=%d tag=12 id=m2", left);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  E("-receive_matched on=world peer=%d tag=12 bytes=20 id=m2", left);
  while (!found) MPI_Iprobe(MPI_ANY_SOURCE, 13, world, &found, MPI_STATUS_IGNORE);
  E("probe on=world peer=%d tag=13 bytes=20", left);
  MPI_Recv(in, 5, MPI_INT, left, 13, world, MPI_STATUS_IGNORE);
  E("receive on=world peer=%d tag=13 bytes=20", left);
  for (found = 0; !found;) MPI_Improbe(left, 14, world, &found, &message, &status);
  E("probe on=world peer=%d tag=14 bytes=20 id=m3", left);
  MPI_Mrecv(in, 5, MPI_INT, &message, &status);
  E("receive_matched on=world peer=%d tag=14 bytes=20 id=m3", left);
  align();
}

/* Calls that are done at once, between polls in vain */
static void polls(void) {
  for (int i = 0; i < 100; ++i) {
    int found = 0;
    MPI_Iprobe(left, 15, world, &found, MPI_STATUS_IGNORE);
    MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 15, world);
    E("send on=world tag=15 bytes=0");
    MPI_Iprobe(MPI_PROC_NULL, 15, world, &found, MPI_STATUS_IGNORE);
    E("probe on=world tag=15 bytes=0");
  }
}

static void nonblocking(void) {
  MPI_Request request[4];
  MPI_Status status[4];
  int done = 0, index, count, indices[4];
  /* Waitall without statuses, with a request that is null */
  request[1] = MPI_REQUEST_NULL;
  MPI_Irecv(in, 9, MPI_INT, MPI_ANY_SOURCE, 20, world, &request[0]);
  E("+receive on=world peer=any tag=20 id=a");
  MPI_Issend(out, 6, MPI_INT, right, 20, world, &request[2]);
  E("+send_synchronous on=world peer=%d tag=20 bytes=24 id=b", right);
  MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
  E("-receive on=world peer=%d tag=20 bytes=24 id=a | -send_synchronous on=world peer=%d tag=20 bytes=24 "
    "id=b",
    left, right);
  MPI_Waitall(3, request, status);
  E("");
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  E("");
  /* Polls */
  MPI_Irecv(in, 9, MPI_INT, left, MPI_ANY_TAG, world, &request[0]);
  E("+receive on=world peer=%d tag=any id=c", left);
  MPI_Send(out, 1, MPI_INT, right, 21, world);
  E("send on=world peer=%d tag=21 bytes=4", right);
  while (!done) MPI_Test(&request[0], &done, MPI_STATUS_IGNORE);
  E("-receive on=world peer=%d tag=21 bytes=4 id=c", left);
  /* Any, some and all of several */
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 3; ++i) {
      MPI_Irecv(in + i, 1, MPI_INT, left, 30 + i, world, &request[i]);
      E("+receive on=world peer=%d tag=%d id=r%d.%d", left, 30 + i, round, i);
    }
    for (int i = 0; i < 3; ++i) {
      MPI_Send(out, 1, MPI_INT, right, 30 + i, world);
      E("send on=world peer=%d tag=%d bytes=4", right, 30 + i);
    }
    for (int finished = 0; finished < 3;) {
      count = 1;
      if (round == 0) MPI_Waitany(3, request, &indices[0], MPI_STATUS_IGNORE);
      if (round == 1) MPI_Waitsome(3, request, &count, indices, MPI_STATUSES_IGNORE);
      if (round == 2) MPI_Testany(3, request, &indices[0], &done, &status[0]);
      if (round == 2) count = done ? 1 : 0;
      if (round == 3) MPI_Testsome(3, request, &count, indices, status);
      if (round == 4) MPI_Testall(3, request, &done, MPI_STATUSES_IGNORE);
      if (round == 4) count = done ? 3 : 0;
      if (count == 0) continue;
      if (round != 4) fprintf(expected, "any ");
      for (int i = 0; i < count; ++i) {
        const int which = round == 4 ? i : indices[i];
        fprintf(expected, "%s-receive on=world peer=%d tag=%d bytes=4 id=r%d.%d", i ? " | " : "", left,
                30 + which, round, which);
      }
      fputc('\n', expected);
      finished += count;
    }
  }
  MPI_Waitany(3, request, &index, status);
  E("any");
  /* A status that is asked for: the operation is complete there */
  MPI_Irecv(in, 9, MPI_INT, left, 22, world, &request[0]);
  E("+receive on=world peer=%d tag=22 id=d", left);
  MPI_Send(out, 1, MPI_INT, right, 22, world);
  E("send on=world peer=%d tag=22 bytes=4", right);
  for (done = 0; !done;) MPI_Request_get_status(request[0], &done, MPI_STATUS_IGNORE);
  E("-receive on=world peer=%d tag=22 bytes=4 id=d", left);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  E("");
  MPI_Irecv(in, 9, MPI_INT, left, 23, world, &request[0]);
  E("+receive on=world peer=%d tag=23 id=e", left);
  MPI_Cancel(&request[0]);
  E("");
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  E("-receive on=world peer=%d tag=23 bytes=0 id=e cancelled", left);
  MPI_Irecv(in, 9, MPI_INT, left, 24, world, &request[0]);
  E("+receive on=world peer=%d tag=24 id=given-up", left);
  MPI_Cancel(&request[0]);
  E("");
  MPI_Request_free(&request[0]);
  E("-receive on=world peer=%d tag=24 bytes=0 id=given-up cancelled", left);
  MPI_Irecv(in, 9, MPI_INT, MPI_ANY_SOURCE, 25, world, &request[0]);
  E("+receive on=world peer=any tag=25 id=freed");
  MPI_Request_free(&request[0]);
  E("~receive on=world peer=any tag=25 bytes=0 id=freed");
  align();
  MPI_Send(out, 3, MPI_INT, right, 25, world);
  E("send on=world peer=%d tag=25 bytes=12", right);
  MPI_Irecv(in, 9, MPI_INT, MPI_PROC_NULL, 23, world, &request[0]);
  E("+receive on=world tag=23 id=f");
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  E("-receive on=world tag=23 bytes=0 id=f");
  align();
}

/* Large messages that nobody receives yet: Open MPI gives the request another handle at each start. */
static void persistent_buffered(void) {
  static char space[4 * sizeof out];
  MPI_Request request;
  int size;
  void* attached;
  MPI_Buffer_attach(space, sizeof space);
  MPI_Bsend_init(out, kMany, MPI_INT, right, 41, world, &request);
  E("");
  for (int i = 0; i < 3; ++i) {
    MPI_Start(&request);
    E("+send_buffered on=world peer=%d tag=41 bytes=%d id=b%d", right, 4 * kMany, i);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    E("-send_buffered on=world peer=%d tag=41 bytes=%d id=b%d", right, 4 * kMany, i);
  }
  align();
  for (int i = 0; i < 3; ++i) {
    MPI_Recv(in, kMany, MPI_INT, left, 41, world, MPI_STATUS_IGNORE);
    E("receive on=world peer=%d tag=41 bytes=%d", left, 4 * kMany);
  }
  MPI_Request_free(&request);
  E("");
  MPI_Buffer_detach(&attached, &size);
  E("");
  align();
}

static void persistent(void) {
  MPI_Request request[2];
  MPI_Send_init(out, 7, MPI_INT, right, 40, world, &request[0]);
  E("");
  MPI_Recv_init(in, 9, MPI_INT, MPI_ANY_SOURCE, 40, world, &request[1]);
  E("");
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  E("");
  for (int i = 0; i < 3; ++i) {
    MPI_Startall(2, request);
    E("+send on=world peer=%d tag=40 bytes=28 id=s%d | +receive on=world peer=any tag=40 id=p%d", right, i,
      i);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    E("-send on=world peer=%d tag=40 bytes=28 id=s%d | -receive on=world peer=%d tag=40 bytes=28 id=p%d",
      right, i, left, i);
  }
  MPI_Start(&request[0]);
  E("+send on=world peer=%d tag=40 bytes=28 id=sa", right);
  MPI_Start(&request[1]);
  E("+receive on=world peer=any tag=40 id=sb");
  MPI_Wait(&request[1], MPI_STATUS_IGNORE);
  E("-receive on=world peer=%d tag=40 bytes=28 id=sb", left);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  E("-send on=world peer=%d tag=40 bytes=28 id=sa", right);
  for (int i = 0; i < 2; ++i) {
    MPI_Request_free(&request[i]);
    E("");
  }
  align();
  persistent_buffered();
}

/* More requests than anyone has room for on a stack. */
static void many(void) {
  static MPI_Request request[kMany];
  const int half = kMany / 2;
  for (int i = 0; i < half; ++i) {
    MPI_Irecv(in + i, 1, MPI_INT, left, 50, world, &request[i]);
    E("+receive on=world peer=%d tag=50 id=i%d", left, i);
  }
  for (int i = 0; i < half; ++i) {
    MPI_Isend(out + i, 1, MPI_INT, right, 50, world, &request[half + i]);
    E("+send on=world peer=%d tag=50 bytes=4 id=o%d", right, i);
  }
  MPI_Waitall(kMany, request, MPI_STATUSES_IGNORE);
  for (int i = 0; i < half; ++i)
    fprintf(expected, "-receive on=world peer=%d tag=50 bytes=4 id=i%d | ", left, i);
  for (int i = 0; i < half; ++i)
    fprintf(expected, "%s-send on=world peer=%d tag=50 bytes=4 id=o%d", i ? " | " : "", right, i);
  fputc('\n', expected);
  align();
}

static void collectives(void) {
  const int counts[kRanks] = {1, 2, 3, 4}, places[kRanks] = {0, 1, 3, 6};
  const int sizes[kRanks] = {4, 8, 12, 16};
  const int me = sizes[rank], root = rank == 2;
  MPI_Bcast(in, 5, MPI_INT, 2, world);
  E("one_to_all on=world peer=2 bytes=%d received=%d", root ? 20 : 0, root ? 0 : 20);
  MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, 2, world);
  E("all_to_one on=world peer=2 bytes=8 received=%d", root ? 32 : 0);
  MPI_Gather(root ? MPI_IN_PLACE : (void*)out, 2, MPI_INT, in, 2, MPI_INT, 2, world);
  E("all_to_one on=world peer=2 bytes=8 received=%d", root ? 32 : 0);
  MPI_Gatherv(out, counts[rank], MPI_INT, in, root ? counts : NULL, root ? places : NULL, MPI_INT, 2, world);
  E("all_to_one on=world peer=2 bytes=%d received=%d", me, root ? 40 : 0);
  MPI_Scatter(out, 3, MPI_INT, root ? MPI_IN_PLACE : (void*)in, 3, MPI_INT, 2, world);
  E("one_to_all on=world peer=2 bytes=%d received=12", root ? 48 : 0);
  MPI_Scatterv(out, root ? counts : NULL, root ? places : NULL, MPI_INT, in, counts[rank], MPI_INT, 2, world);
  E("one_to_all on=world peer=2 bytes=%d received=%d", root ? 40 : 0, me);
  MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, world);
  E("all_to_all on=world bytes=4 received=16");
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, world);
  E("all_to_all on=world bytes=4 received=16");
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_INT, world);
  E("all_to_all on=world bytes=%d received=40", me);
  MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, world);
  E("all_to_all on=world bytes=32 received=32");
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, world);
  E("all_to_all on=world bytes=32 received=32");
  MPI_Reduce(root ? MPI_IN_PLACE : (void*)out, in, 3, MPI_INT, MPI_SUM, 2, world);
  E("all_to_one on=world peer=2 bytes=12 received=%d", root ? 12 : 0);
  MPI_Allreduce(MPI_IN_PLACE, in, 3, MPI_INT, MPI_SUM, world);
  E("all_to_all on=world bytes=12 received=12");
  MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, world);
  E("all_to_all on=world bytes=40 received=%d", me);
  MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, world);
  E("all_to_all on=world bytes=32 received=8");
  MPI_Scan(out, in, 2, MPI_INT, MPI_SUM, world);
  E("prefix on=world bytes=8 received=8");
  MPI_Request request[2];
  MPI_Ibarrier(world, &request[0]);
  E("+barrier on=world id=ib");
  MPI_Iallreduce(out, in, 5, MPI_INT, MPI_SUM, world, &request[1]);
  E("+all_to_all on=world bytes=20 received=20 id=ia");
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  E("-barrier on=world id=ib | -all_to_all on=world bytes=20 received=20 id=ia");
#if MPI_VERSION >= 4
  /* MPICH 4.0 leaves the status alone. */
  MPI_Isendrecv(out, 2, MPI_INT, right, 7, in, 9, MPI_INT, left, 7, world, &request[0]);
  E("+send on=world peer=%d tag=7 bytes=8 id=es | +receive on=world peer=%d tag=7 id=er", right, left);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  E("-receive on=world peer=%d tag=7 id=er | -send on=world peer=%d tag=7 bytes=8 id=es", left, right);
  MPI_Bcast_init(in, 5, MPI_INT, 2, world, MPI_INFO_NULL, &request[0]);
  E("");
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&request[0]);
    E("+one_to_all on=world peer=2 bytes=%d received=%d id=pb%d", root ? 20 : 0, root ? 0 : 20, i);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    E("-one_to_all on=world peer=2 bytes=%d received=%d id=pb%d", root ? 20 : 0, root ? 0 : 20, i);
  }
  MPI_Request_free(&request[0]);
  E("");
#endif
}

static void let_go(MPI_Comm* comm) {
  MPI_Comm_free(comm);
  E("");
}

static void communicators(void) {
  const int half = rank / 2, odd = rank % 2;
  MPI_Comm one, two, three;
  MPI_Request request[2];
  /* The first that is made of all, with the ranks backwards, beside that of a process by itself */
  MPI_Comm_split(world, half, -rank, &one);
  E("create on=world made=first%d", half);
  E("members first%d %d %d", half, 2 * half + 1, 2 * half);
  MPI_Barrier(one);
  E("barrier on=first%d", half);
  let_go(&one);
  MPI_Barrier(MPI_COMM_SELF);
  E("barrier on=self%d", rank);
  /* Handles are used again: each round makes others. */
  for (int round = 0; round < 3; ++round) {
    MPI_Comm_dup(world, &one);
    E("create on=world made=dup%d", round);
    E("members dup%d 0 1 2 3", round);
    MPI_Barrier(one);
    E("barrier on=dup%d", round);
    let_go(&one);
  }
  MPI_Comm_idup(world, &one, &request[0]);
  E("+create on=world id=d1");
  MPI_Comm_idup(world, &two, &request[1]);
  E("+create on=world id=d2");
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  E("-create on=world made=idup1 id=d1 | -create on=world made=idup2 id=d2");
  MPI_Barrier(two);
  E("barrier on=idup2");
  let_go(&one);
  let_go(&two);
  MPI_Comm_split(world, half, -rank, &one);
  E("create on=world made=half%d", half);
  E("members half%d %d %d", half, 2 * half + 1, 2 * half);
  MPI_Barrier(one);
  E("barrier on=half%d", half);
  MPI_Comm_split(world, rank == 3 ? MPI_UNDEFINED : 0, 0, &two);
  E(rank == 3 ? "create on=world" : "create on=world made=three");
  if (rank != 3) {
    E("members three 0 1 2");
    MPI_Barrier(two);
    E("barrier on=three");
    let_go(&two);
  }
  /* By the members alone, twice the same */
  MPI_Group all, group;
  const int odds[] = {1, 3};
  MPI_Comm_group(world, &all);
  E("");
  MPI_Group_incl(all, 2, odds, &group);
  E("");
  for (int round = 0; odd && round < 2; ++round) {
    MPI_Comm_create_group(world, group, 7, &two);
    E("create made=odd%d", round);
    E("members odd%d 1 3", round);
    MPI_Barrier(two);
    E("barrier on=odd%d", round);
    let_go(&two);
  }
  MPI_Comm_create(world, group, &two);
  E(odd ? "create on=world made=odds" : "create on=world");
  if (odd) let_go(&two);
  MPI_Group_free(&group);
  E("");
  MPI_Group_free(&all);
  E("");
  /* Between groups; `one` is a half, with the ranks backwards */
  MPI_Intercomm_create(one, 0, world, half ? 1 : 3, 9, &two);
  E("create made=between");
  MPI_Barrier(two);
  E("barrier on=between");
  MPI_Bcast(in, 1, MPI_INT, half ? 1 : (rank == 0 ? MPI_ROOT : MPI_PROC_NULL), two);
  if (half) E("one_to_all on=between peer=1 bytes=0 received=4");
  if (!half) E(rank == 0 ? "one_to_all on=between peer=here bytes=4" : "one_to_all on=between bytes=0");
  MPI_Sendrecv(out, 1, MPI_INT, rank % 2, 1, in, 1, MPI_INT, rank % 2, 1, two, MPI_STATUS_IGNORE);
  E("send on=between peer=%d tag=1 bytes=4 | receive on=between peer=%d tag=1 bytes=4", odd, odd);
  MPI_Intercomm_merge(two, half, &three);
  E("create on=between made=merged");
  E("members merged 1 0 3 2");
  MPI_Barrier(three);
  E("barrier on=merged");
  let_go(&three);
  let_go(&two);
  let_go(&one);
}

/* No grid itself, whatever Open MPI says */
static void part_of_grid(MPI_Comm grid) {
  const int ranks[] = {0, 1};
  MPI_Group all, some;
  MPI_Comm part;
  MPI_Comm_group(grid, &all);
  E("");
  MPI_Group_incl(all, 2, ranks, &some);
  E("");
  MPI_Comm_create_group(grid, some, 5, &part);
  E("create made=part");
  E("members part 0 1");
  let_go(&part);
  MPI_Group_free(&some);
  E("");
  MPI_Group_free(&all);
  E("");
}

static void topologies(void) {
  const int dims[] = {4}, periods[] = {0};
  const int neighbors = rank == 0 || rank == 3 ? 1 : 2;
  // Where the grid ends, nobody is, and counts say nothing.
  const int counts[] = {rank == 0 ? 50 : 3, rank == 3 ? 50 : 3}, places[] = {0, 3};
  const MPI_Aint offsets[] = {0, 12};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
  MPI_Comm grid, graph;
  MPI_Cart_create(world, 1, dims, periods, 0, &grid);
  E("create on=world made=grid");
  E("members grid 0 1 2 3");
  MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, grid);
  E("neighbors on=grid bytes=4 received=%d", 4 * neighbors);
  MPI_Neighbor_alltoall(out, 3, MPI_INT, in, 3, MPI_INT, grid);
  E("neighbors on=grid bytes=%d received=%d", 12 * neighbors, 12 * neighbors);
  MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, grid);
  E("neighbors on=grid bytes=%d received=%d", 12 * neighbors, 12 * neighbors);
  MPI_Neighbor_alltoallw(out, counts, offsets, types, in, counts, offsets, types, grid);
  E("neighbors on=grid bytes=%d received=%d", 12 * neighbors, 12 * neighbors);
  MPI_Dist_graph_create_adjacent(world, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  E("create on=world made=graph");
  MPI_Neighbor_alltoall(out, 3, MPI_INT, in, 3, MPI_INT, graph);
  E("neighbors on=graph bytes=12 received=12");
  let_go(&graph);
  if (rank < 2) part_of_grid(grid);
  let_go(&grid);
}

static void windows(void) {
  int* memory;
  MPI_Win window;
  MPI_Group all, group;
  MPI_Request request;
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, world, &memory, &window);
  E("create on=world made=window");
  E("members window 0 1 2 3");
  MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
  E("fence on=window no_precede");
  MPI_Put(out, 2, MPI_INT, right, 0, 2, MPI_INT, window);
  E("put on=window peer=%d bytes=8", right);
  MPI_Win_fence(0, window);
  E("fence on=window");
  MPI_Get(in, 3, MPI_INT, left, 0, 3, MPI_INT, window);
  E("get on=window peer=%d bytes=12", left);
  MPI_Accumulate(out, 1, MPI_INT, right, 32, 1, MPI_INT, MPI_SUM, window);
  E("accumulate on=window peer=%d bytes=4", right);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  E("fence on=window no_succeed");
  MPI_Comm_group(world, &all);
  E("");
  for (int round = 0; round < 2; ++round) {
    MPI_Group_incl(all, 1, &left, &group);
    E("");
    MPI_Win_post(group, 0, window);
    E("post on=window group=%d", left);
    MPI_Group_free(&group);
    E("");
    MPI_Group_incl(all, 1, &right, &group);
    E("");
    MPI_Win_start(group, 0, window);
    E("start on=window group=%d", right);
    MPI_Group_free(&group);
    E("");
    MPI_Put(out, 1, MPI_INT, right, 0, 1, MPI_INT, window);
    E("put on=window peer=%d bytes=4", right);
    MPI_Win_complete(window);
    E("complete on=window");
    if (round == 0) {
      MPI_Win_wait(window);
    } else {
      for (int done = 0; !done;) MPI_Win_test(window, &done);
    }
    E("wait on=window");
  }
  MPI_Group_free(&all);
  E("");
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
  E("lock on=window peer=%d exclusive", right);
  MPI_Rput(out, 1, MPI_INT, right, 0, 1, MPI_INT, window, &request);
  E("+put on=window peer=%d bytes=4 id=rput", right);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  E("-put on=window peer=%d bytes=4 id=rput", right);
  MPI_Win_flush(right, window);
  E("flush on=window peer=%d", right);
  MPI_Win_unlock(right, window);
  E("unlock on=window peer=%d", right);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  E("lock on=window peer=all no_check");
  MPI_Fetch_and_op(out, in, MPI_INT, left, 0, MPI_SUM, window);
  E("accumulate on=window peer=%d bytes=4", left);
  MPI_Win_flush_local(left, window);
  E("flush_local on=window peer=%d", left);
  MPI_Win_flush_all(window);
  E("flush on=window peer=all");
  MPI_Win_unlock_all(window);
  E("unlock on=window peer=all");
  MPI_Win_free(&window);
  E("free on=window");
}

static void files(const char* directory) {
  char name[4096];
  MPI_File file;
  snprintf(name, sizeof name, "%s/data", directory);
  MPI_File_open(world, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  E("create on=world");
  MPI_File_write_at(file, 4 * rank, out, 1, MPI_INT, MPI_STATUS_IGNORE);
  E("");
  MPI_File_write_at_all(file, 4 * rank, out, 1, MPI_INT, MPI_STATUS_IGNORE);
  E("file_access on=world bytes=4");
  MPI_File_read_at_all_begin(file, 0, in, 2, MPI_INT);
  E("+file_access on=world bytes=8 id=split");
  MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE);
  E("-file_access on=world id=split");
  MPI_File_close(&file);
  E("free on=world");
}

int main(int argc, char** argv) {
  char name[4096];
  int provided;
  (void)argc;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  snprintf(name, sizeof name, "%s/expected-%d", argv[1], rank);
  expected = fopen(name, "w");
  if (!expected) MPI_Abort(world, 1);
  E("initialize on=world");
  E("members world 0 1 2 3");
  left = (rank + kRanks - 1) % kRanks;
  right = (rank + 1) % kRanks;
  blocking();
  probes();
  polls();
  nonblocking();
  persistent();
  many();
  collectives();
  communicators();
  topologies();
  windows();
  files(argv[1]);
  MPI_Finalize();
  E("finalize on=world");
  return fclose(expected) == 0 ? 0 : 1;
}
