#include "measurement/write_signals.hpp"

#include "recording.hpp"

#include <cerrno>
#include <csignal>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace write_signals_test {

using culprit::measurement::WriteSignals;

namespace {

/// Runs in a child process, whose default action for both signals is to die; returns its status.
template <typename Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    _exit(body());
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

int write_without_reader() {
  int ends[2];
  if (pipe(ends) != 0) return 10;
  close(ends[0]);
  const WriteSignals signals;
  return write(ends[1], "x", 1) == -1 && errno == EPIPE ? 0 : 11;
}

bool is_pending(int number) {
  sigset_t set;
  sigpending(&set);
  return sigismember(&set, number) == 1;
}

}  // namespace

TEST_CASE("a write without a reader raises nothing") {
  const int status = in_child(write_without_reader);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a write beyond the file-size limit raises nothing") {
  const recording::Directory directory;
  const int status = in_child([&directory] {
    const rlimit limit{.rlim_cur = 100, .rlim_max = 100};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const int fd = open((directory / "file").c_str(), O_CREAT | O_WRONLY, 0600);
    const WriteSignals signals;
    return pwrite(fd, "x", 1, 200) == -1 && errno == EFBIG ? 0 : 2;
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a signal that the program holds back stays pending, and masks are as before") {
  const int status = in_child([] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    raise(SIGPIPE);
    if (write_without_reader() != 0) return 1;
    sigset_t mask;
    sigprocmask(SIG_SETMASK, nullptr, &mask);
    if (sigismember(&mask, SIGPIPE) != 1 || sigismember(&mask, SIGXFSZ) != 0) return 2;
    return is_pending(SIGPIPE) ? 0 : 3;
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace write_signals_test
