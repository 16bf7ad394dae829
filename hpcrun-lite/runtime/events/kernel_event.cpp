#include "runtime/events/kernel_event.hpp"

#include "runtime/system/system_calls.hpp"

#include <cerrno>

namespace culprit::runtime {
namespace {

char plain(char c) {
  if (c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  return c == '_' ? '-' : c;
}

bool same(const char* begin, const char* end, const char* name) {
  if (name == nullptr) return false;
  while (begin != end && *name != '\0' && plain(*begin) == plain(*name)) {
    ++begin;
    ++name;
  }
  return begin == end && *name == '\0';
}

long open_for_this_thread(const perf_event_attr& attributes) {
  constexpr long kThisThread = 0;
  constexpr long kAnyProcessor = -1;
  constexpr long kNoGroup = -1;
  return system_call(SYS_perf_event_open, word(&attributes), kThisThread, kAnyProcessor, kNoGroup,
                     PERF_FLAG_FD_CLOEXEC);
}

}  // namespace

const KernelEvent* find_kernel_event(const char* begin, const char* end) {
  for (const KernelEvent& event : kKernelEvents) {
    if (same(begin, end, event.name) || same(begin, end, event.alias)) return &event;
  }
  return nullptr;
}

long open_kernel_event(const KernelOpening& opening) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = opening.event->config;
  attributes.exclude_kernel = opening.user_only ? 1 : 0;
  attributes.exclude_hv = attributes.exclude_kernel;
  if (opening.frequency != 0) {
    attributes.freq = 1;
    attributes.sample_freq = opening.frequency;
  } else {
    attributes.sample_period = opening.period;
  }
  const bool samples = opening.period != 0 || opening.frequency != 0;
  attributes.disabled = samples ? 1 : 0;
  attributes.wakeup_events = samples ? 1 : 0;
  return open_for_this_thread(attributes);
}

long open_kernel_event_as_allowed(KernelOpening& opening) {
  opening.user_only = false;
  const long whole = open_kernel_event(opening);
  if ((whole != -EACCES && whole != -EPERM) || opening.event->in_kernel) return whole;
  opening.user_only = true;
  const long part = open_kernel_event(opening);
  return part >= 0 ? part : whole;
}

long open_cycle_counter() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return open_for_this_thread(attributes);
}

void close_event(long descriptor) {
  system_call(SYS_close, descriptor);
}

}  // namespace culprit::runtime
