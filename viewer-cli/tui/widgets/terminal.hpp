#pragma once

#include "tui/widgets/canvas.hpp"
#include "tui/widgets/event.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>

namespace culprit::viewer::tui {

/// The terminal through ncurses: shows canvases, reports events. One at a time. Whatever way this ends, its
/// destructor, or files/at_death.hpp, gives the terminal back as it was; Ctrl-Z does too, for as long as it
/// lasts.
class Terminal {
 public:
  /// `light`: the background is. Where it is not given, the terminal is asked, and taken to be dark until it
  /// answers (next()). Throws std::runtime_error where it cannot show a screen.
  explicit Terminal(std::optional<bool> light);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] int height() const;
  [[nodiscard]] int width() const;
  void show(const Canvas& canvas);
  /// Draws everything anew with the next canvas: something else wrote on the screen.
  void forget();

  /// Gives the terminal text for its clipboard (OSC 52). False: terminals of this type are not known to take
  /// any.
  bool copy(const std::string& text);

  /// Takes the terminal as its own again, after the program was stopped by what could not be noticed.
  void resume();

  /// Waits `milliseconds` at most for an event (-1: for ever); nothing where none came, or the size
  /// changed.
  std::optional<Event> next(int milliseconds);

 private:
  void use_colours(bool light);
  void ask_background();
  [[nodiscard]] bool answer_is_due() const;
  void take_answer();

  std::optional<std::chrono::steady_clock::time_point> asked_;  ///< as long as there is no answer
};

/// Whether stdin and stdout are a terminal that can show a screen.
bool terminal_can_show_screens();

inline constexpr std::array kEndingSignals = {SIGTERM, SIGHUP, SIGINT};

/// While it lives, signals that end a program are noted instead: the second one, in case nobody looks, ends
/// it at once. Notes as well that the program goes on after it was stopped.
class SignalsNoted {
 public:
  SignalsNoted();
  ~SignalsNoted();
  SignalsNoted(const SignalsNoted&) = delete;
  SignalsNoted& operator=(const SignalsNoted&) = delete;

 private:
  std::array<struct sigaction, kEndingSignals.size()> before_{};
  struct sigaction before_going_on_ {};
};

/// The signal that was noted; 0: none.
int ended_by();
/// Whether the program went on after a stop since this was asked last.
bool take_resumed();
/// After SignalsNoted: dies of the signal that was noted, if any.
void die_if_ended();

}  // namespace culprit::viewer::tui
