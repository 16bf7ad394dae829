/* A library whose exported functions have internal ones between them that are known only from .eh_frame once the
   library is stripped. */
#include <stdio.h>

#define APART __attribute__((noinline, noclone))
#define EXPORT APART __attribute__((visibility("default")))

EXPORT long first(long n) { return n * 3 + 1; }

static APART long hidden(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) sum += first(i) ^ (sum << 1);
  return sum;
}

EXPORT long second(long n) { return hidden(n) - printf("%ld\n", n); }

EXPORT long PMPI_Twice(long n) { return 2 * n + second(n); }
EXPORT long MPI_Twice(long n) __attribute__((weak, alias("PMPI_Twice")));
EXPORT long __internal_twice(long n) __attribute__((alias("PMPI_Twice")));

static long resolved(long n) { return n ^ 5; }
static long (*choose(void))(long) { return resolved; }
EXPORT long chosen(long n) __attribute__((ifunc("choose")));

static APART long behind(long n) {
  long product = 1;
  for (long i = 1; i < n; ++i) product *= first(i) ^ n;
  return product;
}
EXPORT long forwards(long n) { return behind(n); }
