// Computes for a while and then ends in the given way. Usage: ends HOW SECONDS [ARGUMENT]
#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

const char* self = "";
double length = 0;
const char* argument = "";

__attribute__((noinline)) void compute_for(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
  }
}

void say(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

void fault() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

void divide() {
  volatile int zero = 0;
  volatile int result = 7 / zero;
  (void)result;
}

// Not to be flattened into a loop.
__attribute__((noinline)) int descend(volatile char* above) {  // NOLINT(misc-no-recursion)
  volatile char here[4096];
  here[0] = above == nullptr ? 0 : *above;
  return descend(here) + here[0];
}

std::jmp_buf out_of_abort;

void survive_abort() {
  std::signal(SIGABRT, [](int) { std::longjmp(out_of_abort, 1); });
  if (setjmp(out_of_abort) == 0) std::abort();
  say("survived");
  compute_for(length / 2);
  std::exit(9);
}

void killed_after_abort() {
  std::signal(SIGABRT, [](int) { std::longjmp(out_of_abort, 1); });
  if (setjmp(out_of_abort) == 0) std::abort();
  compute_for(length / 2);
  raise(SIGKILL);
}

void abort_with(void (*handler)(int)) {
  std::signal(SIGABRT, handler);
  std::abort();
}

void fork_and_go_on() {
  const pid_t child = fork();
  if (child == 0) {
    compute_for(length);
    std::exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  compute_for(length / 2);
  std::exit(WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 5 : 1);
}

void leave_threads_behind() {
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      for (;;) compute_for(1);
    }).detach();
  }
  compute_for(length);
}

void end_main_thread_only() {
  std::thread([] {
    compute_for(length);
    say("last thread");
  }).detach();
  pthread_exit(nullptr);
}

void use_up_memory() {
  std::vector<char*> blocks;
  for (;;) {
    auto* block = new char[8 << 20];  // throws in the end
    std::memset(block, 1, 4096);
    blocks.push_back(block);
  }
}

void use_up_descriptors() {
  int count = 0;
  while (dup(0) >= 0) ++count;
  std::printf("%d descriptors\n", count);
  std::fflush(stdout);
  std::thread other([] { compute_for(length); });
  compute_for(length);
  other.join();
}

void take_lowest_descriptor() {
  bool lowest = true;
  const auto end = Clock::now() + std::chrono::duration<double>(length);
  while (Clock::now() < end) {
    close(0);
    lowest = lowest && open("/dev/null", O_RDONLY) == 0;
  }
  say(lowest ? "lowest" : "another");
}

void write_file(const char* path, std::size_t bytes) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const std::vector<char> block(4096, 'x');
  for (std::size_t done = 0; done < bytes; done += block.size()) {
    if (write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) break;
  }
  close(fd);
}

