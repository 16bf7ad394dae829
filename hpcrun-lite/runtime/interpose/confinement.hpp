#pragma once

#include "runtime/system/system_calls.hpp"

namespace culprit::runtime {

/// Before the program forbids itself system calls (seccomp), on pain of death perhaps: ends sampling in all
/// threads and seals the measurement, so that nothing of ours makes a system call any more. Does nothing in
/// processes that are not measured.
void end_before_confinement();

/// True if this prctl call, or seccomp operation, can install a filter or has system calls dispatched.
/// Without one it only finds out whether the kernel knows filters.
bool confines_by_prctl(long option, long mode, long filter);
bool confines_by_seccomp(long operation, long filter);

/// While it lives, the process has the program's threads only; none starts, since no sample is taken here.
/// Some namespaces can only be entered by a process that has a single thread, and is alone in using its root
/// and working directory: the flusher thread would be one too many.
class WithoutFlusher {
 public:
  WithoutFlusher();
  ~WithoutFlusher();
  WithoutFlusher(const WithoutFlusher&) = delete;
  WithoutFlusher& operator=(const WithoutFlusher&) = delete;

 private:
  bool own_;
  bool dismissed_ = false;
  KernelMask mask_ = 0;
};

}  // namespace culprit::runtime
