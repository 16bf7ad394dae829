#include "unwind/stack_bounds.hpp"

#include <cerrno>

namespace culprit::unwind {

bool page_is_readable(std::uint64_t address) noexcept {
  constexpr long kNoSuchOperation = -1;
  constexpr long kSetSize = 8;
  const std::uint64_t probe = address & ~std::uint64_t{7};
  const long result =
      machine::system_call(SYS_rt_sigprocmask, kNoSuchOperation, static_cast<long>(probe), 0, kSetSize);
  return result == -EINVAL && probe != 0;
}

bool StackBounds::probe(std::uint64_t page) noexcept {
  if (probes_ == kMaxProbes || !page_is_readable(page)) return false;
  ++probes_;
  return true;
}

bool StackBounds::enter_foreign(std::uint64_t sp) noexcept {
  foreign_ = true;
  const std::uint64_t page = sp & ~(kPage - 1);
  if (sp < kPage || sp > ~std::uint64_t{0} - 2 * kPage || !probe(page)) return false;
  low_ = page;
  high_ = page + kPage;
  if (sp - page < kRedZone && probe(page - kPage)) low_ = page - kPage;
  return true;
}

bool StackBounds::grow(std::uint64_t address) noexcept {
  if (address < low_ || address > ~std::uint64_t{0} - 8) return false;
  if (address - high_ > kMaxProbes * kPage && address > high_) return false;
  while (address > high_ - 8) {
    if (!probe(high_)) return false;
    high_ += kPage;
  }
  return true;
}

bool StackBounds::verify(std::uint64_t address) noexcept {
  if (address >= thread_low_ && address <= thread_high_ - 8) return true;
  const std::uint64_t page = address & ~(kPage - 1);
  if (page == last_page_) return true;
  if (!probe(page)) return false;
  last_page_ = page;
  return true;
}

}  // namespace culprit::unwind
