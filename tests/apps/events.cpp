// A program whose functions each cause one kind of event: page faults, context switches, processor time.
// Prints how many it knows of, for tests to compare with.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

namespace {

constexpr std::size_t kPage = 4096;
volatile std::uint64_t sink;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Writes to `pages` pages that nobody touched before.
__attribute__((noinline)) void touch_fresh_memory(std::size_t pages) {
  void* memory = mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  madvise(memory, pages * kPage, MADV_NOHUGEPAGE);
  for (std::size_t page = 0; page < pages; ++page) static_cast<volatile char*>(memory)[page * kPage] = 1;
  munmap(memory, pages * kPage);
}

/// Writes to pages of shared memory of System V. The kernel serves such a fault in two steps, and begins
/// again if a signal comes in between.
__attribute__((noinline)) void touch_shared_memory(std::size_t pages) {
  const int id = shmget(IPC_PRIVATE, pages * kPage, IPC_CREAT | 0600);
  void* memory = id < 0 ? nullptr : shmat(id, nullptr, 0);
  if (id >= 0) shmctl(id, IPC_RMID, nullptr);
  if (id < 0 || memory == reinterpret_cast<void*>(-1)) std::exit(1);
  for (std::size_t page = 0; page < pages; ++page) static_cast<volatile char*>(memory)[page * kPage] = 1;
  shmdt(memory);
}

/// Blocks in a system call that restarts after a signal, `times` times, without using the processor in
/// between.
__attribute__((noinline)) void wait_often(int times) {
  int ends[2];
  int back[2];
  if (pipe(ends) != 0 || pipe(back) != 0) std::exit(1);
  std::thread answer([&] {
    char byte = 0;
    while (read(ends[0], &byte, 1) == 1 && byte != 0) {
      if (write(back[1], &byte, 1) != 1) break;
    }
  });
  char byte = 1;
  for (int i = 0; i < times; ++i) {
    if (write(ends[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) std::exit(1);
  }
  byte = 0;
  if (write(ends[1], &byte, 1) != 1) std::exit(1);
  answer.join();
}

/// Computes for `seconds` of processor time.
__attribute__((noinline)) void spin(double seconds) {
  const double end = cpu_seconds() + seconds;
  while (cpu_seconds() < end) {
    for (int i = 0; i < 10000; ++i) sink = sink + static_cast<std::uint64_t>(i);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int scale = argc > 1 ? std::atoi(argv[1]) : 1;
  const std::size_t pages = 20000, shared_pages = 2000;
  const int waits = 2000;
  for (int i = 0; i < scale; ++i) {
    touch_fresh_memory(pages);
    touch_shared_memory(shared_pages);
    wait_often(waits);
    spin(0.5);
  }
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  std::printf("faults %ld switches %ld seconds %.3f\n", usage.ru_minflt + usage.ru_majflt,
              usage.ru_nvcsw + usage.ru_nivcsw, cpu_seconds());
  return 0;
}
