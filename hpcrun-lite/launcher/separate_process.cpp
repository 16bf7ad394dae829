#include "launcher/separate_process.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace culprit::launcher {
namespace {

[[noreturn]] void run_child(int out, const std::function<std::string()>& work) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  const std::string result = work();
  std::size_t written = 0;
  while (written < result.size()) {
    const ssize_t length = write(out, result.data() + written, result.size() - written);
    if (length < 0 && errno != EINTR) _exit(1);
    if (length > 0) written += static_cast<std::size_t>(length);
  }
  _exit(0);
}

std::string read_all(int in) {
  std::string text;
  char block[4096];
  for (;;) {
    const ssize_t length = read(in, block, sizeof block);
    if (length > 0) text.append(block, static_cast<std::size_t>(length));
    if (length == 0 || (length < 0 && errno != EINTR)) return text;
  }
}

}  // namespace

std::optional<std::string> in_separate_process(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    run_child(ends[1], work);
  }
  close(ends[1]);
  std::string text;
  if (child > 0) text = read_all(ends[0]);
  close(ends[0]);
  if (child < 0) return std::nullopt;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

}  // namespace culprit::launcher
