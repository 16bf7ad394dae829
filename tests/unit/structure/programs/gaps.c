/* A library whose exported functions have internal ones between them that are known only from .eh_frame once
   the library is stripped. */
#include <stdio.h>

#define APART __attribute__((noinline, noclone))
#define EXPORT APART __attribute__((visibility("default")))

EXPORT long first(long n) {
  return n * 3 + 1;
}

static APART long hidden(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) sum += first(i) ^ (sum << 1);
  return sum;
}

EXPORT long second(long n) {
  return hidden(n) - printf("%ld\n", n);
}

EXPORT long PMPI_Twice(long n) {
  return 2 * n + second(n);
}
EXPORT long MPI_Twice(long n) __attribute__((weak, alias("PMPI_Twice")));
EXPORT long __internal_twice(long n) __attribute__((alias("PMPI_Twice")));

static long resolved(long n) {
  return n ^ 5;
}
static long (*choose(void))(long) {
  return resolved;
}
EXPORT long chosen(long n) __attribute__((ifunc("choose")));

static APART long behind(long n) {
  long product = 1;
  for (long i = 1; i < n; ++i) product *= first(i) ^ n;
  return product;
}

/* Called from two places, and left to by the jump of one exported function that also returns by itself. */
static APART long rest(long n) {
  long sum = 7;
  for (long i = 1; i < n; ++i) sum += second(i) | n;
  return sum;
}
EXPORT long decides(long n) {
  if (n == 0) return 3;
  return rest(n);
}
EXPORT long uses(long n) {
  return rest(n) + rest(n + 1);
}

/* Two functions leave to this one: it is neither's. */
static APART long shared(long n) {
  long sum = 9;
  for (long i = 1; i < n; ++i) sum -= first(i) | n;
  return sum;
}
EXPORT long one(long n) {
  if (n == 1) return 4;
  return shared(n);
}
EXPORT long other(long n) {
  if (n == 2) return 5;
  return shared(n);
}
EXPORT long forwards(long n) {
  return behind(n);
}

/* Two functions do nothing else than this one: it has the name of neither. */
static APART long operate(long n, long which) {
  long sum = which;
  for (long i = 1; i < n; ++i) sum += first(i) ^ which;
  return sum;
}
EXPORT long adds(long n) {
  return operate(n, 1);
}
EXPORT long multiplies(long n) {
  return operate(n, 2);
}

/* One function does nothing else than this one, another does something before. */
static APART long scale(long n, long by) {
  long product = by;
  for (long i = 1; i < n; ++i) product *= first(i) ^ by;
  return product;
}
EXPORT long doubles(long n) {
  return scale(n, 2);
}
EXPORT long scales(long n, const long* by) {
  long sum = 0;
  for (long i = 0; i < n; ++i) sum += by[i];
  return scale(n, sum);
}

/* What one function alone leaves its frame to leaves it to another. */
static APART long end(long n) {
  long sum = 8;
  for (long i = 1; i < n; ++i) sum -= first(i) & n;
  return sum;
}
static APART long middle(long n) {
  if (n == 4) return 2;
  return end(n + 1);
}
EXPORT long begins(long n) {
  if (n == 3) return 1;
  return middle(n - 1);
}

/* Whose last calls go through linkage stubs. */
EXPORT int says(const char* text) {
  return puts(text);
}
EXPORT long relays(long n) {
  return second(n);
}
