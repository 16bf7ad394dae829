// Puts things right when a signal, or an exception that nothing catches, ends a tool: the terminal is given
// back and unfinished files are removed, by async-signal-safe calls alone, on a stack of its own. A fault has
// a reason if a mapped file was changed by somebody else, or memory is exhausted; then one line says so. Else
// the signal is raised again with its default action, so that exit status and core are those of the fault.
#include "files/at_death.hpp"

#include "files/watched_mapping.hpp"
#include "print/printable.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace culprit::files {
namespace {

/// All whose default is to end the process, but SIGKILL and the real-time signals.
constexpr std::array kDeadly = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,    SIGTRAP, SIGABRT,   SIGBUS,
                                SIGFPE,  SIGUSR1, SIGSEGV, SIGUSR2,   SIGPIPE, SIGALRM,   SIGTERM,
                                SIGXCPU, SIGPROF, SIGSYS,  SIGVTALRM, SIGIO,   SIGSTKFLT, SIGPWR};

const char* tool_name = "culprit";
std::atomic<void (*)() noexcept> restore_terminal{nullptr};
/// Paths; a slot that is taken and not filled yet holds kTaken.
std::array<std::atomic<const char*>, 64> unfinished;
constexpr const char* kTaken = "";
std::atomic<bool> dying{false};
static_assert(std::atomic<const char*>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

struct Tolerance {
  std::atomic<bool> on{false};
  std::atomic<std::uint64_t> lost{0};
};
constinit thread_local Tolerance tolerance;  // in the program's own block, so that a handler may look at it

bool is_fault(int signal) noexcept {
  return signal == SIGBUS || signal == SIGSEGV || signal == SIGFPE || signal == SIGILL || signal == SIGABRT;
}

/// Removes a directory, given by `at` and `name`, with all that is in it, down to `levels` of directories
/// below it. Allocates nothing, unlike all that a library offers for that.
void remove_directory(int at, const char* name, int levels) noexcept {
  const int directory = ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return;
  // An entry as the kernel writes it: two numbers of 8 bytes, its length in two, one more, its name.
  constexpr std::size_t kLength = 16, kName = 19;
  std::array<char, 4096> buffer{};
  for (;;) {
    const long bytes = ::syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
    if (bytes <= 0) break;
    for (std::size_t entry = 0; entry < static_cast<std::size_t>(bytes);) {
      std::uint16_t length = 0;
      std::memcpy(&length, buffer.data() + entry + kLength, sizeof length);
      const char* const inside = buffer.data() + entry + kName;
      entry += length;
      if (std::strcmp(inside, ".") == 0 || std::strcmp(inside, "..") == 0) continue;
      if (::unlinkat(directory, inside, 0) != 0 && levels > 0)
        remove_directory(directory, inside, levels - 1);
    }
  }
  ::close(directory);
  ::unlinkat(at, name, AT_REMOVEDIR);
}

void put_right() noexcept {
  constexpr int kLevels = 2;
  if (void (*const restore)() noexcept = restore_terminal.exchange(nullptr)) restore();
  for (auto& slot : unfinished) {
    const char* const path = slot.load();
    if (path != nullptr && *path != '\0' && ::unlink(path) != 0) remove_directory(AT_FDCWD, path, kLevels);
  }
}

/// `tool: parts`, spelled, in one write, so that several ranks' lines do not mix.
void say(std::initializer_list<std::string_view> parts) noexcept {
  std::array<char, 4600> line{};
  std::size_t length = 0;
  const auto put = [&](char character) {
    if (length + 1 < line.size()) line[length++] = character;
  };
  const auto add = [&](std::string_view part) { print::spell(part.data(), part.size(), put); };
  add(tool_name);
  add(": ");
  for (const std::string_view part : parts) add(part);
  line[length++] = '\n';
  (void)!::write(STDERR_FILENO, line.data(), length);
}

/// Puts zeros where a page of a file is gone, if this thread wants that.
bool replace_lost_page(const siginfo_t& info) noexcept {
  if (info.si_code != BUS_ADRERR || !tolerance.on.load(std::memory_order_relaxed)) return false;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto* const at = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(info.si_addr) / page * page);
  if (::mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) return false;
  tolerance.lost.fetch_add(1, std::memory_order_relaxed);
  return true;
}

