// Two ranks that exchange known amounts by requests, completed and started in every way.
// test_communication.py knows how much that is.
#include <mpi.h>

enum { kRoom = 4096, kRounds = 10, kAny = 3 };

static char out[kRoom], in[kAny][kRoom];
static int other;

/// Sends `bytes` in MPI_Send.
static void post(int bytes, int tag) {
  MPI_Send(out, bytes, MPI_CHAR, other, tag, MPI_COMM_WORLD);
}
static void receive(int place, int tag, MPI_Request* request) {
  MPI_Irecv(in[place], kRoom, MPI_CHAR, place == 0 ? MPI_ANY_SOURCE : other, tag, MPI_COMM_WORLD, request);
}

/// MPI_Wait: 100 bytes, and 70 by a matched probe, ten times each. Half of the requests have had their status
/// asked for, which is where these messages arrive.
static void by_wait(void) {
  MPI_Request request;
  MPI_Message message;
  MPI_Status status;
  for (int round = 0; round < kRounds; ++round) {
    receive(0, 1, &request);
    post(100, 1);
    for (int done = round % 2; !done;) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    MPI_Wait(&request, round % 3 ? &status : MPI_STATUS_IGNORE);
    post(70, 2);
    MPI_Mprobe(other, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in[0], kRoom, MPI_CHAR, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/// 51, 52, 53 bytes each in MPI_Waitany, MPI_Waitsome, MPI_Test, MPI_Testany, MPI_Testsome and MPI_Testall.
static void by_several(int way) {
  MPI_Request request[kAny], sent[kAny];
  int index[kAny], count = 0, done;
  for (int i = 0; i < kAny; ++i) receive(i, 10 + i, &request[i]);
  for (int i = 0; i < kAny; ++i) MPI_Isend(out, 51 + i, MPI_CHAR, other, 10 + i, MPI_COMM_WORLD, &sent[i]);
  for (int finished = 0; finished < kAny; finished += count) {
    count = done = 1;
    if (way == 0) MPI_Waitany(kAny, request, index, MPI_STATUS_IGNORE);
    if (way == 1) MPI_Waitsome(kAny, request, &count, index, MPI_STATUSES_IGNORE);
    if (way == 2) MPI_Test(&request[finished], &done, MPI_STATUS_IGNORE);
    if (way == 3) MPI_Testany(kAny, request, index, &done, MPI_STATUS_IGNORE);
    if (way == 4) MPI_Testsome(kAny, request, &count, index, MPI_STATUSES_IGNORE);
    if (way == 5) MPI_Testall(kAny, request, &done, MPI_STATUSES_IGNORE), count = done ? kAny : 0;
    if (!done) count = 0;
  }
  MPI_Waitall(kAny, sent, MPI_STATUSES_IGNORE);
}

/// What never arrives, or nobody sees arrive; then other requests with the same handles.
static void by_nobody(void) {
  MPI_Request request;
  MPI_Irecv(in[0], kRoom, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  receive(0, 4, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  receive(0, 5, &request);
  MPI_Request_free(&request);
  MPI_Barrier(MPI_COMM_WORLD);
  post(30, 5);
  receive(1, 6, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  post(40, 6);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Isend(out, 8, MPI_CHAR, other, 7, MPI_COMM_WORLD, &request);
    MPI_Recv(in[0], kRoom, MPI_CHAR, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/// 200 bytes in MPI_Startall and in MPI_Waitall, ten times, in a communicator whose ranks are the other way
/// round and whose handle is gone, or another's; 60 in MPI_Start, with a message to nobody.
static void persistent(int rank) {
  MPI_Comm pair, later;
  MPI_Request request[2], alone[2];
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &pair);
  MPI_Send_init(out, 200, MPI_CHAR, rank, 8, pair, &request[0]);
  MPI_Recv_init(in[0], kRoom, MPI_CHAR, MPI_ANY_SOURCE, 8, pair, &request[1]);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);  // which are inactive
  for (int round = 0; round < kRounds; ++round) {
    MPI_Startall(2, request);
    if (round == 0) MPI_Comm_free(&pair);
    if (round == 1) MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &later);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  }
  MPI_Comm_free(&later);
  MPI_Send_init(out, 60, MPI_CHAR, other, 9, MPI_COMM_WORLD, &alone[0]);
  MPI_Send_init(out, 60, MPI_CHAR, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &alone[1]);
  for (int i = 0; i < 2; ++i) MPI_Start(&alone[i]);
  MPI_Recv(in[1], kRoom, MPI_CHAR, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(2, alone, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2; ++i) {
    MPI_Request_free(&request[i]);
    MPI_Request_free(&alone[i]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  by_wait();
  for (int way = 0; way < 6; ++way) by_several(way);
  by_nobody();
  persistent(rank);
  // So that there are samples.
  for (const double end = MPI_Wtime() + 0.2; MPI_Wtime() < end;) continue;
  MPI_Finalize();
}
