#include "runtime/recording/refusals.hpp"

#include "measurement/launch_variables.hpp"
#include "measurement/runtime_notes.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/text.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace culprit::runtime {
namespace {

std::atomic<const char*> reasons[EventList::kMax];
std::atomic<bool> noted[EventList::kMax];

void note(std::size_t event) {
  const char* why = reasons[event].load(std::memory_order_acquire);
  if (why == nullptr || !file.open() || noted[event].exchange(true, std::memory_order_relaxed)) return;
  Text<256> line;
  line.add(process.events.events[event].name).add(" was").add(measurement::kWhyNotSampled).add(why);
  file.note(line.c_str());
}

std::atomic<std::uint64_t> refused[EventList::kMax];
std::atomic<const char*> first_reason{nullptr};

constexpr const char* kFull =
    "timer_create: Resource temporarily unavailable: raise the limit of pending signals, ulimit -i";
constexpr const char* kForbidden =
    "timer_create: Operation not permitted: "
    "a filter of system calls (seccomp) has to allow timer_create, timer_settime and timer_delete";
constexpr const char* kUnknown =
    "timer_create: Function not implemented: the kernel lacks timers, or "
    "a filter of system calls (seccomp) has to allow timer_create, timer_settime and timer_delete";
constexpr const char* kOther = "timer_create failed";
constexpr const char* kSettingForbidden =
    "timer_settime: Operation not permitted: "
    "a filter of system calls (seccomp) has to allow timer_create, timer_settime and timer_delete";
constexpr const char* kSettingUnknown =
    "timer_settime: Function not implemented: "
    "a filter of system calls (seccomp) has to allow timer_create, timer_settime and timer_delete";
constexpr const char* kSettingOther = "timer_settime failed";

const char* reason(TimerCall call, int error) {
  const bool create = call == TimerCall::create;
  switch (error) {
    case EAGAIN:
      return create ? kFull : kSettingOther;
    case EPERM:
    case EACCES:
      return create ? kForbidden : kSettingForbidden;
    case ENOSYS:
      return create ? kUnknown : kSettingUnknown;
    default:
      return create ? kOther : kSettingOther;
  }
}

/// Of a job's processes only the first speaks, as far as the launcher says which that is.
bool speaks() {
  for (const char* rank : measurement::kRankVariables) {
    const char* value = getenv(rank);
    if (value != nullptr) return strcmp(value, "0") == 0;
  }
  return process.launched;
}

}  // namespace

void event_failed(std::size_t event, const char* why) {
  const char* none = nullptr;
  reasons[event].compare_exchange_strong(none, why, std::memory_order_release);
  note(event);
}

void note_event_problems() {
  for (std::size_t i = 0; i < process.events.count; ++i) {
    noted[i].store(false, std::memory_order_relaxed);  // a forked child's file is another one
    note(i);
  }
}

void timer_refused(std::size_t event, TimerCall call, int error) {
  const char* none = nullptr;
  const char* why = reason(call, error);
  first_reason.compare_exchange_strong(none, why, std::memory_order_relaxed);
  refused[event].fetch_add(1, std::memory_order_relaxed);
  event_failed(event, why);
}

void handler_refused(int error) {
  if (!speaks()) return;
  Text<512> line;
  line.add("hpcrun-lite: no samples: ");
  if (error == 0) {
    line.add(
        "every signal above SIGRTMIN+12 has a handler: the program is not measured (free one of these "
        "signals)");
  } else {
    line.add("rt_sigaction: ").add(strerrordesc_np(error));
    line.add(": the program is not measured (a filter of system calls, seccomp, has to allow rt_sigaction)");
  }
  say(line);
}

std::uint64_t unsampled_threads() {
  std::uint64_t most = 0;
  for (const auto& count : refused) most = std::max(most, count.load(std::memory_order_relaxed));
  return most;
}

const char* first_refusal() {
  return first_reason.load(std::memory_order_relaxed);
}

void note_unsampled_threads() {
  const std::uint64_t threads = unsampled_threads();
  if (threads == 0 || !file.open()) return;
  Text<128> line;
  line.number(threads).add(threads == 1 ? " thread got no timer and was not sampled"
                                        : " threads got no timer and were not sampled");
  file.note(line.c_str());
}

void forget_refusals() {
  for (auto& count : refused) count.store(0, std::memory_order_relaxed);
  first_reason.store(nullptr, std::memory_order_relaxed);
}

}  // namespace culprit::runtime
