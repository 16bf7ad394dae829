/* The cost of calls that read and write a file in memory, or look at and go through sockets, in ns: the
 * smallest of many batches. One line per call. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { kBatches = 200, kCalls = 2000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static void require(int good) {
  if (!good) abort();
}

#define MEASURE(name, start, call)                    \
  do {                                                \
    double smallest = 1e9;                            \
    for (int batch = 0; batch < kBatches; ++batch) {  \
      start;                                          \
      const double begin = now();                     \
      for (int i = 0; i < kCalls; ++i) require(call); \
      const double each = (now() - begin) / kCalls;   \
      if (each < smallest) smallest = each;           \
    }                                                 \
    printf(name " %.1f\n", smallest);                 \
  } while (0)

int main(void) {
  static char buffer[4096];
  char name[] = "/dev/shm/io-calls-XXXXXX";
  const int file = mkstemp(name);
  require(file >= 0);
  unlink(name);
  FILE* const stream = fdopen(dup(file), "w+");
  MEASURE("write", lseek(file, 0, SEEK_SET), write(file, buffer, 64) == 64);
  MEASURE("pread", (void)0, pread(file, buffer, 64, 0) == 64);
  MEASURE("pwrite-4K", (void)0, pwrite(file, buffer, sizeof buffer, 0) == sizeof buffer);
  MEASURE("fwrite", rewind(stream), fwrite(buffer, 8, 1, stream) == 1);
  MEASURE("fread", rewind(stream), fread(buffer, 8, 1, stream) == 1);
  int sockets[2], nonblocking[2];
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, nonblocking) == 0);
  struct pollfd incoming = {sockets[0], POLLIN, 0}, outgoing = {sockets[0], POLLOUT, 0};
  const struct iovec some = {buffer, 64};
  MEASURE("poll-in-vain", (void)0, poll(&incoming, 1, 0) == 0);
  MEASURE("poll-ready", (void)0, poll(&outgoing, 1, -1) == 1);
  MEASURE("send-recv", (void)0,
          send(sockets[0], buffer, 64, 0) == 64 && recv(sockets[1], buffer, 64, 0) == 64);
  MEASURE("writev-readv", (void)0,
          writev(nonblocking[0], &some, 1) == 64 && readv(nonblocking[1], &some, 1) == 64);
  return 0;
}
