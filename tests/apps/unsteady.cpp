// unsteady exec|vfork: until standard input ends, a thread beside the main one executes the program anew,
// again and again; or waits for children, uninterruptible. Says how often: tests/integration/test_stacks.py
// looks at it meanwhile.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr useconds_t kBetween = 2'000, kChild = 700'000;  // us

bool is_over() {
  pollfd input{.fd = 0, .events = POLLIN, .revents = 0};
  return poll(&input, 1, 0) > 0;
}

[[noreturn]] void end(const char* what, long times) {
  std::printf("%s %ld\n", what, times);
  std::fflush(stdout);
  _exit(0);
}

[[noreturn]] void execute(long times) {
  usleep(kBetween);
  if (is_over()) end("execs", times);
  std::string number = std::to_string(times + 1);
  char name[] = "unsteady", mode[] = "exec";
  char* const arguments[] = {name, mode, number.data(), nullptr};
  execv("/proc/self/exe", arguments);
  std::perror("exec");
  _exit(1);
}

[[noreturn]] void wait_for_children() {
  for (long times = 0;; ++times) {
    if (is_over()) end("children", times);
    const pid_t child = vfork();
    if (child == 0) {
      usleep(kChild);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      std::perror("vfork");
      _exit(1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool executes = argc > 1 && std::strcmp(argv[1], "exec") == 0;
  const long times = argc > 2 ? std::atol(argv[2]) : 0;
  if (times == 0) {
    std::puts("ready");
    std::fflush(stdout);
  }
  std::thread other([] { pause(); });
  std::thread unsteady([&] { executes ? execute(times) : wait_for_children(); });
  unsteady.join();
}
