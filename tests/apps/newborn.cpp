// newborn: writes "ready" and the number of a child process, in which a thread has just begun and not run an
// instruction since; until standard input ends.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

void must(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::exit(1);
}

/// The next stop of a thread that is traced.
int stopped(pid_t thread) {
  int status = 0;
  must(waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status), "waitpid");
  return status >> 16;
}

/// Makes a thread as soon as it may read.
pid_t start_child(int may_read) {
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child > 0) return child;
  must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "prctl");
  char byte = 0;
  must(read(may_read, &byte, 1) == 1, "read");
  std::thread([] {}).join();
  _exit(0);
}

}  // namespace

int main() {
  int ends[2];
  must(pipe(ends) == 0, "pipe");
  const pid_t child = start_child(ends[0]);
  must(ptrace(PTRACE_SEIZE, child, nullptr, PTRACE_O_TRACECLONE) == 0, "ptrace");
  must(write(ends[1], "", 1) == 1, "write");
  must(stopped(child) == PTRACE_EVENT_CLONE, "clone");
  unsigned long thread = 0;
  must(ptrace(PTRACE_GETEVENTMSG, child, nullptr, &thread) == 0, "ptrace");
  stopped(static_cast<pid_t>(thread));
  must(syscall(SYS_tgkill, child, thread, SIGSTOP) == 0, "tgkill");
  must(ptrace(PTRACE_DETACH, thread, nullptr, 0) == 0 && ptrace(PTRACE_DETACH, child, nullptr, 0) == 0,
       "ptrace");
  std::printf("ready\n%d\n", child);
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  kill(child, SIGKILL);
  return waitpid(child, nullptr, 0) == child ? 0 : 1;
}
