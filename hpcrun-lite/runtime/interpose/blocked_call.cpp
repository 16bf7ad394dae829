// Keeps the sampling signal away from calls that it would break off or cut short (signal(7)), and has the
// wait charged as a whole when the call ends (docs/algorithms.md 13). A wait that may last a quarter of a
// second or more is published before, for the case that the process dies in it. Calls that a longjmp left are
// recognized by their address: calls deeper on the stack than the present one are gone.
#include "runtime/interpose/blocked_call.hpp"

#include "runtime/recording/call_path.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/charge.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/sampling/program_signals.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace culprit::runtime {

namespace {

/// Waits shorter than this are not published: what a process loses when it dies is less than the one second
/// promised.
constexpr std::uint64_t kPublish = kSecond / 4;

/// Something to record of a call by the thread that makes it.
struct Record {
  Thread* thread;
  unwind::Registers start;
  bool done;
};

/// Publishes that the thread waits from now on.
void publish(void* argument) {
  auto* publication = static_cast<Record*>(argument);
  Thread* thread = publication->thread;
  if (!begin_recording(thread)) return;
  publication->done = ensure_tree(thread);
  if (publication->done) {
    WalkFlaws flaws;
    const measurement::NodeIndex node = current_path(thread, publication->start, flaws);
    thread->tree->life().begin_wait(node, sampling_time(now()),
                                    current_mark(thread, publication->start, flaws).kind);
  }
  end_recording(thread);
}

/// Charges what is due up to the instant at which sampling was stopped, during the call.
void cut(void* argument) {
  auto* record = static_cast<Record*>(argument);
  if (!begin_recording(record->thread)) return;
  charge_blocked(record->thread, record->start);
  end_recording(record->thread);
}

/// The handler's stack is no place for handlers of the program's: all signals are blocked while it is used.
constexpr KernelMask kAll = ~KernelMask{0};

/// Calls `act` with a Record on the handler's stack; false where it could not do what it is for. With all
/// signals blocked. Not inlined: the walk starts in this frame, which vanishes from the path as all of ours.
__attribute__((noinline)) bool record_here(Thread* thread, void (*act)(void*)) {
  Record record{.thread = thread, .start = unwind::registers_here(), .done = false};
  move_to_handler_stack(thread, act, &record);
  return record.done;
}

void withdraw(Thread* thread) {
  if (!begin_recording(thread)) return;
  if (thread->tree != nullptr) thread->tree->life().end_wait();
  end_recording(thread);
}

/// From now on call paths show `function` for the frame that holds the address `frame`. Returns the
/// number of those around it.
std::uint32_t push(InterposedFunctions& interposed, const void* frame, const void* function) {
  const auto place = reinterpret_cast<std::uintptr_t>(frame);
  // What lies deeper on the stack than this was left behind by a longjmp.
  while (interposed.depth > 0 && interposed.stack[interposed.depth - 1] <= place) --interposed.depth;
  const std::uint32_t around = interposed.depth;
  if (around < InterposedFunctions::kMax) {
    interposed.stack[around] = place;
    interposed.function[around] = reinterpret_cast<std::uintptr_t>(function);
    ++interposed.depth;
  }
  return around;
}

}  // namespace

BlockedCall::BlockedCall(const void* function, std::uint64_t limit_ns) : thread_(this_thread()) {
  // A handler of the program's may have interrupted the thread while it used its walker (epochs.cpp).
  if (thread_ != nullptr && (control.off.load(std::memory_order_relaxed) ||
                             is_counting(thread_, reinterpret_cast<std::uintptr_t>(this))))
    thread_ = nullptr;
  if (thread_ != nullptr && process.ended.load(std::memory_order_relaxed)) thread_ = nullptr;
  if (thread_ == nullptr) return;
  unpark();
  // A child by a raw system call shares the parent's file; one by clone may run beside it, on the same stack.
  const bool publishes = limit_ns >= kPublish && !sampling_stopped() && own_process();
  const KernelMask before = change_mask(SIG_BLOCK, publishes ? kAll : process.mask);
  const bool blocked = (before & process.mask) != 0;
  // By a call that this one interrupts, or by the program; else a longjmp left a call without unblocking.
  const auto place = reinterpret_cast<std::uintptr_t>(this);
  was_blocked_ = blocked && (thread_->blocked_from > place || blocked_by_program() != 0);
  outer_ = thread_->blocked_from;
  if (!was_blocked_) thread_->blocked_from = place;
  interposed_around_ = push(thread_->interposed, this, function);
  if (culprit_rt_thread.counted) begin_window(thread_, account_time());
  if (!publishes) return;
  published_ = record_here(thread_, publish);
  change_mask(SIG_SETMASK, before | process.mask);
}

