// Regions marked with culprit.h, in ways whose call paths are known beforehand. Usage: regions MODE
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <alloca.h>
#include <culprit.h>

#define NOIPA __attribute__((noipa))

namespace {

volatile unsigned long sink;

void spin(int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (std::chrono::steady_clock::now() < end) {
    for (unsigned long i = 0; i < 1000; ++i) sink = sink + i;
  }
}

NOIPA void leaf(int ms) {
  spin(ms);
}
NOIPA void bare_leaf(int ms) {  // never called inside of a region
  spin(ms);
}

// Work in the function itself and in what it calls, before, inside and after two regions, one in the other.
NOIPA void nested() {
  bare_leaf(40);
  culprit_region_begin("outer");
  leaf(40);
  culprit_region_begin("inner");
  leaf(40);
  spin(40);
  culprit_region_end("inner");
  leaf(40);
  culprit_region_end("outer");
  bare_leaf(40);
}

NOIPA void callee() {
  const culprit::region region("callee's");
  leaf(40);
}
NOIPA void across() {
  const culprit::region region("caller's");
  callee();
  leaf(40);
}

// The stack moves between the beginning and the work.
NOIPA void moving(int size) {
  auto* room = static_cast<volatile char*>(alloca(static_cast<std::size_t>(size)));
  room[0] = 1;
  culprit_region_begin("moving");
  for (int i = 0; i < 4; ++i) {
    auto* more = static_cast<volatile char*>(alloca(4096));
    more[0] = room[0];
    leaf(20);
  }
  culprit_region_end("moving");
}

NOIPA void recursive(int depth) {
  const culprit::region region("recursive");
  if (depth > 0) recursive(depth - 1);
  if (depth == 0) leaf(60);
}

std::jmp_buf back;
NOIPA void jumps() {
  culprit_region_begin("jumped over");
  leaf(40);
  std::longjmp(back, 1);
}
NOIPA void throws() {
  const culprit::region region("thrown through");
  leaf(40);
  throw std::runtime_error("");
}
NOIPA void returns() {
  culprit_region_begin("never ended");
  leaf(40);
}

void left() {
  for (int i = 0; i < 100; ++i) {
    if (setjmp(back) == 0) {
      if (i < 3) jumps();
      culprit_region_begin("jumped over");  // many times: what is left must not pile up
    }
  }
  culprit_region_end("jumped over");
  try {
    throws();
  } catch (const std::runtime_error&) {
  }
  returns();
  culprit_region_end("never begun");
  bare_leaf(80);
}

void threads() {
  std::vector<std::thread> workers;
  const culprit::region region("main's");
  leaf(40);  // sampled before there are others, or one that loses its processor in its first sample delays
             // theirs
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([i] {
      const culprit::region own(i == 0 ? "first" : "second");
      leaf(60);
    });
  }
  for (std::thread& worker : workers) worker.join();
}

void names() {
  for (int i = 0; i < 400; ++i) {
    const std::string name = "made up " + std::to_string(i);
    const culprit::region region(name.c_str());
    leaf(1);
  }
  const culprit::region region(std::string(126, 'x').append("\xc3\xa4").c_str());
  leaf(40);
}

void iterations() {
  const culprit::region region("loop");
  for (long i = 0; i < 12; ++i) {
    culprit_iteration(i);
    leaf(10);
  }
}

std::atomic<bool> handled;
void on_signal(int /*number*/) {
  const culprit::region region("handler's");
  leaf(20);
  handled = true;
}
void signals() {
  std::signal(SIGUSR1, on_signal);
  for (int i = 0; i < 3; ++i) {
    const culprit::region region("interrupted");
    std::raise(SIGUSR1);
    leaf(20);
  }
}

// Prints what a beginning and an end cost together.
void cost() {
  constexpr int kTimes = 1000000;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) {
    culprit_region_begin("measured region");
    culprit_region_end("measured region");
  }
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f ns\n", time.count() / kTimes);
}

struct Mode {
  const char* name;
  void (*run)();
};
constexpr Mode kModes[] = {{"nested", nested},
                           {"across", across},
                           {"moving", [] { moving(100000); }},
                           {"recursive", [] { recursive(20); }},
                           {"deep", [] { recursive(100); }},
                           {"left", left},
                           {"threads", threads},
                           {"names", names},
                           {"iterations", iterations},
                           {"signals", signals},
                           {"cost", cost}};

}  // namespace

int main(int argc, char** argv) {
  for (const Mode& mode : kModes) {
    if (argc > 1 && std::strcmp(argv[1], mode.name) == 0) {
      mode.run();
      return 0;
    }
  }
  return 2;
}
