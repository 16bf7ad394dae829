#include "runtime/recording/held_off.hpp"

#include "runtime/recording/flusher.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

namespace culprit::runtime {

constinit ChargeOwedTick charge_owed_tick = nullptr;

namespace {

/// Waits for room, a fiftieth of a second at most.
void relieve(Thread* thread) {
  constexpr std::uint64_t kLook = kSecond / 20'000;
  constexpr std::uint64_t kLongest = kSecond / 50;
  for (std::uint64_t waited = 0; waited < kLongest; waited += kLook) {
    if (!begin_recording(thread)) return;
    const bool ask = thread->tree != nullptr && thread->tree->arena().asks_for_room();
    const bool wait = thread->tree != nullptr && thread->tree->arena().is_nearly_full();
    if (wait && waited + kLook >= kLongest) thread->tree->arena().give_up_growth();
    end_recording(thread);
    if (ask || wait) ring_flusher();
    if (!wait || !flusher_runs()) return;
    const timespec look = to_timespec(kLook);
    system_call(SYS_nanosleep, word(&look), 0);
  }
}

}  // namespace

void end_path(Thread* thread) {
  const bool low = thread->tree != nullptr && thread->tree->arena().is_low();
  end_recording(thread);
  if (low) [[unlikely]]
    relieve(thread);
}

}  // namespace culprit::runtime
