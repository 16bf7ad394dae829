// Threads that wait while others work: waiting_threads KIND THREADS SECONDS [WORKERS].
// KIND is what they wait in: sem, cond, read, barrier, mutex, poll, futex (a system call of their own, as
// language runtimes make it), mixed (all of these in turn); flock and fcntl (a descriptor for each);
// without-descriptors: sem, with all descriptors in use; turns: 30 ms in waits_here and 10 ms in waits_there,
// again and again, with no work between; or naps: 20 ms in naps, by syscall(), again and again.
// All are there before the time begins, and come back at its end. Prints how much was worked, and how long
// the threads spent in each of the functions waits_in_..., waits_here, waits_there and works, in seconds.
#include "raw_wait.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

sem_t semaphore;
sem_t present;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_barrier_t barrier;
pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
bool released = false;
std::atomic<int> word{0};
std::atomic<bool> stop{false};
int pipes[2];
int locked_file = -1;
std::atomic<unsigned> returned{0};
std::atomic<std::uint64_t> rounds{0};  // of work

extern "C" __attribute__((noinline)) void waits_in_sem() {
  while (sem_wait(&semaphore) != 0) {
  }
}
extern "C" __attribute__((noinline)) void waits_in_cond() {
  pthread_mutex_lock(&mutex);
  while (!released) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}
extern "C" __attribute__((noinline)) void waits_in_read() {
  char byte = 0;
  while (read(pipes[0], &byte, 1) < 0 && errno == EINTR) {
  }
}
extern "C" __attribute__((noinline)) void waits_in_barrier() {
  pthread_barrier_wait(&barrier);
  __asm__ volatile("");  // no jump in the place of the call
}
extern "C" __attribute__((noinline)) void waits_in_mutex() {
  pthread_mutex_lock(&held);
  pthread_mutex_unlock(&held);
}
extern "C" __attribute__((noinline)) void waits_in_poll() {
  pollfd descriptor{.fd = pipes[0], .events = POLLIN, .revents = 0};
  while (poll(&descriptor, 1, -1) < 0 && errno == EINTR) {
  }
}
extern "C" __attribute__((noinline)) void waits_in_futex() {
  while (word.load() == 0) raw_futex(&word, FUTEX_WAIT_PRIVATE, 0);
}
int open_locked_file() {
  return open(("/proc/self/fd/" + std::to_string(locked_file)).c_str(), O_RDWR);
}
extern "C" __attribute__((noinline)) void waits_in_flock() {
  const int own = open_locked_file();
  while (flock(own, LOCK_EX) != 0 && errno == EINTR) {
  }
  close(own);
}

extern "C" __attribute__((noinline)) void waits_in_fcntl() {
  const int own = open_locked_file();
  struct flock whole {};
  whole.l_type = F_WRLCK;
  while (fcntl(own, F_OFD_SETLKW, &whole) != 0 && errno == EINTR) {
  }
  close(own);
}

extern "C" __attribute__((noinline)) void waits_here() {
  raw_wait(std::chrono::milliseconds(30));
  __asm__ volatile("");
}
extern "C" __attribute__((noinline)) void waits_there() {
  raw_wait(std::chrono::milliseconds(10));
  __asm__ volatile("");
}

