// A library whose constructor waits for a thread that makes blocking calls, while the loader holds its lock.
#include <ctime>
#include <thread>

#include <poll.h>
#include <unistd.h>

namespace {

struct Start {
  Start() {
    std::thread other([] {
      const timespec time{0, 1'000'000};
      nanosleep(&time, nullptr);
      poll(nullptr, 0, 1);
      usleep(1000);
    });
    other.join();
  }
} start;

}  // namespace
