#include "tui/widgets/event.hpp"

namespace culprit::viewer::tui {

Event navigation(const Event& event) {
  if (event.key != Key::letter) return event;
  Event result = event;
  switch (event.letter) {
    case U'j':
    case control('n'):
      result.key = Key::down;
      break;
    case U'k':
    case control('p'):
      result.key = Key::up;
      break;
    case U'h':
      result.key = Key::left;
      break;
    case U'l':
      result.key = Key::right;
      break;
    case U'g':
      result.key = Key::home;
      break;
    case U'G':
      result.key = Key::end;
      break;
    case U' ':
    case control('f'):
    case control('d'):
      result.key = Key::page_down;
      break;
    case control('b'):
    case control('u'):
      result.key = Key::page_up;
      break;
    default:
      break;
  }
  return result;
}

}  // namespace culprit::viewer::tui