extern "C" __attribute__((noinline)) void naps() {
  const timespec length{.tv_sec = 0, .tv_nsec = 20'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &length, nullptr, 0);
  __asm__ volatile("");
}

using Wait = void (*)();
struct Kind {
  const char* name;
  Wait wait;
};
constexpr Kind kinds[] = {
    {"sem", waits_in_sem},         {"cond", waits_in_cond},   {"read", waits_in_read},
    {"barrier", waits_in_barrier}, {"mutex", waits_in_mutex}, {"poll", waits_in_poll},
    {"futex", waits_in_futex},     {"flock", waits_in_flock}, {"fcntl", waits_in_fcntl}};
constexpr std::size_t kFileLocks = std::size(kinds) - 2;  // need more descriptors than thousands may have

/// What the program itself says of a function.
struct Spent {
  const char* name;
  std::atomic<std::int64_t> ns{0};
};
Spent spent[] = {{"waits_in_sem"},   {"waits_in_cond"}, {"waits_in_read"},  {"waits_in_barrier"},
                 {"waits_in_mutex"}, {"waits_in_poll"}, {"waits_in_futex"}, {"waits_in_flock"},
                 {"waits_in_fcntl"}, {"waits_here"},    {"waits_there"},    {"naps"},
                 {"works"}};
constexpr std::size_t kHere = std::size(kinds), kThere = kHere + 1, kNaps = kHere + 2, kWorks = kHere + 3;
/// Behind the kinds of one long wait: those of many short ones.
constexpr std::size_t kInTurns = std::size(kinds), kInNaps = kInTurns + 1;

template <typename Function>
void clocked(std::size_t place, Function function) {
  const Clock::time_point begin = Clock::now();
  function();
  spent[place].ns += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

void take_turns() {
  while (!stop) {
    clocked(kHere, waits_here);
    clocked(kThere, waits_there);
  }
}

void* waiter(void* argument) {
  const auto kind = reinterpret_cast<std::uintptr_t>(argument);
  sem_post(&present);
  if (kind < std::size(kinds)) {
    clocked(kind, kinds[kind].wait);
  } else if (kind == kInTurns) {
    take_turns();
  } else {
    while (!stop) clocked(kNaps, naps);
  }
  ++returned;
  return nullptr;
}

extern "C" __attribute__((noinline)) std::uint64_t works(Clock::time_point end) {
  std::uint64_t sum = 0;
  while (Clock::now() < end) {
    for (unsigned i = 0; i < 10'000; ++i) sum = sum * 6364136223846793005U + i;
    ++rounds;
  }
  return sum;
}

void release_all(std::size_t waiters) {
  stop = true;
  for (std::size_t i = 0; i < waiters; ++i) sem_post(&semaphore);
  pthread_mutex_lock(&mutex);
  released = true;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  word.store(1);
  raw_futex(&word, FUTEX_WAKE_PRIVATE, 1 << 30);
  pthread_mutex_unlock(&held);
  close(pipes[1]);
  close(locked_file);
}

[[noreturn]] void usage() {
  std::fprintf(stderr, "usage: waiting_threads KIND THREADS SECONDS [WORKERS]\n");
  std::exit(2);
}

/// The place among `kinds` of what each thread waits in, or one behind them.
std::vector<std::uintptr_t> waits_of(const std::string& kind, std::size_t threads) {
  if (kind == "turns") return std::vector<std::uintptr_t>(threads, kInTurns);
  if (kind == "naps") return std::vector<std::uintptr_t>(threads, kInNaps);
  std::vector<std::uintptr_t> waits;
  for (std::size_t i = 0; waits.size() < threads; ++i) {
    const std::size_t place = i % std::size(kinds);
    if (kind == kinds[place].name || (kind == "mixed" && place < kFileLocks)) waits.push_back(place);
    if (i == std::size(kinds) && waits.empty()) usage();
  }
  return waits;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) usage();
  const auto threads = static_cast<std::size_t>(std::atoi(arguments[2]));
  const std::chrono::duration<double> length(std::atof(arguments[3]));
  const int workers = count > 4 ? std::atoi(arguments[4]) : 1;
  std::string kind = arguments[1];
  const bool without_descriptors = kind == "without-descriptors";
  if (without_descriptors) kind = "sem";
  const std::vector<std::uintptr_t> waits = waits_of(kind, threads);
  unsigned at_barrier = 1;
  for (const std::uintptr_t wait : waits)
    at_barrier += wait < std::size(kinds) && kinds[wait].wait == waits_in_barrier ? 1 : 0;
  sem_init(&semaphore, 0, 0);
  sem_init(&present, 0, 0);
  pthread_barrier_init(&barrier, nullptr, at_barrier);
  pthread_mutex_lock(&held);
  locked_file = memfd_create("locked", 0);
  if (pipe(pipes) != 0 || flock(locked_file, LOCK_EX) != 0) return 1;
  struct flock whole {};
  whole.l_type = F_WRLCK;
  if (fcntl(locked_file, F_OFD_SETLK, &whole) != 0) return 1;

  while (without_descriptors && dup(0) >= 0) {
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{128} * 1024);
  std::vector<pthread_t> ids(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    if (const int error = pthread_create(&ids[i], &attributes, waiter, reinterpret_cast<void*>(waits[i]));
        error != 0) {
      std::fprintf(stderr, "waiting_threads: thread %zu: %s\n", i, std::strerror(error));
      return 1;
    }
  }
  for (std::size_t i = 0; i < threads; ++i) {
    while (sem_wait(&present) != 0) {
    }
  }
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(length);
  std::vector<pthread_t> working(workers > 1 ? static_cast<std::size_t>(workers - 1) : 0);
  static Clock::time_point shared_end = end;
  const auto work = [](void*) -> void* {
    clocked(kWorks, [] { works(shared_end); });
    return nullptr;
  };
  for (pthread_t& id : working) pthread_create(&id, nullptr, work, nullptr);
  if (workers > 0) {
    clocked(kWorks, [end] { works(end); });
  } else {
    usleep(static_cast<useconds_t>(length.count() * 1e6));
  }
  for (const pthread_t id : working) pthread_join(id, nullptr);
  release_all(threads);
  if (at_barrier > 1) pthread_barrier_wait(&barrier);
  for (const pthread_t id : ids) pthread_join(id, nullptr);
  std::printf("%u of %zu returned\n", returned.load(), threads);
  std::printf("rounds of work: %llu\n", static_cast<unsigned long long>(rounds.load()));
  for (const Spent& one : spent) {
    if (one.ns != 0) std::printf("%s %.6f\n", one.name, static_cast<double>(one.ns) / 1e9);
  }
  return 0;
}
