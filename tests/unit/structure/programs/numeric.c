/* As loops.cpp, but for loops that the compiler transforms: SOME asks for at least one instruction with that path. */
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
  return norm(c, n) + (double)length(&first) > 1e9;
}
