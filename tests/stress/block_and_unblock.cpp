// All signals blocked and unblocked around computations, sleeps and signals of the program's own; the mask
// that the program reads back is the one it set.
#include "part.hpp"

#include <csignal>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

namespace stress {
namespace {

thread_local volatile std::uint64_t received;

void receive(int signal) {
  received = received + static_cast<std::uint64_t>(signal);
}

/// A mask as a number: bit s - 1 for signal s.
std::uint64_t bits(const sigset_t& mask) {
  std::uint64_t result = 0;
  for (int signal = 1; signal < 65; ++signal) {
    if (sigismember(&mask, signal) == 1) result |= std::uint64_t{1} << (signal - 1);
  }
  return result;
}

std::uint64_t with_all_blocked(unsigned i) {
  sigset_t all;
  sigset_t before;
  sigset_t now;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::uint64_t sum = bits(before);
  raise(SIGHUP);
  fold(sum, received);  // not yet
  fold(sum, digest(i, 2000));
  if (i % 10 == 0) usleep(1000);
  if (i % 10 == 5) poll(nullptr, 0, 1);
  pthread_sigmask(SIG_SETMASK, &before, &now);
  fold(sum, bits(now));
  fold(sum, received);
  return sum;
}

}  // namespace

std::uint64_t block_and_unblock() {
  struct sigaction action {};
  action.sa_handler = receive;
  action.sa_flags = SA_RESTART;
  if (sigaction(SIGHUP, &action, nullptr) != 0) fail("sigaction");
  received = 0;
  std::uint64_t sum = 1;
  for (unsigned i = 0; i < 100; ++i) fold(sum, with_all_blocked(i));
  return sum;
}

}  // namespace stress
