// Forks, and what libraries do on behalf of a program: loading, becoming another program, allocating,
// throwing.
#include "deeds.hpp"

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace coexist {
namespace {

/// A child by a fork that runs no handlers of libraries, and one by the bare system call.
void bare_forks() {
  const auto by_number = [] {
    return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
  };
  for (const bool bare : {false, true}) {
    const pid_t child = bare ? by_number() : _Fork();
    if (child == 0) {
      compute(100);
      usleep(300'000);  // a wait that is recorded beforehand
      _exit(6);
    }
    compute(200);
    int status = 0;
    waitpid(child, &status, 0);
    say("status " + std::to_string(WEXITSTATUS(status)));
  }
}

/// A library that starts a thread while it is being loaded, and waits for it.
void constructor_waits() {
  void* library = dlopen("libwaiting_constructor.so", RTLD_NOW);
  say(library != nullptr ? "loaded" : dlerror());
}

/// Signal handlers that end the process while it looks for a program to become.
void ended_in_exec() {
  std::string path;
  for (int i = 0; i < 2000; ++i) path += "/none/" + std::to_string(i) + ":";
  setenv("PATH", path.c_str(), 1);
  compute(50);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGALRM, [](int) { _exit(7); });
      compute(20);
      const itimerval soon{{0, 0}, {0, 1000 + i * 100}};
      setitimer(ITIMER_REAL, &soon, nullptr);
      for (;;) execlp("none", "none", static_cast<char*>(nullptr));
    }
    int status = 0;
    waitpid(child, &status, 0);
    say("exit " + std::to_string(WEXITSTATUS(status)));
  }
}

/// Allocations in several threads, some freed by another one.
void allocations() {
  std::vector<std::vector<char>> handed_on[4];
  std::vector<std::thread> threads;
  for (auto& blocks : handed_on) {
    threads.emplace_back([&blocks] {
      for (std::size_t i = 1; i < 60'000; ++i) {
        std::vector<char> block(i * 7919 % 3000 + 1, static_cast<char>(i));
        if (i % 100 == 0) blocks.push_back(std::move(block));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  long sum = 0;
  for (auto& blocks : handed_on) {
    for (const auto& block : blocks) sum += static_cast<long>(block.size()) * block[0];
    blocks.clear();
  }
  say("sum " + std::to_string(sum));
}

__attribute__((noinline)) void throw_at(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  throw_at(depth - 1);
  compute(0);
}

void exceptions() {
  int caught = 0;
  for (int i = 0; i < 1000; ++i) {
    try {
      throw_at(20);
    } catch (const std::exception&) {
      ++caught;
    }
  }
  say("caught " + std::to_string(caught));
}

/// The preloaded libraries, without the directories that they lie in.
void preloaded() {
  const char* list = std::getenv("LD_PRELOAD");
  std::string names;
  for (const char* at = list == nullptr ? "" : list; *at != '\0';) {
    const std::size_t length = std::strcspn(at, ": ");
    const std::string path(at, length);
    names += " " + path.substr(path.rfind('/') + 1);
    at += length + (at[length] == '\0' ? 0 : 1);
  }
  say("preloaded:" + names);
  compute(100);
}

}  // namespace

std::vector<Deed> libraries() {
  return {{"bare-forks", bare_forks},       {"constructor-waits", constructor_waits},
          {"ended-in-exec", ended_in_exec}, {"allocations", allocations},
          {"exceptions", exceptions},       {"preloaded", preloaded}};
}

}  // namespace coexist
