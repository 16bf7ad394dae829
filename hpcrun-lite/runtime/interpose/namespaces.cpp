// Some namespaces can only be entered by a process that has a single thread, and is alone in using its root
// and working directory: the flusher thread would be one too many.
#include "runtime/recording/flusher.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cerrno>
#include <csignal>

#include <sched.h>

namespace culprit::runtime {
namespace {

/// While it lives, the process has the program's threads only; none starts, since no sample is taken here.
class WithoutFlusher {
 public:
  WithoutFlusher() : own_(own_process()) {
    if (!own_) return;
    mask_ = change_mask(SIG_BLOCK, process.mask);
    dismissed_ = dismiss_flusher();
  }
  ~WithoutFlusher() {
    if (!own_) return;
    const int error = errno;
    if (dismissed_) start_flusher();
    change_mask(SIG_SETMASK, mask_);
    errno = error;
  }
  WithoutFlusher(const WithoutFlusher&) = delete;
  WithoutFlusher& operator=(const WithoutFlusher&) = delete;

 private:
  bool own_;
  bool dismissed_ = false;
  KernelMask mask_ = 0;
};

}  // namespace
}  // namespace culprit::runtime

using culprit::runtime::Real;
using culprit::runtime::WithoutFlusher;

CULPRIT_EXPORT int unshare(int flags) noexcept {
  static CULPRIT_REAL Real<int(int)> real{"unshare"};
  const WithoutFlusher alone;
  return real(flags);
}

CULPRIT_EXPORT int setns(int descriptor, int kind) noexcept {
  static CULPRIT_REAL Real<int(int, int)> real{"setns"};
  const WithoutFlusher alone;
  return real(descriptor, kind);
}
