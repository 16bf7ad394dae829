/* A library whose functions end in calls that are compiled as jumps. */
#define APART __attribute__((noinline, noclone))
#define EXPORT APART __attribute__((visibility("default")))

static volatile long sink;

static APART void pause_for(long n) {
  for (long i = 0; i < n; ++i) sink += i;
}

static APART void smooth(long n) {
  pause_for(n + 1);
}
__attribute__((visibility("default"))) const int line_of_smooth = __LINE__ - 2;

static APART void relax(long n) {
  smooth(n * 3);
}

/* Two jumps to one function. */
static APART void twice(long n) {
  if (n % 2 == 1) {
    pause_for(n + 5);
  } else {
    for (long i = 0; i < n; ++i) sink += 7 * i;
    pause_for(n * 7);
  }
}

/* Two ways to one function. */
static APART void either(long n) {
  if (n % 2 == 1) {
    sink = n;
    smooth(n + 11);
  } else {
    pause_for(n * 9);
  }
}

/* Jumps in a circle. */
static APART void circle(long n);
static APART void back(long n) {
  sink = n;
  circle(n - 1);
}
static APART void circle(long n) {
  if (n > 5) {
    back(n);
  } else {
    pause_for(n);
  }
}

EXPORT void shown(long n) {
  pause_for(n + 13);
}

EXPORT void run(long n) {
  pause_for(n);
  smooth(n);
  relax(n);
  twice(n);
  either(n);
  circle(n);
  shown(n);
  sink = n;
}

typedef void Function(long);
__attribute__((visibility("default")))
Function* const functions[] = {pause_for, smooth, relax, twice, either, circle, shown, run};
