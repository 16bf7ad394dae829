#pragma once

#include <optional>
#include <string_view>

// Whether the terminal's background is light: colours are chosen for it.
namespace culprit::viewer::tui {

/// What the user says by $CULPRIT_BACKGROUND (light or dark), else the terminal by $COLORFGBG; not set where
/// neither does.
std::optional<bool> light_background_stated();

/// Whether a terminal of this type (terminfo's name) takes xterm's question for its background: it answers,
/// or passes over it.
bool takes_questions(std::string_view terminal);

/// Asks for the background, in xterm's words (OSC 11).
inline constexpr std::string_view kAskBackground = "\033]11;?\033\\";
/// How all answers in such words begin.
inline constexpr const char* kAnswerBegins = "\033]";

/// An answer to that, without its beginning and end: `11;rgb:ffff/ffff/ffff`. Not set where it is another
/// one.
std::optional<bool> light_background_answered(std::string_view answer);

}  // namespace culprit::viewer::tui
