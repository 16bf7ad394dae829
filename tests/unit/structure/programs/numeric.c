/* As loops.cpp, but for loops that the compiler transforms: SOME asks for at least one instruction with that path.
   ALL LOOPS: every loop is annotated. */
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

APART void scale(double* restrict out, const double* restrict in, double factor, long n) {
  for (long i = 0; i < n; ++i) {  // LOOP scale
    out[i] = in[i] * factor;      // SOME loop:scale // PROC scale
  }
}

APART void multiply(double* restrict c, const double* restrict a, const double* restrict b, long n) {
  for (long i = 0; i < n; ++i) {        // LOOP rows
    for (long j = 0; j < n; ++j) {      // LOOP columns
      double sum = 0;
      for (long k = 0; k < n; ++k) {    // LOOP products
        sum += a[i * n + k] * b[k * n + j];  // SOME loop:rows loop:columns loop:products
      }
      c[i * n + j] = sum;  // SOME loop:rows loop:columns
    }
  }
}

static inline double square(double x) { return x * x; }

APART double norm(const double* in, long n) {
  double sum = 0;
  for (long i = 0; i < n; ++i) {  // LOOP norm
    sum += square(in[i]);         // SOME loop:norm
  }
  return sum;
}

struct list {
  struct list* next;
  long value;
};

APART long length(const struct list* at) {
  long count = 0;
  do {
    count += at->value;  // SOME loop:list
    at = at->next;
  } while (at);  // LOOP list
  return count;
}

APART void relax(double* grid, long nx, long ny) {
#pragma omp parallel
  for (long y = 1; y < ny - 1; ++y) {    // LOOP lines
    for (long x = 1; x < nx - 1; ++x) {  // LOOP points
      grid[y * nx + x] *= 0.5;           // SOME loop:lines loop:points // PROC relax [OpenMP region 0]
    }
  }
}

/* The compiler makes two loops of one, by the condition that stays the same. */
APART void unswitched(double* restrict a, const double* restrict b, long n, int add) {
  for (long i = 0; i < n; ++i) {  // LOOP unswitched
    a[i] = add ? a[i] + b[i] : a[i] * b[i];  // SOME loop:unswitched
  }
}

/* Two loops of one body: the second part is distributed. */
APART void distributed(double* restrict a, double* restrict b, const long* restrict at, long n) {
  for (long i = 1; i < n; ++i) {  // LOOP distributed
    a[i] = a[i - 1] * 0.5 + 1;    // SOME loop:distributed
    b[at[i]] += 2;                // SOME loop:distributed
  }
}

APART long first_above(const double* a, double limit, long n) {
  long i = 0;
  while (i < n) {               // LOOP search
    if (a[i] > limit) return i; // SOME loop:search
    i += 2;
  }
  return -1;
}

APART void blocked(double* restrict c, const double* restrict a, const double* restrict b, long n, long size) {
  for (long ii = 0; ii < n; ii += size) {        // LOOP row-blocks
    for (long jj = 0; jj < n; jj += size) {      // LOOP column-blocks
      for (long i = ii; i < ii + size; ++i) {    // LOOP block-rows
        for (long j = jj; j < jj + size; ++j) {  // LOOP block-columns
          c[i * n + j] += a[i * n + j] * b[j * n + i];  // SOME loop:row-blocks loop:column-blocks loop:block-rows loop:block-columns
        }
      }
    }
  }
}

APART double horner(const double* restrict p, double x, long n) {
  double value = 0;
#pragma GCC unroll 8
  for (long i = 0; i < n; ++i) {  // LOOP horner
    value = value * x + p[i];     // SOME loop:horner
  }
  return value;
}

/* Two loops of the same form, one behind the other, are two loops. */
APART double twice(const double* a, long n) {
  double sum = 0, product = 1;
  for (long i = 0; i < n; ++i) {  // LOOP sum
    sum += a[i];                  // SOME loop:sum
  }
  for (long i = 0; i < n; ++i) {  // LOOP product
    product *= a[i];              // SOME loop:product
  }
  return sum * product;
}

int main(int count, char** arguments) {
  (void)arguments;
  const long n = count + 30;
  double* a = calloc((size_t)(n * n), sizeof(double));
  double* b = calloc((size_t)(n * n), sizeof(double));
  double* c = calloc((size_t)(n * n), sizeof(double));
  scale(a, b, 2, n);
  multiply(c, a, b, n);
  struct list last = {0, 1}, first = {&last, 2};
  relax(c, n, n);
  unswitched(a, b, n, count);
  long* at = calloc((size_t)n, sizeof(long));
  distributed(a, b, at, n);
  blocked(c, a, b, n, n / count);
  return norm(c, n) + horner(a, 0.5, n) + twice(b, n) + (double)first_above(a, 1, n) + (double)length(&first) > 1e9;
}
