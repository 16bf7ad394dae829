/* Calls that complete requests of which some fail: prints what each call returned, the error of each status
 * that the program asked for, and what became of the handles. One rank, which sends to itself. */
#include <mpi.h>
#include <stdio.h>

enum { kRequests = 3 };

static int out[4], in[kRequests][4];

/* Three receives, of which the second is too short for its message; `posted` of the messages are sent. */
static void begin(MPI_Request* request, int posted) {
  for (int i = 0; i < kRequests; ++i) {
    MPI_Irecv(in[i], i == 1 ? 1 : 4, MPI_INT, 0, i, MPI_COMM_WORLD, &request[i]);
  }
  for (int i = 0; i < posted; ++i) MPI_Send(out, 4, MPI_INT, 0, i, MPI_COMM_WORLD);
}

static const char* name(int error) {
  int class;
  MPI_Error_class(error, &class);
  return class == MPI_SUCCESS         ? "success"
         : class == MPI_ERR_IN_STATUS ? "in-status"
         : class == MPI_ERR_TRUNCATE  ? "truncate"
         : class == MPI_ERR_PENDING   ? "pending"
         : class == MPI_ERR_OTHER     ? "other"
                                      : "another";
}

static void end(const char* call, int result, MPI_Request* request, MPI_Status* status, int statuses) {
  printf("%s: %s, handles", call, name(result));
  for (int i = 0; i < kRequests; ++i) {
    printf(request[i] == MPI_REQUEST_NULL ? " null" : " open");
    if (request[i] == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request[i]);
    MPI_Wait(&request[i], MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < statuses && result != MPI_SUCCESS; ++i) printf(" %s", name(status[i].MPI_ERROR));
  putchar('\n');
}

int main(int argc, char** argv) {
  MPI_Request request[kRequests];
  MPI_Status status[kRequests];
  int index, count, indices[kRequests], done = 0, result;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int asked = 0; asked < 2; ++asked) {
    MPI_Status* all = asked ? status : MPI_STATUSES_IGNORE;
    MPI_Status* one = asked ? status : MPI_STATUS_IGNORE;
    begin(request, 3);
    result = MPI_Waitall(kRequests, request, all);
    end("Waitall", result, request, status, asked ? 3 : 0);
    begin(request, 3);
    do result = MPI_Testall(kRequests, request, &done, all);
    while (result == MPI_SUCCESS && !done);
    end("Testall", result, request, status, asked ? 3 : 0);
    begin(request, 3);
    result = MPI_Wait(&request[1], one);
    end("Wait", result, request, status, 0);
    begin(request, 3);
    do result = MPI_Test(&request[1], &done, one);
    while (result == MPI_SUCCESS && !done);
    end("Test", result, request, status, 0);
    begin(request, 3);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    result = MPI_Waitany(2, request, &index, one);
    end("Waitany", result, request, status, 0);
    begin(request, 3);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Wait(&request[2], MPI_STATUS_IGNORE);
    result = MPI_Waitsome(kRequests, request, &count, indices, all);
    end("Waitsome", result, request, status, asked ? 1 : 0);
  }
  MPI_Isend(out, 4, MPI_INT, 0, 9, MPI_COMM_SELF, &request[0]);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  result = MPI_Recv(in, 1, MPI_INT, 0, 9, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  printf("Recv: %s\n", name(result));
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
