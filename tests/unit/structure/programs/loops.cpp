// Annotations, read by the tests:
//   LOOP name            a loop whose line is this one
//   PATH elements…       the calls of this line have exactly these scopes around them, outermost first: loop:NAME, or
//                        in:PROCEDURE for an inlined procedure (its name up to its arguments),
//                        or by either of two names; with ? it may be missing
//   PROC name            the procedure that the instructions of this line belong to
#include <stdexcept>
#include <vector>

extern "C" {
void sink(long value);
void sink_a(long value);  // where the compiler would make one call of several
void sink_b(long value);
void sink_c(long value);
void sink_d(long value);
}
#define INLINED static inline __attribute__((always_inline))
#define INLINED_MEMBER __attribute__((always_inline))
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

APART void straight(long n) {
  sink(n);      // PATH // PROC straight(long)
  sink(n + 1);  // PATH
}

APART void simple_for(long n) {
  for (long i = 0; i < n; ++i) {  // LOOP for
    sink(i);                      // PATH loop:for // PROC simple_for(long)
  }
  sink(-n);  // PATH
}

APART void simple_while(long n) {
  while (n > 0) {  // LOOP while
    sink(n);       // PATH loop:while
    n -= 3;
  }
}

APART void nested(long n) {
  for (long i = 0; i < n; ++i) {          // LOOP outer
    sink(1);                              // PATH loop:outer
    for (long j = 0; j < n; ++j) {        // LOOP middle
      sink(2);                            // PATH loop:outer loop:middle
      for (long k = j; k < n; ++k) {      // LOOP inner
        sink(3);                          // PATH loop:outer loop:middle loop:inner
      }
      sink(4);  // PATH loop:outer loop:middle
    }
    for (long j = n; j > 2; --j) {  // LOOP second
      sink(5);                      // PATH loop:outer loop:second
    }
  }
  sink(6);  // PATH
}

APART void leaves_early(long n, const long* stop) {
  for (long i = 0; i < n; ++i) {  // LOOP early
    if (stop[i] == 1) continue;
    if (stop[i] == 2) {
      sink(7);  // (on the way out: not in the loop)
      break;
    }
    sink(i);  // PATH loop:early
  }
}

APART void endless(long n) {
  for (;;) {
    sink(n);             // PATH loop:* // PROC endless(long)
    if (--n < 0) return;
  }
}

APART void with_switch(const long* what, long n) {
  for (long i = 0; i < n; ++i) {  // LOOP switch
    switch (what[i]) {
      case 0: sink(100); break;              // PATH loop:switch
      case 1: sink_a(what[i + 2]); break;    // PATH loop:switch
      case 2: sink_b(300 * n); break;        // PATH loop:switch
      case 3: sink_c(400 - n); break;        // PATH loop:switch
      case 4: sink_d(n * n); break;          // PATH loop:switch
      case 6:
        for (long j = 0; j < n; ++j) {  // LOOP in-switch
          sink(j * 7);                  // PATH loop:switch loop:in-switch
        }
        break;
      case 7: what += n; break;
      default: break;
    }
  }
}

APART void state_machine(const unsigned char* text, long n) {
  static const void* const kStates[] = {&&idle, &&digit, &&letter, &&done};
  goto* kStates[text[0] & 3];
idle:
  sink_a(1);  // PATH loop:*
  goto* kStates[text[n--] & 3];
digit:
  sink_b(2);  // PATH loop:*
  goto* kStates[text[n--] & 3];
letter:
  sink_c(3);  // PATH loop:*
  goto* kStates[text[n--] & 3];
done:
  sink(4);  // PATH
}

APART void entered_twice(long n, bool odd) {
  if (odd) goto middle;
first:
  sink(1);  // PATH loop:*
middle:
  sink(2);  // PATH loop:*
  if (--n > 0) goto first;
  sink(3);  // PATH
}

// Optimised, these jump to each other: no loop, and none of them holds the other's code.
APART void pong(long n);
APART void ping(long n) {
  sink_a(n);  // PATH // PROC ping(long)
  if (n > 0) pong(n - 1);
}
APART void pong(long n) {
  sink_b(n);  // PATH // PROC pong(long)
  if (n > 1) ping(n - 2);
}
APART void ends_in_a_call(long n) {
  for (long i = 0; i < n; ++i) {  // LOOP before-call
    sink_c(i);                    // PATH loop:before-call // PROC ends_in_a_call(long)
  }
  ping(n);
}

