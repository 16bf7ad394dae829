// Some namespaces can only be entered by a process that has a single thread, and is alone in using its root
// and working directory: the keeper would be one too many.
#include "runtime/process/keeper.hpp"
#include "runtime/process/process.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cerrno>
#include <csignal>

#include <sched.h>

namespace culprit::runtime {
namespace {

/// While it lives, the process has the program's threads only; none starts, since no sample is taken here.
class WithoutKeeper {
 public:
  WithoutKeeper() : own_(own_process()) {
    if (!own_) return;
    mask_ = change_mask(SIG_BLOCK, process.mask);
    dismissed_ = dismiss_keeper();
  }
  ~WithoutKeeper() {
    if (!own_) return;
    const int error = errno;
    if (dismissed_) start_keeper();
    change_mask(SIG_SETMASK, mask_);
    errno = error;
  }
  WithoutKeeper(const WithoutKeeper&) = delete;
  WithoutKeeper& operator=(const WithoutKeeper&) = delete;

 private:
  bool own_;
  bool dismissed_ = false;
  KernelMask mask_ = 0;
};

}  // namespace
}  // namespace culprit::runtime

using culprit::runtime::Real;
using culprit::runtime::WithoutKeeper;

CULPRIT_EXPORT int unshare(int flags) noexcept {
  static CULPRIT_REAL Real<int(int)> real{"unshare"};
  const WithoutKeeper alone;
  return real(flags);
}

CULPRIT_EXPORT int setns(int descriptor, int kind) noexcept {
  static CULPRIT_REAL Real<int(int, int)> real{"setns"};
  const WithoutKeeper alone;
  return real(descriptor, kind);
}