BlockedCall::~BlockedCall() {
  if (thread_ == nullptr) return;
  const int error = errno;
  if (published_) withdraw(thread_);
  if (sampling_stopped() && own_process()) {
    const KernelMask before = change_mask(SIG_BLOCK, kAll);
    record_here(thread_, cut);
    change_mask(SIG_SETMASK, before);
  }
  if (!was_blocked_) {
    thread_->blocked_from = outer_ > reinterpret_cast<std::uintptr_t>(this) ? outer_ : 0;
    thread_->blocked_call = true;
    change_mask(SIG_UNBLOCK, process.mask);  // the held-back signal arrives here
    thread_->blocked_call = false;
  }
  thread_->interposed.depth = interposed_around_;
  errno = error;
}

namespace {

// Options that some socket was given.
constexpr unsigned kReceiveTimeout = 1, kSendTimeout = 2, kLeastAmount = 4, kLinger = 8;
std::atomic<unsigned> noted_options{0};

/// Whether some socket has one of these options, and the calling thread is sampled.
bool noted(unsigned options) {
  return (noted_options.load(std::memory_order_relaxed) & options) != 0 && this_thread() != nullptr;
}

}  // namespace

bool is_readable(long address, std::size_t size) {
  if (!process.active) return false;
  constexpr std::uintptr_t kPage = 4096;
  constexpr long kNoChange = -1;
  const auto begin = static_cast<std::uintptr_t>(address);
  const std::uintptr_t last = begin + size - sizeof(KernelMask);
  for (std::uintptr_t at = begin; at < begin + size;
       at = (at + sizeof(KernelMask) - 1) / kPage * kPage + kPage) {
    const auto mask = static_cast<long>(at < last ? at : last);
    if (system_call(SYS_rt_sigprocmask, kNoChange, mask, 0, sizeof(KernelMask)) == -EFAULT) return false;
  }
  return true;
}

bool reads_interruptibly(int descriptor, std::size_t size) {
  const bool large = size > kWhole;
  const bool timed = noted(kReceiveTimeout);
  if ((!large && !timed) || this_thread() == nullptr) return false;
  const mode_t type = file_type_of(descriptor);
  return (timed && type == S_IFSOCK && !is_nonblocking(descriptor)) || (large && type == S_IFCHR);
}

bool writes_interruptibly(int descriptor, std::size_t size) {
  if (size <= 1 || this_thread() == nullptr) return false;
  const mode_t type = file_type_of(descriptor);
  if (type == S_IFSOCK) return !is_nonblocking(descriptor);
  return size > kWhole && (type == S_IFIFO || type == S_IFCHR);
}

bool is_nonblocking(int descriptor) {
  if (this_thread() == nullptr) return true;
  const long flags = system_call(SYS_fcntl, descriptor, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

bool socket_waits(int descriptor, int flags) {
  return (flags & MSG_DONTWAIT) == 0 && !is_nonblocking(descriptor);
}

bool receives_at_once(int flags) {
  constexpr int kPlain = MSG_PEEK | MSG_TRUNC | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC;
  return (flags & ~kPlain) == 0 && this_thread() != nullptr && !noted(kLeastAmount);
}

bool is_timed_socket(int descriptor) {
  return noted(kReceiveTimeout | kSendTimeout) && file_type_of(descriptor) == S_IFSOCK;
}

bool may_have_timed_sockets() {
  return noted(kReceiveTimeout | kSendTimeout);
}

bool may_have_lingering_sockets() {
  return noted(kLinger);
}

bool may_linger(int descriptor) {
  return noted(kLinger) && file_type_of(descriptor) == S_IFSOCK;
}

void note_socket_option(int level, int option) {
  if (level != SOL_SOCKET) return;
  unsigned noted = 0;
  if (option == SO_RCVTIMEO_OLD || option == SO_RCVTIMEO_NEW) noted = kReceiveTimeout;
  if (option == SO_SNDTIMEO_OLD || option == SO_SNDTIMEO_NEW) noted = kSendTimeout;
  if (option == SO_RCVLOWAT) noted = kLeastAmount;
  if (option == SO_LINGER) noted = kLinger;
  if (noted != 0) noted_options.fetch_or(noted, std::memory_order_relaxed);
}

std::size_t length_of(const iovec* pieces, int count) {
  if (count <= 0 || count > IOV_MAX) return 0;
  if (!is_readable(word(pieces), static_cast<std::size_t>(count) * sizeof *pieces)) return 0;
  std::size_t length = 0;
  for (int i = 0; i < count && length <= kWhole; ++i) length += pieces[i].iov_len;
  return length;
}

}  // namespace culprit::runtime