/// Ends the process with one line if a file that it has mapped was changed: that explains any fault.
void end_if_changed(int signal, const siginfo_t& info) noexcept {
  if (!is_fault(signal)) return;
  const bool page_is_gone = signal == SIGBUS && info.si_code == BUS_ADRERR;
  const WatchedMapping* const broken = WatchedMapping::find_broken(page_is_gone ? info.si_addr : nullptr);
  if (broken == nullptr) return;
  say({"read: ", broken->path(),
       ": was truncated or overwritten while it was read, or its disk fails (start again; replace such "
       "files by "
       "renaming)"});
  ::_exit(1);
}

/// Whether no more memory is to be had. Libraries meet that with faults and assertions: libdw and libstdc++'s
/// directories do, and a stack that cannot grow ends in a fault.
bool is_memory_exhausted() noexcept {
  constexpr std::size_t kLittle = std::size_t{16} << 20U;
  void* const some = ::mmap(nullptr, kLittle, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (some == MAP_FAILED) return errno == ENOMEM;
  ::munmap(some, kLittle);
  return false;
}

void on_deadly(int signal, siginfo_t* info, void*) {
  const int error = errno;
  if (signal == SIGBUS && replace_lost_page(*info)) {
    errno = error;
    return;
  }
  if (dying.exchange(true)) {
    for (;;) ::pause();  // another thread ends the process
  }
  put_right();
  end_if_changed(signal, *info);
  if (is_fault(signal) && is_memory_exhausted()) end_without_memory();
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // taken when this returns, where it happened: that is what a debugger should see
}

/// Exceptions that nothing catches.
[[noreturn]] void on_terminate() {
  if (void (*const restore)() noexcept = restore_terminal.exchange(nullptr)) restore();
  if (is_memory_exhausted()) end_without_memory();
  std::array<char, 1024> what{"no exception"};
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (const std::exception& error) {
    std::strncpy(what.data(), error.what(), what.size() - 1);
  } catch (...) {
    std::strncpy(what.data(), "an unknown exception", what.size() - 1);
  }
  say({"ended by an unexpected error: ", what.data(), " (please report it)"});
  std::abort();
}

/// A stack that ran over leaves none for a handler.
void give_handlers_a_stack() {
  static std::array<std::byte, std::size_t{64} << 10U> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  ::sigaltstack(&stack, nullptr);
}

}  // namespace

void put_right_at_death(const char* tool) {
  tool_name = tool;
  tolerance.on.store(false, std::memory_order_relaxed);
  give_handlers_a_stack();
  struct sigaction action {};
  action.sa_sigaction = on_deadly;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigfillset(&action.sa_mask);
  const auto handle = [&action](int signal) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
    if (before.sa_handler == SIG_DFL || is_fault(signal)) ::sigaction(signal, &action, nullptr);
  };
  std::ranges::for_each(kDeadly, handle);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) handle(signal);
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(on_terminate);
}

void die_of(int signal) noexcept {
  put_right();
  std::signal(signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  std::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::_exit(128 + signal);
}

void end_without_memory() noexcept {
  put_right();
  say({kOutOfMemory});
  ::_exit(1);
}

Unfinished::Unfinished(const std::filesystem::path& path) : path_(std::filesystem::absolute(path).string()) {
  for (std::size_t i = 0; i < unfinished.size(); ++i) {
    const char* none = nullptr;
    if (!unfinished.at(i).compare_exchange_strong(none, kTaken)) continue;
    slot_ = i;
    unfinished.at(i).store(path_.c_str());
    return;
  }
}

void Unfinished::done() noexcept {
  if (slot_ < unfinished.size()) unfinished.at(slot_).store(nullptr);
  slot_ = unfinished.size();
}

void restore_terminal_by(void (*restore)() noexcept) noexcept {
  restore_terminal.store(restore);
}

LostPages::LostPages() {
  tolerance.lost.store(0, std::memory_order_relaxed);
  tolerance.on.store(true, std::memory_order_relaxed);
}

LostPages::~LostPages() {
  tolerance.on.store(false, std::memory_order_relaxed);
}

std::uint64_t LostPages::count() const noexcept {
  return tolerance.lost.load(std::memory_order_relaxed);
}

}  // namespace culprit::files
