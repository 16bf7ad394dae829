#pragma once

#include "tui/canvas.hpp"
#include "tui/event.hpp"

#include <optional>

namespace culprit::viewer::tui {

/// The terminal through ncurses: shows canvases, tells events. One at a time. Whatever way this ends, its
/// destructor gives the terminal back as it was; Ctrl-Z does too, for as long as it lasts.
class Terminal {
 public:
  /// `light`: the background is. Throws std::runtime_error where the terminal cannot show a screen.
  explicit Terminal(bool light);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] int height() const;
  [[nodiscard]] int width() const;
  void show(const Canvas& canvas);
  /// Draws everything anew with the next canvas: something else wrote on the screen.
  void forget();

  /// Waits for an event, so many milliseconds at most (-1: for ever); nothing where none came, or the size
  /// changed.
  std::optional<Event> next(int milliseconds);

 private:
  void use_colours(bool light);
};

/// Whether stdin and stdout are a terminal that can show a screen.
bool terminal_can_show_screens();

/// By $CULPRIT_BACKGROUND (light or dark), else by $COLORFGBG, which some terminals set; dark where nobody
/// says.
bool background_is_light();

}  // namespace culprit::viewer::tui
