#include "unwind/stack_bounds.hpp"

#include "modules.hpp"

#include <cerrno>
#include <csignal>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/mman.h>
#include <ucontext.h>

namespace stack_bounds_test {

using namespace culprit::unwind;
using namespace culprit::unwind::testing;

namespace {

constexpr std::uint64_t kPage = StackBounds::kPage;

/// Pages of memory, all readable but for the last.
class Pages {
 public:
  explicit Pages(std::uint64_t count) : count_(count) {
    begin_ = mmap(nullptr, count * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(static_cast<char*>(begin_) + (count - 1) * kPage, kPage, PROT_NONE);
  }
  ~Pages() { munmap(begin_, count_ * kPage); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] std::uint64_t at(std::uint64_t page) const {
    return reinterpret_cast<std::uint64_t>(begin_) + page * kPage;
  }

 private:
  std::uint64_t count_;
  void* begin_;
};

std::vector<std::uint64_t> walked_in_coroutine;
WalkEnd coroutine_end;
ucontext_t main_context, coroutine_context;
Walker* coroutine_walker;

[[gnu::noinline]] void inside_coroutine() {
  const Walk walk = coroutine_walker->walk(registers_here());
  for (std::size_t i = 0; i < walk.depth; ++i) walked_in_coroutine.push_back(walk.frames[i].pc);
  coroutine_end = walk.end;
}

void coroutine() {
  inside_coroutine();
  inside_coroutine();
  asm volatile("");  // or else the second call would be a jump
}

}  // namespace

TEST_CASE("the kernel tells readable pages from others, and nothing changes") {
  const Pages pages(3);
  sigset_t before, after;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  errno = 77;
  CHECK(page_is_readable(pages.at(0)));
  CHECK(page_is_readable(pages.at(1) + 4095));
  CHECK_FALSE(page_is_readable(pages.at(2)));
  CHECK_FALSE(page_is_readable(0));
  CHECK_FALSE(page_is_readable(~std::uint64_t{0} - 8));
  CHECK_FALSE(page_is_readable(std::uint64_t{1} << 63U));
  CHECK(errno == 77);
  sigprocmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 65; ++signal)
    CHECK(sigismember(&before, signal) == sigismember(&after, signal));
}

TEST_CASE("a region outside the thread's stack grows page by page to the first unreadable one") {
  const Pages pages(6);
  StackBounds bounds{};
  bounds.set_thread(0x10000, 0x20000);
  bounds.start();
  REQUIRE(bounds.enter(pages.at(1) + 200));
  CHECK(bounds.foreign());
  CHECK(bounds.below_end(pages.at(1) + 4088));
  CHECK(bounds.below_end(pages.at(4)));
  CHECK(bounds.below_end(pages.at(5) - 8));
  CHECK_FALSE(bounds.below_end(pages.at(5) - 7));
  CHECK_FALSE(bounds.below_end(pages.at(5)));
  CHECK_FALSE(bounds.below_end(~std::uint64_t{0}));
  CHECK(bounds.floor(pages.at(1) + 200) == pages.at(1) + 200 - StackBounds::kRedZone);
  CHECK(bounds.floor(pages.at(1) + 100) == pages.at(1) + (StackBounds::kRedZone == 0 ? 100 : 0));
  CHECK_FALSE(bounds.enter(pages.at(5) + 8));
}

TEST_CASE("a region whose red zone reaches into the page below includes it where readable") {
  const Pages pages(3);
  StackBounds bounds{};
  bounds.start();
  REQUIRE(bounds.enter(pages.at(1) + 8));
  CHECK(bounds.floor(pages.at(1) + 8) == pages.at(1) + 8 - StackBounds::kRedZone);
}

TEST_CASE("inside the thread's stack no question is asked and no read goes beyond it") {
  StackBounds bounds{};
  bounds.set_thread(0x10000, 0x20000);  // not mapped at all
  bounds.start();
  REQUIRE(bounds.enter(0x10040));
  CHECK_FALSE(bounds.foreign());
  CHECK(bounds.floor(0x10040) == (StackBounds::kRedZone == 0 ? 0x10040 : 0x10000));
  CHECK(bounds.readable(0x1fff8, 0x10000));
  CHECK_FALSE(bounds.readable(0x1fff9, 0x10000));
  CHECK_FALSE(bounds.readable(0xfff8, 0x10000));
}

TEST_CASE("a coroutine's stack is walked to its root, and again by splicing") {
  const auto walker = make_walker();
  coroutine_walker = walker.get();
  std::vector<char> stack(65536);
  getcontext(&coroutine_context);
  coroutine_context.uc_stack.ss_sp = stack.data();
  coroutine_context.uc_stack.ss_size = stack.size();
  coroutine_context.uc_link = &main_context;
  makecontext(&coroutine_context, coroutine, 0);
  walked_in_coroutine.clear();
  swapcontext(&main_context, &coroutine_context);
  CHECK(coroutine_end == WalkEnd::root);
  REQUIRE(walked_in_coroutine.size() == 6);
  CHECK(walked_in_coroutine[0] == walked_in_coroutine[3]);  // inside_coroutine
  CHECK(walked_in_coroutine[1] != walked_in_coroutine[4]);  // its two call sites
  CHECK(walked_in_coroutine[2] == walked_in_coroutine[5]);  // makecontext's start
}

TEST_CASE("a walk from here finds the functions that called") {
  const auto walker = make_walker();
  const Walk walk = walker->walk(registers_here());
  CHECK(walk.end == WalkEnd::root);
  CHECK(walk.depth > 8);
  for (std::size_t i = 0; i < walk.depth; ++i) CHECK_FALSE(walk.frames[i].bridged);
}

}  // namespace stack_bounds_test
