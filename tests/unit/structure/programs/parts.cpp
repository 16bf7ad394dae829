// What gcc makes of procedures beyond inlining them: parts that lie elsewhere, some of which it inlines again, copies
// for constant arguments, and bodies of OpenMP regions.
#include <vector>

extern "C" void sink(long value);

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

namespace physics {
template <class T>
struct Field {
  std::vector<T> cells;
  APART void relax(int rounds) {
#pragma omp parallel for
    for (long i = 1; i < static_cast<long>(cells.size()) - 1; ++i) {
      for (int r = 0; r < rounds; ++r) cells[i] = cells[i] * 0.5 + 0.25 * (cells[i - 1] + cells[i + 1]);
    }
  }
};
}  // namespace physics

static __attribute__((noinline)) double power(double x, int n, int bounded) {
  double product = 1;
  for (int i = 0; i < n; ++i) {
    product *= x;
    if (bounded && product > 1e300) product = 1;
  }
  return product;
}

// Its first line goes where it is called, the rest is a part; where the part is inlined as well, debug information
// has the procedure twice, called at its own declaration.
static double reduce(const double* from, long n, double* to) {
  if (__builtin_expect(from == nullptr, 1)) return 0;
  double sum = 0;
  for (long i = 0; i < n; ++i) {
    sum += from[i] / (1 + sum * sum);
    to[i % 8] += sum;
  }
  for (long i = 0; i < n; ++i) {
    sum -= from[i] / (1 + sum * sum);
    to[i % 8] -= sum;
  }
  return sum;
}
double reduce_once(const double* from, double* to, long n) {
  return reduce(from, n, to);
}
double reduce_twice(const double* from, double* to, long n) {
  return reduce(from, n / 2, to) + reduce(to, 4, to);
}
double reduce_more(const double* from, double* to, long n) {
  return reduce(from, n / 3, to) + 1;
}

// Inlined into itself: that is two calls.
static inline long countdown(long n) {
  if (n <= 0) return 0;
  sink(n);
  return countdown(n - 1) + 1;
}

APART void rarely(long n) {
  if (n == 12345) throw n;
  sink(n);
}

int main(int count, char**) {
  physics::Field<double> field;
  field.cells.assign(1000, count);
  field.relax(count);
  double to[8] = {};
  double sum = power(count, 3000, 1) + power(2, count, 1);
  for (int i = 0; i < 40; ++i) {
    sum += reduce_once(field.cells.data(), to, 1000);
    sum += reduce_twice(field.cells.data(), to, 1000) + reduce_more(field.cells.data(), to, 1000);
  }
  try {
    rarely(count);
  } catch (long) {
    sum = 0;
  }
  return static_cast<int>(sum + static_cast<double>(countdown(count)) + to[3]);
}
