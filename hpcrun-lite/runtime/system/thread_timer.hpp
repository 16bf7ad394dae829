#pragma once

#include "runtime/system/system_calls.hpp"

#include <csignal>
#include <ctime>

namespace culprit::runtime {

/// Creates a timer on `clock` whose expirations send `signal` to the thread `thread_id` of this process, with
/// `mark` as their value. Returns the kernel's number for it, or a negative errno. Async-signal-safe.
inline long create_thread_timer(clockid_t clock, int signal, int thread_id, int mark) {
  sigevent notify{};
  notify.sigev_notify = SIGEV_THREAD_ID;
  notify.sigev_signo = signal;
  notify.sigev_value.sival_int = mark;
  notify._sigev_un._tid = thread_id;
  int timer = -1;
  const long failed = system_call(SYS_timer_create, clock, word(&notify), word(&timer));
  return failed == 0 ? timer : failed;
}

}  // namespace culprit::runtime
