#pragma once

#include "metrics/wait_pattern.hpp"

#include <cstdint>
#include <string_view>

namespace culprit::waits {

/// The wait states that time stamps show exactly (docs/algorithms.md 7).
enum class Pattern : std::uint8_t {
  none = 0,
  late_sender,
  late_sender_wrong_order,  ///< part of late_sender
  late_receiver,
  wait_at_barrier,
  barrier_completion,
  wait_at_nxn,
  nxn_completion,
  wait_at_init,
  wait_at_finalize,
  late_broadcast,
  early_reduce,
  early_scan,
  late_post,
  early_transfer,
  early_wait,
  late_complete,  ///< part of early_wait
  wait_at_fence,
  early_fence,  ///< part of wait_at_fence
  wait_at_create,
  wait_at_free,
  lock_wait,
  wait_at_root,
};
inline constexpr int kPatterns = 23;

static_assert(static_cast<int>(Pattern::late_sender) ==
              static_cast<int>(metrics::WaitPattern::late_sender) + 1);
static_assert(static_cast<int>(Pattern::lock_wait) == static_cast<int>(metrics::WaitPattern::lock_wait) + 1);

/// Its number in databases; not of none.
constexpr metrics::WaitPattern as_wait_pattern(Pattern pattern) {
  if (pattern == Pattern::wait_at_root) return metrics::WaitPattern::wait_at_root;  // added to them later
  return static_cast<metrics::WaitPattern>(static_cast<std::uint32_t>(pattern) - 1);
}

constexpr std::string_view name_of(Pattern pattern) {
  return pattern == Pattern::none ? "none" : metrics::name_of(as_wait_pattern(pattern));
}

/// The pattern that contains this one; none where it stands for itself.
constexpr Pattern container_of(Pattern pattern) {
  if (pattern == Pattern::none) return Pattern::none;
  const metrics::WaitPattern own = as_wait_pattern(pattern);
  const metrics::WaitPattern whole = metrics::text_of(own).whole;
  return whole == own ? Pattern::none : static_cast<Pattern>(static_cast<std::uint32_t>(whole) + 1);
}

/// Whether it is a wait for somebody: not a part of one, and not the slow end of an operation that all had
/// entered.
constexpr bool is_wait(Pattern pattern) {
  return pattern == Pattern::none || metrics::is_whole_wait(as_wait_pattern(pattern));
}

}  // namespace culprit::waits
