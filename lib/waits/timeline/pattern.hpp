#pragma once

#include <cstdint>
#include <string_view>

namespace culprit::waits {

/// The wait states that time stamps tell exactly (docs/algorithms.md 7).
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
};
inline constexpr int kPatterns = 22;

/// As the command line names it: "late-sender".
std::string_view name_of(Pattern pattern);

/// The pattern that contains this one; none where it stands for itself.
constexpr Pattern container_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::late_sender_wrong_order:
      return Pattern::late_sender;
    case Pattern::late_complete:
      return Pattern::early_wait;
    case Pattern::early_fence:
      return Pattern::wait_at_fence;
    default:
      return Pattern::none;
  }
}

/// Whether it is a wait for somebody: not a part of one, and not the slow end of an operation that all had
/// entered.
constexpr bool is_wait(Pattern pattern) {
  return container_of(pattern) == Pattern::none && pattern != Pattern::barrier_completion &&
         pattern != Pattern::nxn_completion;
}

}  // namespace culprit::waits
