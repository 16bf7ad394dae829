// Works for some time in a library without call-frame information, and in what that calls back. Argument:
// seconds.

#include <chrono>
#include <cmath>
#include <cstdlib>

extern "C" double bare_work(double (*step)(double), int count);

namespace {

double result = 0;

[[gnu::noinline]] double called_back(double x) {
  for (int i = 0; i < 200; ++i) x = std::sqrt(x * x + i);
  return x;
}

[[gnu::noinline]] void calls_bare_code() {
  result += bare_work(called_back, 100);
}

}  // namespace

int main(int count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(count > 1 ? std::atof(arguments[1]) : 1);
  while (Clock::now() < end) calls_bare_code();
  return result == 0;
}
