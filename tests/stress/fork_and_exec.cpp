// Children by every way of making them; each computes a digest and hands it back.
#include "part.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stress {
namespace {

constexpr unsigned kChildSteps = 200'000;  // some milliseconds: the child is sampled too
std::string program;                       // NOLINT(cert-err58-cpp): an empty string throws nothing

struct Pipe {
  int ends[2];
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
  }
  ~Pipe() {
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  /// All that children wrote, as one number.
  std::uint64_t read_number() {
    close(ends[1]);
    ends[1] = -1;
    std::string text;
    char block[64];
    for (ssize_t length = 0; (length = read(ends[0], block, sizeof block)) != 0;) {
      if (length < 0) fail("read from a child");
      text.append(block, static_cast<std::size_t>(length));
    }
    return text.empty() ? 0 : std::stoull(text);
  }
};

std::uint64_t finish(pid_t child, Pipe& pipe) {
  if (child < 0) fail("start a child");
  std::uint64_t sum = 1;
  fold(sum, pipe.read_number());
  int status = 0;
  if (waitpid(child, &status, 0) != child) fail("waitpid");
  fold(sum, static_cast<std::uint64_t>(status));
  return sum;
}

void print_digest(int descriptor, std::uint64_t seed) {
  char text[32];
  const int length =
      snprintf(text, sizeof text, "%llu\n", static_cast<unsigned long long>(digest(seed, kChildSteps)));
  if (write(descriptor, text, static_cast<std::size_t>(length)) != length) _exit(9);
}

std::uint64_t by_fork() {
  Pipe pipe;
  const pid_t child = fork();
  if (child == 0) {
    const std::unique_ptr<char, void (*)(void*)> memory(static_cast<char*>(malloc(5000)), free);
    memset(memory.get(), 1, 5000);
    print_digest(pipe.ends[1], 1);
    _exit(3);
  }
  return finish(child, pipe);
}

std::uint64_t by_fork_and_exec() {
  Pipe pipe;
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe.ends[1], STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), kChild, "2", nullptr);
    _exit(127);
  }
  return finish(child, pipe);
}

std::uint64_t by_vfork() {
  Pipe pipe;
  const char* path = program.c_str();
  const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): it is what is tested
  if (child == 0) {
    dup2(pipe.ends[1], STDOUT_FILENO);
    execl(path, path, kChild, "3", nullptr);
    _exit(127);
  }
  return finish(child, pipe);
}

std::uint64_t by_spawn() {
  Pipe pipe;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], STDOUT_FILENO);
  std::string child_option = kChild;
  std::string seed = "4";
  char* arguments[] = {program.data(), child_option.data(), seed.data(), nullptr};
  pid_t child = -1;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail("posix_spawn");
  return finish(child, pipe);
}

std::uint64_t by_shell() {
  const std::string command = program + " " + kChild + " 5";
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) fail("popen");
  unsigned long long number = 0;
  const int items = fscanf(output, "%llu", &number);
  std::uint64_t sum = static_cast<std::uint64_t>(items);
  fold(sum, number);
  fold(sum, static_cast<std::uint64_t>(pclose(output)));
  fold(sum, static_cast<std::uint64_t>(system("exit 6")));
  return sum;
}

/// exec that fails comes back and the program goes on, measured as before.
std::uint64_t by_failing_exec() {
  const int failed = execl("/nonexistent/program", "program", nullptr);
  return digest(static_cast<std::uint64_t>(failed == -1 && errno == ENOENT));
}

}  // namespace

void set_program(const char* path) {
  program = path;
}

std::uint64_t fork_and_exec() {
  std::uint64_t sum = 1;
  for (const Round way : {by_fork, by_fork_and_exec, by_vfork, by_spawn, by_shell, by_failing_exec}) {
    fold(sum, way());
  }
  return sum;
}

}  // namespace stress
