// Handlers of the program's own on an alternate stack, which compute, nest, and jump away.
#include "part.hpp"

#include <csetjmp>
#include <csignal>
#include <vector>

#include <unistd.h>

namespace stress {
namespace {

constexpr std::size_t kStack = 64 * 1024;
thread_local volatile std::uint64_t handled;
thread_local sigjmp_buf back;

__attribute__((noinline)) std::uint64_t recurse(std::uint64_t seed, unsigned depth) {
  if (depth == 0) return digest(seed, 500);
  const std::uint64_t result = recurse(digest(seed, 5), depth - 1);
  return result + depth;
}

void compute(int /*signal*/) {
  handled = handled + recurse(handled, 30);
}

void nest(int /*signal*/) {
  handled = handled + recurse(handled, 10);
  raise(SIGUSR1);
}

void jump(int /*signal*/) {
  handled = handled + recurse(handled, 5);
  siglongjmp(back, 1);
}

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  if (sigaction(signal, &action, nullptr) != 0) fail("sigaction");
}

}  // namespace

std::uint64_t handle_on_alternate_stacks() {
  set_handler(SIGUSR1, compute);
  set_handler(SIGUSR2, nest);
  set_handler(SIGURG, jump);
  std::vector<char> memory(kStack);
  const stack_t stack{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  if (sigaltstack(&stack, nullptr) != 0) fail("sigaltstack");
  handled = 1;
  for (unsigned i = 0; i < 100; ++i) {
    raise(SIGUSR1);
    raise(SIGUSR2);
    if (sigsetjmp(back, 1) == 0) raise(SIGURG);
  }
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  if (sigaltstack(&none, nullptr) != 0) fail("sigaltstack");
  return handled;
}

}  // namespace stress
