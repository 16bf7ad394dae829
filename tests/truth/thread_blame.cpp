// Truth: threads, locks and conditions of C++, and of C11 (thrd_create, mtx_lock), and a pool of oneTBB. One
// thread holds a lock longer than the others; pools idle while the main thread prepares their work. Usage and
// log as of thread_blame.c.
#include "truth_log.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <threads.h>

namespace {

struct Line {
  const char *what, *function;
  long long begin, end;
};
std::mutex log_mutex;  // its waits are too short to matter
std::vector<Line> lines;

void note(const char* what, const char* function, long long begin) {
  const long long end = truth_now();
  const std::lock_guard lock(log_mutex);
  lines.push_back({what, function, begin, end});
}

constexpr int kThreads = 4;
int repetitions = 10;

template <typename Lock, typename Unlock>
void hold(const char* function, double milliseconds, Lock lock, Unlock unlock) {
  const long long wanted = truth_now();
  lock();
  note("wait", "-", wanted);
  const long long held = truth_now();
  truth_sleep(milliseconds);
  note("hold", function, held);
  unlock();
}

std::mutex contended;

[[gnu::noinline]] void hold_long() {
  hold(
      "hold_long", 15, [] { contended.lock(); }, [] { contended.unlock(); });
  __asm__ volatile("");
}
[[gnu::noinline]] void hold_briefly() {
  hold(
      "hold_briefly", 1, [] { contended.lock(); }, [] { contended.unlock(); });
  __asm__ volatile("");
}

void cpp() {
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < repetitions; ++i) {
        truth_sleep(3);
        if (t == 0) {
          hold_long();
        } else {
          hold_briefly();
        }
      }
    });
  }
}

mtx_t c11_mutex;

[[gnu::noinline]] void hold_long_c11() {
  hold(
      "hold_long_c11", 15, [] { mtx_lock(&c11_mutex); }, [] { mtx_unlock(&c11_mutex); });
  __asm__ volatile("");
}
[[gnu::noinline]] void hold_briefly_c11() {
  hold(
      "hold_briefly_c11", 1, [] { mtx_lock(&c11_mutex); }, [] { mtx_unlock(&c11_mutex); });
  __asm__ volatile("");
}

int run_c11(void* number) {
  for (int i = 0; i < repetitions; ++i) {
    truth_sleep(3);
    if (*static_cast<int*>(number) == 0) {
      hold_long_c11();
    } else {
      hold_briefly_c11();
    }
  }
  return 0;
}

void c11() {
  mtx_init(&c11_mutex, mtx_plain);
  thrd_t threads[kThreads];
  int numbers[kThreads];
  for (int t = 0; t < kThreads; ++t) {
    numbers[t] = t;
    thrd_create(&threads[t], run_c11, &numbers[t]);
  }
  for (thrd_t& thread : threads) thrd_join(thread, nullptr);
}

/// Workers sleep on a condition variable while the main thread prepares their work.
std::mutex pool_mutex;
std::condition_variable work_there, work_done;
int rounds = 0, working = 0;
bool over = false;

[[gnu::noinline]] void prepare() {
  const long long begin = truth_now();
  truth_sleep(20);
  note("work", "prepare", begin);
}
[[gnu::noinline]] void handle() {
  const long long begin = truth_now();
  truth_sleep(10);
  note("work", "handle", begin);
}

void run_worker() {
  std::unique_lock lock(pool_mutex);
  for (int seen = 0;;) {
    work_there.wait(lock, [&] { return over || rounds != seen; });
    if (over) return;
    seen = rounds;
    lock.unlock();
    handle();
    lock.lock();
    if (--working == 0) work_done.notify_one();
  }
}

void pool() {
  std::vector<std::jthread> threads;
  for (int t = 1; t < kThreads; ++t) threads.emplace_back(run_worker);
  truth_sleep(5);
  const long long begin = truth_now();
  for (int i = 0; i < repetitions; ++i) {
    prepare();
    std::unique_lock lock(pool_mutex);
    ++rounds;
    working = kThreads - 1;
    work_there.notify_all();
    work_done.wait(lock, [] { return working == 0; });
  }
  note("team", "-", begin);
  const std::lock_guard lock(pool_mutex);
  over = true;
  work_there.notify_all();
}

/// Of oneTBB, whose threads look for work for a while before they sleep.
void tbb_pool() {
  namespace tbb = oneapi::tbb;
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, kThreads);
  tbb::task_arena arena(kThreads);
  const auto share_out = [&](int tasks, auto task) {
    arena.execute([&] {
      tbb::parallel_for(
          0, tasks, [&](int) { task(); }, tbb::simple_partitioner());
    });
  };
  share_out(4 * kThreads, [] { truth_sleep(5); });  // makes the threads
  const long long begin = truth_now();
  for (int i = 0; i < repetitions; ++i) {
    prepare();
    share_out(kThreads, handle);
  }
  note("team", "-", begin);
}

}  // namespace

int main(int argc, char** argv) {
  const char* scenario = argc > 3 ? argv[3] : "cpp";
  if (argc > 2) repetitions = std::atoi(argv[2]);
  if (std::strcmp(scenario, "cpp") == 0) cpp();
  if (std::strcmp(scenario, "c11") == 0) c11();
  if (std::strcmp(scenario, "pool") == 0) pool();
  if (std::strcmp(scenario, "tbb") == 0) tbb_pool();
  const std::string path = std::string(argc > 1 ? argv[1] : ".") + "/blame.log";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return 1;
  for (const Line& line : lines)
    std::fprintf(file, "%s %s %s %d %lld %lld\n", line.what, scenario, line.function,
                 std::strcmp(line.what, "team") == 0 ? kThreads : 1, line.begin, line.end);
  return std::fclose(file) == 0 ? 0 : 1;
}
