// One rank that sends to itself, with the requests that are most easily counted wrongly. Prints the bytes
// that it received by requests and the messages, and those that it sent. Usage: odd_requests [OPEN], which is
// how many receives are open at one time in the end.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRoom = 256, kMany = 40 };

static char out[kRoom], in[kMany][kRoom];
static MPI_Comm comm;
static long messages, arrived, sent_messages, sent;

static void post(int bytes, int tag) {
  MPI_Send(out, bytes, MPI_CHAR, 0, tag, comm);
  ++sent_messages;
  sent += bytes;
}
/// To be completed by MPI_Wait or the like: MPICH sends no message to itself that is not awaited.
static void begin(int bytes, int tag, MPI_Request* request) {
  MPI_Isend(out, bytes, MPI_CHAR, 0, tag, comm, request);
  ++sent_messages;
  sent += bytes;
}
static MPI_Request receive(int place, int tag) {
  MPI_Request request;
  MPI_Irecv(in[place], kRoom, MPI_CHAR, place % 2 ? 0 : MPI_ANY_SOURCE, tag, comm, &request);
  return request;
}
static void came(int number, int bytes) {
  messages += number;
  arrived += bytes;
}

/// What is known of a message for which there is room for 10 bytes: Open MPI 4.1 receives as much of what a
/// rank sent to itself, others fail.
static int cut(int result) {
  return result == MPI_SUCCESS ? 10 : 0;
}

