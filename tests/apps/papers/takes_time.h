/* Work that takes a known time and no processor: with more ranks than processors, ranks would otherwise wait
 * for those, which is another case than any of the papers'. */
#ifndef TAKES_TIME_H
#define TAKES_TIME_H

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static inline void takes_ms(double ms) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  const long ns = end.tv_nsec + (long)(ms * 1e6);
  end.tv_sec += ns / 1000000000;
  end.tv_nsec = ns % 1000000000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
  }
}

/* An argument that is a number, or what is usual. */
static inline int number_at(int argc, char** argv, int index, int usual) {
  return argc > index ? atoi(argv[index]) : usual;
}

/* A procedure of its own in every call path, whatever the compiler thinks of it. */
#define PROCEDURE static __attribute__((noinline))

#endif
