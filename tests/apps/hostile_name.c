// Works for a tenth of a second in a function whose name a test replaces in the built program by another one
// as long, which no compiler would take: markup and the end of a script (test_html_report.py).
#include <time.h>

static volatile double result;

__attribute__((noinline)) void hostile_name_that_a_test_replaces_here(void) {
  struct timespec now;
  do {
    for (int i = 0; i < 20000; ++i) result = result * 0.5 + i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (now.tv_sec == 0 && now.tv_nsec < 300000000);
}

int main(void) {
  hostile_name_that_a_test_replaces_here();
  return 0;
}
