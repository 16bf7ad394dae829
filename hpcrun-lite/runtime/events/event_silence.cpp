#include "runtime/events/event_silence.hpp"

#include "runtime/events/kernel_sampling.hpp"
#include "runtime/process/process.hpp"

#include <csignal>
#include <ctime>

namespace culprit::runtime {

void silence_events(Thread* thread) {
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  silence_kernel_events(thread);
  silence(thread->papi_descriptors);
  const timespec at_once{};
  while (system_call(SYS_rt_sigtimedwait, word(&process.mask), 0, word(&at_once), sizeof process.mask) > 0) {
  }
  change_mask(SIG_SETMASK, before);
}

void resume_events(Thread* thread) {
  rearm_kernel_events(thread);
  resume(thread->papi_descriptors);
}

}  // namespace culprit::runtime
