// Does, one at a time, what programs do that a sampler in the same process may disturb, and says what came of
// it: the same lines measured and unmeasured. Usage: coexist WHAT
#include "deeds.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace coexist {

double compute(int milliseconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  double sum = 0;
  while (Clock::now() < end) {
    for (int i = 0; i < 1000; ++i) sum += std::sin(i + sum);
  }
  return sum;
}

void say(const std::string& line) {
  std::puts(line.c_str());
}

void require(bool good, const std::string& what) {
  if (good) return;
  say(what + ": " + std::strerror(errno));
  std::exit(1);
}

}  // namespace coexist

int main(int argc, char** argv) {
  using namespace coexist;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const auto& group : {signals(), limits(), counted_calls(), libraries()}) {
    for (const Deed& deed : group) {
      if (argc == 2 && std::strcmp(argv[1], deed.name) == 0) {
        deed.act();
        return 0;
      }
    }
  }
  std::fputs("usage: coexist WHAT\n", stderr);
  return 2;
}