// The first thread ends; another writes a file of some MB over and over.
void end_main_thread_while_writing() {
  std::thread([] {
    const int fd = open(argument, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const std::vector<char> block(std::size_t{1} << 20, 'x');
    const auto end = Clock::now() + std::chrono::duration<double>(length);
    bool whole = true;
    while (whole && Clock::now() < end)
      whole = pwrite(fd, block.data(), block.size(), 0) == static_cast<ssize_t>(block.size());
    say(whole ? "written" : "not written");
  }).detach();
  pthread_exit(nullptr);
}

// Threads that live for a fraction of a millisecond each, eight at a time; the sum of their lives goes to a
// file.
void start_many_threads() {
  constexpr int kThreads = 10'000;
  constexpr int kAtOnce = 8;
  std::atomic<long long> lived{0};
  for (int i = 0; i < kThreads; i += kAtOnce) {
    std::vector<std::thread> threads;
    for (int j = 0; j < kAtOnce; ++j) {
      threads.emplace_back([&lived] {
        const auto begin = Clock::now();
        compute_for(0.0003);
        lived += std::chrono::nanoseconds(Clock::now() - begin).count();
      });
    }
    for (auto& thread : threads) thread.join();
  }
  if (std::FILE* file = std::fopen(argument, "w")) {
    std::fprintf(file, "%lld\n", lived.load());
    std::fclose(file);
  }
}

// Libraries come and go while threads are sampled; a child that is forked meanwhile leaves by _exit.
void load_and_unload() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (const char* name : {"libBrokenLocale.so.1", "libthread_db.so.1"}) {
    threads.emplace_back([name, &stop] {
      while (!stop) {
        if (void* library = dlopen(name, RTLD_NOW)) dlclose(library);
      }
    });
  }
  compute_for(length);
  const pid_t child = fork();
  if (child == 0) {
    compute_for(length);
    _exit(4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  stop = true;
  for (auto& thread : threads) thread.join();
  std::printf("child %x\n", static_cast<unsigned>(status));
  std::fflush(stdout);
  _exit(6);
}

void replace(const char* path) {
  execl(path, path, "exit", "0.05", static_cast<char*>(nullptr));
  say("exec failed");
  compute_for(length / 2);
  std::exit(4);
}

const std::map<std::string, void (*)()> kEnds = {
    {"return", [] {}},
    {"exit", [] { std::exit(7); }},
    {"_exit", [] { _exit(7); }},
    {"_Exit", [] { std::_Exit(7); }},
    {"quick_exit",
     [] {
       std::at_quick_exit([] {
         compute_for(0.02);
         say("at_quick_exit");
       });
       std::quick_exit(7);
     }},
    {"abort", [] { std::abort(); }},
    {"failed_assert", [] { assert(getpid() == 0); }},
    {"handled_assert",
     [] {
       std::signal(SIGABRT, [](int) { say("handled"); });
       assert(getpid() == 0);
     }},
    {"handled_abort", [] { abort_with([](int) { say("handled"); }); }},
    {"raised_again",
     [] {
       abort_with([](int) {
         std::signal(SIGABRT, SIG_DFL);
         raise(SIGABRT);
       });
     }},
    {"exit_of_abort", [] { abort_with([](int) { _exit(8); }); }},
    {"survived_abort", survive_abort},
    {"killed_after_abort", killed_after_abort},
    {"exception", [] { throw std::runtime_error("nobody catches this"); }},
    {"SIGTERM", [] { raise(SIGTERM); }},
    {"SIGINT", [] { raise(SIGINT); }},
    {"SIGKILL", [] { raise(SIGKILL); }},
    {"SIGALRM", [] { raise(SIGALRM); }},
    {"SIGSEGV", fault},
    {"SIGFPE", divide},
    {"stack_overflow", [] { std::exit(descend(nullptr)); }},
    {"exec", [] { replace(self); }},
    {"failed_exec", [] { replace("/no/such/program"); }},
    {"fork", fork_and_go_on},
    {"threads_left", leave_threads_behind},
    {"pthread_exit", end_main_thread_only},
    {"write_last", end_main_thread_while_writing},
    {"memory", use_up_memory},
    {"descriptors", use_up_descriptors},
    {"lowest_descriptor", take_lowest_descriptor},
    {"file_size",
     [] {
       write_file(argument, 4 << 20);
       compute_for(length);
       std::exit(7);
     }},
    {"full_disk",
     [] {
       write_file(argument, std::size_t{1} << 30);
       compute_for(length);
       std::exit(7);
     }},
    {"sleep", [] { sleep(600); }},
    {"many_threads", start_many_threads},
    {"load", load_and_unload},
};

}  // namespace

int main(int argc, char** argv) {
  const auto end = kEnds.find(argc > 2 ? argv[1] : "");
  if (end == kEnds.end()) {
    std::fputs("usage: ends HOW SECONDS [ARGUMENT]\n", stderr);
    return 2;
  }
  self = argv[0];
  length = std::atof(argv[2]);
  argument = argc > 3 ? argv[3] : "";
  compute_for(length);
  end->second();
  return 0;
}
