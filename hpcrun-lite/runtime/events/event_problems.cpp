#include "runtime/events/event_problems.hpp"

#include "runtime/process/process.hpp"
#include "runtime/recording/recording.hpp"

#include <atomic>

namespace culprit::runtime {
namespace {

std::atomic<const char*> reasons[EventList::kMax];
std::atomic<bool> noted[EventList::kMax];

void note(std::size_t event) {
  const char* why = reasons[event].load(std::memory_order_acquire);
  if (why == nullptr || !file.open() || noted[event].exchange(true, std::memory_order_relaxed)) return;
  Text<256> line;
  line.add(process.events.events[event].name).add(" was not sampled in every thread: ").add(why);
  file.note(line.c_str());
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

}  // namespace culprit::runtime
