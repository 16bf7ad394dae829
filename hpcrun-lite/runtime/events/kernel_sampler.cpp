// Samples a software event of the kernel by two descriptors: one sends a single signal and then falls silent,
// the other only counts (perf_event_open(2)). Both are moved to numbers that the program does not count on,
// and the kernel's id of an event is compared before most uses, since programs close descriptors that they do
// not know, and get the same numbers again.
#include "runtime/events/kernel_sampler.hpp"

#include "runtime/system/system_calls.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

/// Descriptors of ours lie in the upper half of what the limit allows, and above those that programs count on
/// (select's 1 024, a shell's single digits): the lower half stays the program's, even if events must go
/// without. Higher numbers would make the kernel's table of descriptors long, and each fork copy it.
constexpr std::uint64_t kHighDescriptors = 8192;
constexpr int kNone = -1;

/// The descriptor's copy up there, or a negative errno; the original is closed either way.
long move_up(long descriptor) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptor;
  const std::uint64_t half = limit.rlim_cur / 2;
  const long first = static_cast<long>(half < kHighDescriptors ? half : kHighDescriptors);
  const long high = system_call(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, first);
  system_call(SYS_close, descriptor);
  return high;
}

std::uint64_t id_of(long descriptor) {
  std::uint64_t id = 0;
  return system_call(SYS_ioctl, descriptor, PERF_EVENT_IOC_ID, word(&id)) == 0 ? id : 0;
}

void refresh(int descriptor) {
  constexpr long kOneSignal = 1;
  system_call(SYS_ioctl, descriptor, PERF_EVENT_IOC_REFRESH, kOneSignal);
}

/// Makes the descriptor send `signal` to the thread `tid`.
long direct(long descriptor, int tid, int signal) {
  f_owner_ex owner{};
  owner.type = F_OWNER_TID;
  owner.pid = tid;
  long failed = system_call(SYS_fcntl, descriptor, F_SETOWN_EX, word(&owner));
  if (failed == 0) failed = system_call(SYS_fcntl, descriptor, F_SETSIG, signal);
  if (failed == 0) failed = system_call(SYS_fcntl, descriptor, F_SETFL, O_RDWR | O_ASYNC | O_NONBLOCK);
  return failed;
}

}  // namespace

int KernelSampler::open(const Event& event, int tid, int signal) {
  KernelOpening opening{
      .event = event.kernel, .period = event.period, .frequency = event.frequency, .user_only = false};
  long opened = open_kernel_event_as_allowed(opening);
  if (opened >= 0) opened = move_up(opened);
  if (opened < 0) return static_cast<int>(-opened);
  sampler_ = static_cast<int>(opened);
  opening.period = 0;
  opening.frequency = 0;
  opened = open_kernel_event(opening);
  if (opened >= 0) opened = move_up(opened);
  if (opened < 0) return static_cast<int>(-opened);
  counter_ = static_cast<int>(opened);
  sampler_id_ = id_of(sampler_);
  counter_id_ = id_of(counter_);
  return static_cast<int>(-direct(sampler_, tid, signal));
}

int KernelSampler::start(const Event& event, int tid, int signal) {
  reset();
  const int error = open(event, tid, signal);
  if (error != 0) {
    if (sampler_ != kNone) system_call(SYS_close, sampler_);
    if (counter_ != kNone) system_call(SYS_close, counter_);
    reset();
    return error;
  }
  period_ = event.period;
  frequency_ = event.frequency;
  armed_ = period_ != 0 ? period_ : frequency_;
  refresh(sampler_);
  return 0;
}

void KernelSampler::reset() {
  sampler_ = kNone;
  counter_ = kNone;
  sampler_id_ = 0;
  counter_id_ = 0;
  taken_ = 0;
  period_ = 0;
  frequency_ = 0;
  armed_ = 0;
  silent_.store(false, std::memory_order_relaxed);
}

bool KernelSampler::own(int descriptor, std::uint64_t id) const {
  return descriptor != kNone && id != 0 && id_of(descriptor) == id;
}

void KernelSampler::stop() {
  if (own(sampler_, sampler_id_)) system_call(SYS_close, sampler_);
  if (own(counter_, counter_id_)) system_call(SYS_close, counter_);
  reset();
}

void KernelSampler::silence() {
  if (own(sampler_, sampler_id_)) system_call(SYS_ioctl, sampler_, PERF_EVENT_IOC_DISABLE, 0);
}

std::uint64_t KernelSampler::take() {
  std::uint64_t count = 0;
  if (!own(counter_, counter_id_)) return 0;
  if (system_call(SYS_read, counter_, word(&count), sizeof count) != sizeof count) return 0;
  const std::uint64_t fresh = count - taken_;
  taken_ = count;
  return fresh;
}

void KernelSampler::pause() {
  if (own(counter_, counter_id_)) system_call(SYS_ioctl, counter_, PERF_EVENT_IOC_DISABLE, 0);
}

void KernelSampler::resume() {
  if (own(counter_, counter_id_)) system_call(SYS_ioctl, counter_, PERF_EVENT_IOC_ENABLE, 0);
  if (silent_.exchange(false, std::memory_order_acq_rel) && own(sampler_, sampler_id_)) refresh(sampler_);
}

// The kernel takes a new frequency by the same call as a new period.
void KernelSampler::arm(const Pace& pace, bool stopped) {
  const std::uint64_t slowed = std::max<std::uint64_t>(frequency_ >> pace.halvings, 1);
  std::uint64_t wanted = period_ != 0 ? (period_ << pace.halvings) + pace.extra : slowed;
  if (wanted != armed_ && own(sampler_, sampler_id_)) {
    system_call(SYS_ioctl, sampler_, PERF_EVENT_IOC_PERIOD, word(&wanted));
    armed_ = wanted;
  }
  if (stopped) {
    silent_.store(true, std::memory_order_release);
  } else if (sampler_ != kNone) {
    refresh(sampler_);
  }
}

}  // namespace culprit::runtime
