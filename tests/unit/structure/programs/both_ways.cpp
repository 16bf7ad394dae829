// Procedures that only their file knows, inlined in one place and called in another: they have one name each.
extern "C" void sink(const void*);

static inline __attribute__((always_inline)) double weigh(int count, const double* from) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += from[i] * i;
  return sum;
}

namespace {
struct Scale {
  double factor;
  __attribute__((always_inline)) double of(double value) const { return factor * value; }
};

inline __attribute__((always_inline)) double halve(double value) {
  return value / 2;
}
}  // namespace

int main(int argc, char** argv) {
  double values[64];
  for (double& value : values) value = argc;
  sink(values);
  const double sum = weigh(argc * 64, values);
  double (*volatile again)(int, const double*) = weigh;
  double (*volatile half)(double) = halve;
  double (Scale::*volatile of)(double) const = &Scale::of;
  const Scale scale{sum};
  const double results[] = {
      sum, again(argc, values), halve(sum), half(values[1]), scale.of(values[2]), (scale.*of)(1)};
  sink(results);
  sink(argv);
  return results[0] > 0;
}
