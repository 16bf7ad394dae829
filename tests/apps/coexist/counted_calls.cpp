// Calls that the measurement counts by their call paths, and jumps out of calls.
#include "deeds.hpp"

#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace coexist {
namespace {

std::jmp_buf out_of_handler;

void jump_at_alarms() {
  struct sigaction action {};
  action.sa_handler = [](int) { std::longjmp(out_of_handler, 1); };
  action.sa_flags = SA_NODEFER;
  sigaction(SIGALRM, &action, nullptr);
}
void alarm_in(long microseconds) {
  const itimerval soon{{0, 0}, {0, microseconds}};
  setitimer(ITIMER_REAL, &soon, nullptr);
}

/// Out of a blocking call by a jump that restores no mask; then computes.
void jump_out_of_call() {
  jump_at_alarms();
  if (setjmp(out_of_handler) == 0) {
    alarm_in(20'000);
    pause();
  }
  compute(300);
  say("jumped");
}

/// CulpritEpoch and CulpritPath of the measurement's runtime: as its wrappers of one-sided communication,
/// which this program does without, count a call.
struct Epoch {
  std::uint32_t kind, size_class;
  std::uint64_t window, peers, time_ns;
};
struct Path {
  std::uint32_t tree, node;
  std::uint64_t pc, sp, bp, bx;  // where the walk starts; 0: where it is counted
  std::uint64_t site;

  bool operator==(const Path&) const = default;
};
using Count = unsigned(const Epoch*, std::size_t, const void*, std::size_t, Path*);

/// Null where this process is not measured.
Count* find_count_epochs() {
  return reinterpret_cast<Count*>(dlsym(RTLD_DEFAULT, "culprit_rt_count_epochs"));
}

/// The path at which a call here is counted, if `path` does not tell it already.
[[gnu::noipa]] Path counted(Count* count_epochs, Path path) {
  const Epoch epoch{3, 0, 0, 0, 1};
  count_epochs(&epoch, 1, nullptr, 0, &path);
  return path;
}
[[gnu::noipa]] Path counted_elsewhere(Count* count_epochs, Path path) {
  path = counted(count_epochs, path);
  asm volatile("");  // no tail call
  return path;
}

/// A path to be walked from here.
[[gnu::always_inline]] inline Path walk_from_here() {
  Path path{};
  asm volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2\n\tmovq %%rbx, %3"
               : "=&r"(path.pc), "=m"(path.sp), "=m"(path.bp), "=m"(path.bx));
  return path;
}

/// As a wrapper counts: the same place and stack pointer, whichever function `counted_through` it was.
[[gnu::noipa]] Path counted_in_wrapper(Count* count_epochs) {
  Path here = walk_from_here();
  here.site = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  return counted(count_epochs, here);
}
[[gnu::noipa]] Path call_wrapper(Count* count_epochs) {
  const Path path = counted_in_wrapper(count_epochs);
  asm volatile("");
  return path;
}
template <int kNumber>
[[gnu::noipa]] Path counted_through(Count* count_epochs) {
  const Path path = call_wrapper(count_epochs);
  asm volatile("");
  return path;
}

/// Calls from one place differ by their callers; each has the same path every time.
void count_in_turns(Count* count_epochs) {
  Path first{};
  Path second{};
  const auto same = [](const Path& a, const Path& b) { return a.tree == b.tree && a.node == b.node; };
  for (int turn = 0; turn < 4; ++turn) {
    const Path one = counted_through<1>(count_epochs);
    const Path two = counted_through<2>(count_epochs);
    require(one.pc == two.pc && one.sp == two.sp && one.site == two.site, "calls of two places");
    require(one.tree == two.tree && one.node != two.node, "two callers with one path");
    require(turn == 0 || (same(one, first) && same(two, second)), "a path that changed in turns");
    first = one;
    second = two;
  }
  for (int turn = 0; turn < 3; ++turn) {
    const Path again = counted_through<2>(count_epochs);
    require(!same(again, second), "another caller with the same path");
    require(turn == 0 || same(again, first), "a path that changed in a row");
    first = again;
  }
}

/// Exit statuses: which of the expectations of a child failed; 0 none.
int count_in_child(Count* count_epochs, Path parents, bool own) {
  const Path fresh = counted(count_epochs, {});
  if (!own) return fresh == Path{} ? 0 : 1;  // the parent's tree is none of its business
  if (fresh.tree == 0 || fresh.tree == parents.tree) return 2;
  return counted(count_epochs, parents).tree == fresh.tree ? 0 : 3;
}

/// Who counts several things of one call walks its call path once; a forked child begins its own tree, and
/// one by the bare system call has none.
void call_paths() {
  compute(50);
  Count* count_epochs = find_count_epochs();
  if (count_epochs != nullptr) {
    const Path path = counted(count_epochs, {});
    require(path.tree != 0, "a path that was not found");
    require(counted_elsewhere(count_epochs, path) == path, "a path that was not reused");
    const Path other = counted_elsewhere(count_epochs, {});
    require(other.tree == path.tree && other.node != path.node, "two places with one path");
    const Path here = walk_from_here();
    const Path from_here = counted(count_epochs, here);
    require(from_here.tree == path.tree && from_here.node != path.node, "a walk that started elsewhere");
    require(counted_elsewhere(count_epochs, here) == from_here, "a path that depends on who walked it");
    count_in_turns(count_epochs);
    for (const bool bare : {false, true}) {
      const pid_t child =
          bare ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0)) : fork();
      if (child == 0) _exit(count_in_child(count_epochs, path, !bare));
      int status = 0;
      waitpid(child, &status, 0);
      require(status == 0, "a child's path, " + std::to_string(WEXITSTATUS(status)));
    }
    require(counted(count_epochs, {}).tree == path.tree, "a tree that changed");
  }
  say("counted");
}

/// Out of the measurement's own counting of a call, as a program does that jumps out of a handler during a
/// call of one-sided communication; then computes.
void jump_out_of_count() {
  Count* count_epochs = find_count_epochs();
  compute(100);
  jump_at_alarms();
  volatile int jumps = 0;
  while (jumps < 20) {
    if (setjmp(out_of_handler) == 0) {
      alarm_in(2'000);
      while (true) {
        if (count_epochs != nullptr) counted(count_epochs, {});
      }
    }
    jumps = jumps + 1;
  }
  compute(500);
  say("jumped");
}

}  // namespace

std::vector<Deed> counted_calls() {
  return {{"jump-out-of-call", jump_out_of_call},
          {"jump-out-of-count", jump_out_of_count},
          {"call-paths", call_paths}};
}

}  // namespace coexist
