#pragma once

#include "machine/machine.hpp"

#include <cstdint>

// Which stack memory may be read. Inside the thread's own stack that is known beforehand. A walk that starts
// elsewhere (an alternate signal stack, a coroutine) asks the kernel, page by page: rt_sigprocmask with an
// invalid operation copies its argument in before it looks at the operation, so it answers EFAULT for
// unreadable memory and EINVAL for readable, changes nothing, and is allowed where process_vm_readv is
// filtered.
namespace culprit::unwind {

/// True if the page that holds `address` can be read now. Async-signal-safe, leaves errno alone.
bool page_is_readable(std::uint64_t address) noexcept;

/// The region of stack that the walk is in. Lives in zeroed memory; async-signal-safe.
class StackBounds {
 public:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kRedZone =
      machine::This::kRedZone;  ///< below sp, but still the function's own

  /// The thread's own stack is [low, high).
  void set_thread(std::uint64_t low, std::uint64_t high) noexcept {
    thread_low_ = low;
    thread_high_ = high;
  }

  /// Starts a walk: nothing that was verified before counts any more.
  void start() noexcept {
    probes_ = 0;
    foreign_ = false;
    last_page_ = 0;
  }

  /// Chooses the region around `sp`. False: it is not readable.
  bool enter(std::uint64_t sp) noexcept {
    if (sp >= thread_low_ && sp < thread_high_) [[likely]] {
      low_ = thread_low_;
      high_ = thread_high_;
      return true;
    }
    return enter_foreign(sp);
  }

  /// The lowest address that a frame whose stack pointer is `sp` may use.
  [[nodiscard]] std::uint64_t floor(std::uint64_t sp) const noexcept {
    return sp - low_ >= kRedZone ? sp - kRedZone : low_;
  }

  /// True if [address, address + 8) lies below the region's end; a region outside the thread's stack grows to
  /// reach it.
  bool below_end(std::uint64_t address) noexcept {
    return address <= high_ - 8 || (outside() && grow(address));
  }

  /// True if [address, address + 8) is in the region and not below `floor`.
  bool readable(std::uint64_t address, std::uint64_t floor) noexcept {
    return address >= floor && below_end(address);
  }

  /// True if the page of `address` was verified in this walk or can be now: for re-reading slots outside the
  /// thread's stack.
  bool verify(std::uint64_t address) noexcept;

  /// True if any region of this walk lay outside the thread's stack.
  [[nodiscard]] bool foreign() const noexcept { return foreign_; }

  [[nodiscard]] bool contains(std::uint64_t sp) const noexcept { return sp >= low_ && sp < high_; }

 private:
  static constexpr unsigned kMaxProbes = 256;  // 1 MiB of foreign stack, or about 40 µs, per walk

  [[nodiscard]] bool outside() const noexcept { return high_ != thread_high_; }
  bool enter_foreign(std::uint64_t sp) noexcept;
  bool grow(std::uint64_t address) noexcept;
  bool probe(std::uint64_t page) noexcept;

  std::uint64_t thread_low_, thread_high_;
  std::uint64_t low_, high_;
  std::uint64_t last_page_;
  unsigned probes_;
  bool foreign_;
};

}  // namespace culprit::unwind
