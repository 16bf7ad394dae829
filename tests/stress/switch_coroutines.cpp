// Coroutines on stacks of their own, which vanish when the coroutine ends: a remembered call path may point
// into memory that is gone.
#include "part.hpp"

#include <cstdint>

#include <sys/mman.h>
#include <ucontext.h>

namespace stress {
namespace {

constexpr std::size_t kStack = 64 * 1024;
constexpr unsigned kCoroutines = 4;

struct Coroutine {
  ucontext_t context;
  void* stack;
  std::uint64_t state;
  bool done;
};

thread_local ucontext_t scheduler;
thread_local Coroutine coroutines[kCoroutines];

__attribute__((noinline)) std::uint64_t recurse(Coroutine& self, std::uint64_t seed, unsigned depth) {
  if (depth == 0) {
    swapcontext(&self.context, &scheduler);
    return digest(seed, 300);
  }
  const std::uint64_t result = recurse(self, digest(seed, 10), depth - 1);
  return result + depth;
}

void run(unsigned index) {
  Coroutine& self = coroutines[index];
  for (unsigned i = 0; i < 5; ++i) self.state = recurse(self, self.state, 5 + 7 * i);
  self.done = true;
  swapcontext(&self.context, &scheduler);
}

void start(unsigned index) {
  Coroutine& self = coroutines[index];
  self.stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (self.stack == MAP_FAILED) fail("mmap");
  self.state = index;
  self.done = false;
  getcontext(&self.context);
  self.context.uc_stack.ss_sp = self.stack;
  self.context.uc_stack.ss_size = kStack;
  self.context.uc_link = nullptr;
  makecontext(&self.context, reinterpret_cast<void (*)()>(run), 1, index);
}

}  // namespace

std::uint64_t switch_coroutines() {
  std::uint64_t sum = 1;
  for (unsigned repeat = 0; repeat < 20; ++repeat) {
    for (unsigned i = 0; i < kCoroutines; ++i) start(i);
    for (unsigned left = kCoroutines; left != 0;) {
      for (auto& coroutine : coroutines) {
        if (coroutine.done) continue;
        swapcontext(&scheduler, &coroutine.context);
        if (!coroutine.done) continue;
        fold(sum, coroutine.state);
        munmap(coroutine.stack, kStack);
        --left;
      }
    }
  }
  return sum;
}

}  // namespace stress
