// Makes every blocking call that the kernel does not restart after a signal: with a time limit (timed),
// broken off by a signal of the program's own (broken), and completed late by someone else (complete). Prints
// one line for each: result, errno, and whether it lasted as long as it must. The lines are the same measured
// and unmeasured. The last one is no library call but the bare system call, which a sampler cannot reach: it
// says whether signals came at all. Usage: blocking_calls [ROW]
#include "ends.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace blocking {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBreak = 40'000;  // us between the program's own signals

void ignore(int /*signal*/) {}

/// SIGALRM again and again, so that one that comes before the call is followed by another.
void send_signals() {
  struct sigaction action {};
  action.sa_handler = ignore;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every{{0, kBreak}, {0, kBreak}};
  setitimer(ITIMER_REAL, &every, nullptr);
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto& group : {sleeping(), polling(), looking(), waiting_for_signals(), semaphores(), messages(),
                            receiving(), sending(), others(), numbered(), unreadable()}) {
    rows.insert(rows.end(), group.begin(), group.end());
  }
  rows.push_back({Kind::timed, "bare nanosleep", bare_system_call});
  return rows;
}

/// What a row's process reports, in memory shared with its parent.
struct Report {
  Outcome outcome;
  bool lasted;
  bool done;
};

void act(const Row& row, Report& report) {
  if (row.kind == Kind::broken) send_signals();
  const auto begin = Clock::now();
  report.outcome = row.act();
  const auto elapsed = Clock::now() - begin;
  // Half: sockets count the limit by the kernel's ticks, and without any signal 60 ms were 50 now and then
  // where a virtual machine's processor had been taken away. A signal breaks off within the first
  // milliseconds.
  report.lasted = row.kind != Kind::timed || 2 * elapsed >= std::chrono::nanoseconds(kLimit);
  report.done = true;
}

void print(const Row& row, const Report& report) {
  constexpr const char* kNames[] = {"timed", "broken", "complete"};
  if (!report.done) {
    std::printf("%s %s: did not end\n", kNames[static_cast<int>(row.kind)], row.name);
    return;
  }
  std::printf("%s %s: %ld %s%s\n", kNames[static_cast<int>(row.kind)], row.name, report.outcome.result,
              report.outcome.error == 0 ? "good" : strerrorname_np(report.outcome.error),
              report.lasted ? "" : ", too short");
}

/// Each row in a process of its own, all at once: they do little but wait.
void run(const std::vector<Row>& rows) {
  const std::size_t size = rows.size() * sizeof(Report);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, "mmap");
  auto* reports = static_cast<Report*>(memory);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const pid_t made = fork();
    require(made >= 0, "fork");
    if (made == 0) {
      act(rows[i], reports[i]);
      _exit(0);
    }
  }
  while (wait(nullptr) > 0) {
  }
  for (std::size_t i = 0; i < rows.size(); ++i) print(rows[i], reports[i]);
}

}  // namespace
}  // namespace blocking

int main(int argc, char** argv) {
  using namespace blocking;
  std::vector<Row> rows = all_rows();
  if (argc > 1) std::erase_if(rows, [argv](const Row& row) { return std::string(row.name) != argv[1]; });
  run(rows);
  return 0;
}
