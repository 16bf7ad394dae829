#include "ends.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace blocking {

void require(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::_Exit(9);
}

timespec later(clockid_t clock, timespec by) {
  timespec now{};
  clock_gettime(clock, &now);
  now.tv_nsec += by.tv_nsec;
  now.tv_sec += by.tv_sec + now.tv_nsec / 1'000'000'000;
  now.tv_nsec %= 1'000'000'000;
  return now;
}

void after(milliseconds delay, std::function<void()> act) {
  std::thread([delay, act = std::move(act)] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    std::this_thread::sleep_for(delay);
    act();
  }).detach();
}

Ends make_pipe() {
  Ends made{};
  require(pipe(made.ends) == 0, "pipe");
  return made;
}

void supply(int descriptor, std::size_t count) {
  after(kLate, [descriptor, count] {
    const std::vector<char> bytes(8192);
    for (std::size_t left = count; left > 0;) {
      const ssize_t length = write(descriptor, bytes.data(), left < bytes.size() ? left : bytes.size());
      if (length <= 0) return;
      left -= static_cast<std::size_t>(length);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
}

}  // namespace blocking