/// Nothing, and parts of a type with gaps.
static void lengths(void) {
  MPI_Datatype gaps;
  MPI_Request request;
  int from[10] = {0}, to[10];
  MPI_Irecv(in[0], 0, MPI_CHAR, 0, 1, comm, &request);
  post(0, 1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  came(1, 0);
  MPI_Type_vector(5, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Irecv(to, 1, gaps, 0, 2, comm, &request);
  MPI_Send(from, 3, MPI_INT, 0, 2, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  came(1, 12);
  MPI_Irecv(to, 1, gaps, 0, 2, comm, &request);
  MPI_Send(from, 1, gaps, 0, 2, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  came(1, 20);
  sent_messages += 2;
  sent += 32;
  MPI_Type_free(&gaps);
}

/// Requests of nobody, and none.
static void nobody(void) {
  MPI_Request request[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message message;
  MPI_Status status[3];
  int index, flag, count, indices[3];
  MPI_Irecv(in[0], kRoom, MPI_CHAR, MPI_PROC_NULL, 3, comm, &request[1]);
  MPI_Waitany(3, request, &index, MPI_STATUS_IGNORE);
  MPI_Waitany(3, request, &index, MPI_STATUS_IGNORE);
  MPI_Recv_init(in[0], kRoom, MPI_CHAR, MPI_PROC_NULL, 3, comm, &request[0]);
  MPI_Send_init(out, kRoom, MPI_CHAR, MPI_PROC_NULL, 3, comm, &request[2]);
  MPI_Start(&request[0]);
  MPI_Start(&request[2]);
  MPI_Waitall(3, request, status);
  MPI_Waitsome(3, request, &count, indices, MPI_STATUSES_IGNORE);
  MPI_Testsome(3, request, &count, indices, status);
  MPI_Testall(3, request, &flag, MPI_STATUSES_IGNORE);
  MPI_Request_free(&request[0]);
  MPI_Request_free(&request[2]);
  MPI_Mprobe(MPI_PROC_NULL, 3, comm, &message, MPI_STATUS_IGNORE);
  MPI_Imrecv(in[0], kRoom, MPI_CHAR, &message, &request[0]);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
}

/// More requests than have room on a stack: receives, sends and gaps, with statuses and without.
static void many(int way) {
  MPI_Request request[3 * kMany];
  MPI_Status status[3 * kMany];
  int indices[3 * kMany], count = 0, flag = 0;
  MPI_Status* const statuses = way % 2 ? status : MPI_STATUSES_IGNORE;
  for (int i = 0; i < kMany; ++i) request[3 * i] = receive(i, i);
  for (int i = 0; i < kMany; ++i) {
    request[3 * i + 1] = MPI_REQUEST_NULL;
    begin(i + way, i, &request[3 * i + 2]);
    came(1, i + way);
  }
  switch (way / 2) {
    case 0:
      MPI_Waitall(3 * kMany, request, statuses);
      break;
    case 1:
      for (int i = 0; i < 2 * kMany; ++i)
        MPI_Waitany(3 * kMany, request, &count, way % 2 ? status : MPI_STATUS_IGNORE);
      break;
    case 2:
      for (int left = 2 * kMany; left != 0; left -= count)
        MPI_Waitsome(3 * kMany, request, &count, indices, statuses);
      break;
    default:
      while (!flag) MPI_Testall(3 * kMany, request, &flag, statuses);
  }
}

/// Persistent ones that are inactive, cancelled, started again, too short for their message, and freed.
static void persistent(void) {
  MPI_Request request;
  int flag;
  MPI_Recv_init(in[0], 10, MPI_CHAR, 0, 5, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  MPI_Start(&request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int round = 0; round < 3; ++round) {
    MPI_Start(&request);
    post(7, 5);
    for (flag = round != 1; !flag;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    came(1, 7);
  }
  MPI_Start(&request);
  post(11, 5);
  came(1, cut(MPI_Wait(&request, MPI_STATUS_IGNORE)));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Start(&request);
  post(8, 5);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  came(1, 8);
  MPI_Start(&request);
  MPI_Request_free(&request);
  post(6, 5);  // for the one that is free
}

/// A receive is too short for its message, which it takes all the same; how much of it is not known.
static void too_short(void) {
  MPI_Request request, more[2];
  MPI_Message message;
  MPI_Status status[2];
  int flag = 0, index;
  begin(20, 12, &more[0]);
  MPI_Recv(in[0], 10, MPI_CHAR, MPI_ANY_SOURCE, 12, comm, MPI_STATUS_IGNORE);
  begin(20, 12, &more[1]);
  MPI_Mprobe(0, 12, comm, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(in[0], 10, MPI_CHAR, &message, MPI_STATUS_IGNORE);
  MPI_Waitall(2, more, MPI_STATUSES_IGNORE);
  MPI_Sendrecv(out, 20, MPI_CHAR, 0, 12, in[0], 10, MPI_CHAR, 0, 12, comm, status);
  for (int way = 0; way < 4; ++way) {
    MPI_Irecv(in[0], 10, MPI_CHAR, way % 2 ? 0 : MPI_ANY_SOURCE, 12, comm, &request);
    post(20, 12);
    int result = MPI_SUCCESS;
    if (way == 0) result = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (way == 1) result = MPI_Waitany(1, &request, &index, status);
    for (flag = way < 2; !flag;) {
      if (way == 2) result = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      if (way == 3) result = MPI_Testany(1, &request, &index, &flag, status);
    }
    came(1, cut(result));
  }
  for (int way = 0; way < 2; ++way) {
    MPI_Irecv(in[0], 20, MPI_CHAR, 0, 12, comm, &more[0]);
    MPI_Irecv(in[1], 10, MPI_CHAR, 0, 12, comm, &more[1]);
    for (int i = 0; i < 2; ++i) post(20, 12);
    int result = MPI_SUCCESS;
    if (way == 0) result = MPI_Waitall(2, more, status);
    for (flag = way < 1; !flag;) result = MPI_Testall(2, more, &flag, MPI_STATUSES_IGNORE);
    came(2, 20 + cut(result));
  }
}

/// Receives that are freed: one whose message has come, before another that was sent later, and one whose
/// message comes later.
static void freed(void) {
  MPI_Request first = receive(0, 13);
  MPI_Request later = receive(1, 14);
  post(21, 13);
  post(22, 14);
  MPI_Wait(&later, MPI_STATUS_IGNORE);
  MPI_Request_free(&first);
  came(2, 43);
  MPI_Request second = receive(0, 13);
  MPI_Request_free(&second);
  post(23, 13);
}

/// Sends that are started again while their last message may be under way.
static void buffered(void) {
  static char room[8 * (kRoom + MPI_BSEND_OVERHEAD)];
  MPI_Request request;
  int bytes;
  void* address;
  MPI_Buffer_attach(room, sizeof room);
  MPI_Bsend_init(out, 9, MPI_CHAR, 0, 6, comm, &request);
  for (int round = 0; round < 3; ++round) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (int round = 0; round < 3; ++round) {
    MPI_Request received = receive(0, 6);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
    came(1, 9);
  }
  sent_messages += 3;
  sent += 27;
  MPI_Request_free(&request);
  MPI_Buffer_detach(&address, &bytes);
}

static int query(void* state, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_CHAR, 1000);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = *(int*)state;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int release(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

/// What is no message at all: generalized requests and collectives, among receives, and with their handles.
static void no_messages(void) {
  int source = 0, one = 1, all;
  for (int round = 0; round < 10; ++round) {
    MPI_Request request[4];
    request[0] = receive(0, 7);
    MPI_Grequest_start(query, release, cancel, &source, &request[1]);
    MPI_Ibarrier(comm, &request[2]);
    MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm, &request[3]);
    MPI_Grequest_complete(request[1]);
    post(13, 7);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    came(1, 13);
    request[0] = receive(0, 8);
    MPI_Cancel(&request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    begin(14, 8, &request[0]);
    MPI_Recv(in[0], kRoom, MPI_CHAR, 0, 8, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  }
}

/// Of MPI 4.
static void exchanges(void) {
#if MPI_VERSION >= 4
  MPI_Request request;
  for (int round = 0; round < 3; ++round) {
    MPI_Isendrecv(out, 17, MPI_CHAR, 0, 10, in[0], 17, MPI_CHAR, MPI_ANY_SOURCE, 10, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isendrecv_replace(in[0], 18, MPI_CHAR, 0, 10, 0, 10, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    came(2, 35);
    sent_messages += 2;
    sent += 35;
    request = receive(0, 11);
    post(19, 11);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    came(1, 19);
  }
#endif
}

/// Sampling is stopped where a receive begins, and the other way round: what arrives meanwhile is no part of
/// the run.
static void stopped(void) {
  MPI_Pcontrol(0);
  MPI_Request first = receive(0, 9);
  MPI_Pcontrol(1);
  post(15, 9);
  MPI_Wait(&first, MPI_STATUS_IGNORE);
  came(1, 15);
  MPI_Request second = receive(0, 9);
  post(16, 9);
  MPI_Pcontrol(0);
  MPI_Wait(&second, MPI_STATUS_IGNORE);
  MPI_Pcontrol(1);
}

/// This many receives at one time.
static void open_at_once(int number) {
  MPI_Request* const request = malloc((size_t)number * sizeof *request);
  for (int i = 0; i < number; ++i) request[i] = receive(0, i);
  for (int i = 0; i < number; ++i) {
    post(1, i);
    came(1, 1);
  }
  MPI_Waitall(number, request, MPI_STATUSES_IGNORE);
  free(request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (argc > 1) {
    open_at_once(atoi(argv[1]));
  } else {
    lengths();
    nobody();
    for (int way = 0; way < 8; ++way) many(way);
    persistent();
    too_short();
    freed();
    buffered();
    no_messages();
    exchanges();
    stopped();
  }
  MPI_Comm_free(&comm);
  // So that there are samples.
  for (const double end = MPI_Wtime() + 0.2; MPI_Wtime() < end;) continue;
  printf("%ld %ld %ld %ld\n", messages, arrived, sent_messages, sent);
  MPI_Finalize();
  return 0;
}