APART void throws(long n) {
  if (n == 3) throw std::runtime_error("three");
  sink(n);
}

APART void catches(long n) {
  for (long i = 0; i < n; ++i) {  // LOOP catches
    try {
      throws(i);  // PATH loop:catches
    } catch (const std::exception&) {
      sink(-i);  // PATH loop:catches // PROC catches(long)
    }
  }
}

INLINED void leaf(long value) {
  sink(value);  // PATH loop:calls in:leaf
}
APART void calls_inlined(long n) {
  for (long i = 0; i < n; ++i) {  // LOOP calls
    leaf(i);
    sink(0);  // PATH loop:calls
  }
}

INLINED void walk(long n) {
  sink(-1);                       // PATH in:walk
  for (long i = n; i > 1; --i) {  // LOOP walk
    sink(i);                      // PATH in:walk loop:walk
  }
}
APART void holds_inlined_loop(long n) {
  sink(1);  // PATH
  walk(n);
  sink(2);  // PATH
}

INLINED void cell(long value) {
  sink(value);  // PATH loop:rows in:row loop:row in:cell
}
INLINED void row(long n, long y) {
  sink(n);                        // PATH loop:rows in:row
  for (long x = 0; x < n; ++x) {  // LOOP row
    cell(x * y);
  }
}
APART void table(long n) {
  for (long y = 0; y < n; ++y) {  // LOOP rows
    row(n, y);
    sink(y);  // PATH loop:rows
  }
}

APART void range_for(const std::vector<long>& values) {
  for (const long value : values) {  // LOOP range
    sink(value);                     // PATH loop:range
  }
}

namespace shapes {
template <class T>
struct Area {
  T side;
  APART T sum(int n) const {
    T total = 0;
    for (int i = 0; i < n; ++i) {  // LOOP member
      sink(static_cast<long>(side) * i);  // PATH loop:member // PROC shapes::Area<double>::sum(int) const
    }
    return total + side;
  }
};
}  // namespace shapes

APART void with_lambda(long n) {
  const auto each = [](long value) APART {
    for (long i = 0; i < value; ++i) {  // LOOP lambda
      sink(i);                          // PATH loop:lambda
    }
  };
  each(n);
}

// What has no linkage name: members of unnamed namespaces, lambdas that are inlined.
namespace library {
namespace {
struct Worker {
  long steps;
  INLINED_MEMBER void step(long i) const {
    sink(i * steps);  // PATH loop:calls-worker in:library::Worker::run loop:run in:library::Worker::step
  }
  INLINED_MEMBER void run(long n) const {
    for (long i = 0; i < n; ++i) {  // LOOP run
      step(i);
      sink_a(steps);  // PATH loop:calls-worker in:library::Worker::run loop:run // PROC library::work(long)
    }
  }
};
APART void hidden(long n) {
  sink(n);  // PATH // PROC library::hidden(long)
}
}  // namespace
APART void work(long n) {
  const Worker worker{n};
  for (long i = 0; i < n; ++i) {  // LOOP calls-worker
    worker.run(n - i);
    const auto last = [&](long value) INLINED_MEMBER { sink_b(value + n); };  // PATH loop:calls-worker in:library::work::{lambda}::operator|library::work
    last(i);
  }
  hidden(n);
}
}  // namespace library

int main(int count, char** arguments) {
  const long n = count;
  const std::vector<long> values(static_cast<std::size_t>(n) + 8, n);
  straight(n);
  simple_for(n);
  simple_while(n);
  nested(n);
  leaves_early(n, values.data());
  endless(n);
  with_switch(values.data(), n);
  state_machine(reinterpret_cast<const unsigned char*>(arguments[0]), n);
  entered_twice(n, n > 1);
  ends_in_a_call(n);
  catches(n);
  calls_inlined(n);
  holds_inlined_loop(n);
  table(n);
  range_for(values);
  shapes::Area<double>{2.0}.sum(count);
  with_lambda(n);
  library::work(n);
}
