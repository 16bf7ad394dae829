#pragma once

#include <array>
#include <csignal>

namespace culprit::viewer::tui {

inline constexpr std::array kEnding = {SIGTERM, SIGHUP, SIGINT};

/// While it lives, signals that end a program are noted instead: the second one, in case nobody looks, ends
/// it at once. Notes as well that the program goes on after it was stopped.
class SignalsNoted {
 public:
  SignalsNoted();
  ~SignalsNoted();
  SignalsNoted(const SignalsNoted&) = delete;
  SignalsNoted& operator=(const SignalsNoted&) = delete;

 private:
  std::array<struct sigaction, kEnding.size()> before_{};
  struct sigaction before_going_on_ {};
};

/// The signal that was noted; 0: none.
int ended_by();
/// Whether the program went on after a stop since this was asked last.
bool take_resumed();
/// After SignalsNoted: dies of the signal that was noted, if any.
void die_if_ended();

}  // namespace culprit::viewer::tui
