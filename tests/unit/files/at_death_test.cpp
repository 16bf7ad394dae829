// What is put right when a process dies. Each death is that of a child.
#include "files/at_death.hpp"

#include "files/new_file.hpp"
#include "files/watched_mapping.hpp"
#include "scratch.hpp"

#include <csignal>
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

using namespace culprit::files;

namespace {

void say_restored() noexcept {
  (void)!::write(STDERR_FILENO, "[restored]", 10);
}

struct Death {
  int signal = 0, status = 0;
  std::string said;
};

/// How a child ends that does `work`, with everything that is put right at its death.
Death die(const Scratch& scratch, const std::function<void()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int said = ::open((scratch.path / "said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(said, STDERR_FILENO);
    const struct rlimit no_core {};
    ::setrlimit(RLIMIT_CORE, &no_core);
    for (const int signal : {SIGINT, SIGTERM, SIGSEGV, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, SIG_DFL);
    put_right_at_death("tool");
    restore_terminal_by(say_restored);
    work();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return {.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .said = scratch.read("said")};
}

/// As from a thread.
template <class Error>
void uncaught(const Error& error) {
  std::thread([&] { throw error; }).join();
}

int sum(std::span<const std::byte> bytes) {
  int all = 0;
  for (const std::byte byte : bytes) all += static_cast<int>(byte);
  return all;
}

}  // namespace

TEST_CASE("Whatever signal ends a process, the terminal is given back and unfinished files are removed") {
  const Scratch scratch;
  for (const int signal :
       {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGTERM, SIGUSR1}) {
    INFO(signal);
    const Death death = die(scratch, [&] {
      NewFile file(scratch.path / "out");
      file.write("half");
      std::raise(signal);
    });
    CHECK(death.signal == signal);
    // An emulator says in its own words what its program died of.
    CHECK((death.said == "[restored]" || death.said.starts_with("[restored]qemu: uncaught target signal")));
    CHECK(std::distance(std::filesystem::directory_iterator(scratch.path), {}) == 1);  // what was said
  }
}

TEST_CASE("An uncaught exception is reported in one line") {
  const Scratch scratch;
  const Death death = die(scratch, [] { uncaught(std::runtime_error("two\nlines")); });
  CHECK(death.signal == SIGABRT);
  CHECK(death.said.starts_with("[restored]tool: "));
  CHECK(death.said.find("two\\nlines") != std::string::npos);
  const Death memory = die(scratch, [] { uncaught(std::bad_alloc()); });
  CHECK(memory.status == 1);
  CHECK(memory.said.starts_with("[restored]tool: out of memory ("));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need memory themselves
TEST_CASE("A signal after memory has run out is reported as out of memory") {
  const Scratch scratch;
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS}) {
    constexpr int kNoLimit = 77;
    const Death death = die(scratch, [signal] {
      struct rlimit none {};
      ::setrlimit(RLIMIT_AS, &none);
      ::getrlimit(RLIMIT_AS, &none);
      if (none.rlim_cur != 0) ::_exit(kNoLimit);
      std::raise(signal);
    });
    if (death.status == kNoLimit) {
      WARN("not checked: an emulator lets nobody limit its memory");
      return;
    }
    CHECK(death.status == 1);
    CHECK(death.said.starts_with("[restored]tool: out of memory ("));
  }
}
#endif

TEST_CASE("A fault in a truncated or overwritten mapped file names that file") {
  const Scratch scratch;
  const auto with_mapping = [&](const std::function<void(const WatchedMapping&)>& work) {
    const std::filesystem::path path = scratch.write("data", std::string(100'000, 'x'));
    return die(scratch, [&] {
      const WatchedMapping mapping(path, Descriptor(::open(path.c_str(), O_RDONLY)), false);
      work(mapping);
    });
  };
  const std::string line = "[restored]tool: read: " + (scratch.path / "data").string() + ": was truncated or";
  const Death truncated = with_mapping([&](const WatchedMapping& mapping) {
    std::filesystem::resize_file(scratch.path / "data", 10);
    ::_exit(sum(mapping.bytes()) == 0 ? 2 : 3);
  });
  CHECK(truncated.status == 1);
  CHECK(truncated.said.starts_with(line));
  const Death overwritten = with_mapping([&](const WatchedMapping& mapping) {
    scratch.write("data", "y");
    if (mapping.changed()) std::raise(SIGSEGV);
  });
  CHECK(overwritten.status == 1);
  CHECK(overwritten.said.starts_with(line));
  const Death unrelated = with_mapping([](const WatchedMapping&) { std::raise(SIGSEGV); });
  CHECK(unrelated.signal == SIGSEGV);
}

TEST_CASE("A thread that wants it reads zeros where a file was truncated") {
  const Scratch scratch;
  const std::filesystem::path path = scratch.write("data", std::string(100'000, '\1'));
  const Death none = die(scratch, [&] {
    const LostPages lost;
    const WatchedMapping mapping(path, Descriptor(::open(path.c_str(), O_RDONLY)), false);
    std::filesystem::resize_file(path, 4096);
    const int found = sum(mapping.bytes());
    ::_exit(found == 4096 && lost.count() == 24 ? 0 : 1);
  });
  CHECK(none.status == 0);
}
