/* The cost of MPI calls that have nothing to do, and of messages to oneself, in ns per call: the smallest of
 * many batches. One line per call. LEVEL: of threads. */
#include <mpi.h>
#include <stdio.h>

#ifndef LEVEL
#define LEVEL MPI_THREAD_SINGLE
#endif

enum { kBatches = 400, kCalls = 5000, kMessages = 1000, kSome = 16 };

#define MEASURE_EACH(name, number, statement)                   \
  do {                                                          \
    double smallest = 1e9;                                      \
    for (int batch = 0; batch < kBatches; ++batch) {            \
      const double begin = MPI_Wtime();                         \
      for (int i = 0; i < (number); ++i) statement;             \
      const double time = (MPI_Wtime() - begin) / (number)*1e9; \
      if (time < smallest) smallest = time;                     \
    }                                                           \
    printf(name " %.1f\n", smallest);                           \
  } while (0)
#define MEASURE(name, ...) MEASURE_EACH(#name, kCalls, MPI_##name(__VA_ARGS__))

static int out, in[kSome];

static void receive(int i, MPI_Request* request) {
  MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, request);
}
static void post(int i) {
  MPI_Send(&out, 1, MPI_INT, 0, i, MPI_COMM_SELF);
}

/// A message that MPI_Irecv asks for: three calls.
static void exchange(void) {
  MPI_Request request;
  receive(0, &request);
  post(0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void exchange_several(void) {
  MPI_Request request[kSome];
  for (int i = 0; i < kSome; ++i) receive(i, &request[i]);
  for (int i = 0; i < kSome; ++i) post(i);
  MPI_Waitall(kSome, request, MPI_STATUSES_IGNORE);
}
static void exchange_again(MPI_Request* request) {
  MPI_Start(request);
  post(1);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}
static void start_again(MPI_Request* request) {
  MPI_Start(request);
  MPI_Recv(in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void measure_requests(void) {
  MPI_Request request, none = MPI_REQUEST_NULL;
  int flag;
  MEASURE_EACH("Irecv,Send,Wait", kMessages, exchange());
  MEASURE_EACH("16*(Irecv,Send),Waitall", kMessages / kSome, exchange_several());
  MPI_Recv_init(in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
  MEASURE_EACH("Start,Send,Wait", kMessages, exchange_again(&request));
  MPI_Request_free(&request);
  MPI_Send_init(&out, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &request);
  MEASURE_EACH("Start,Recv,Wait", kMessages, start_again(&request));
  MPI_Request_free(&request);
  // Where receives were seen before.
  MEASURE_EACH("Wait-again", kCalls, MPI_Wait(&none, MPI_STATUS_IGNORE));
  MEASURE_EACH("Test-again", kCalls, MPI_Test(&none, &flag, MPI_STATUS_IGNORE));
  receive(0, &request);
  MEASURE_EACH("Test-in-vain", kCalls, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  post(0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Request request = MPI_REQUEST_NULL;
  int flag, provided;
  MPI_Init_thread(&argc, &argv, LEVEL, &provided);
  MEASURE(Wait, &request, MPI_STATUS_IGNORE);
  MEASURE(Test, &request, &flag, MPI_STATUS_IGNORE);
  MEASURE(Iprobe, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  measure_requests();
  MPI_Win window;
  int *memory, value = 0;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &window);
  MPI_Win_lock_all(0, window);
  MEASURE(Put, &value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MEASURE(Win_flush, 0, window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
