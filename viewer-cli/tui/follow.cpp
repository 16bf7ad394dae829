#include "tui/follow.hpp"

#include "commands/follow.hpp"
#include "tui/follow_screen.hpp"
#include "tui/widgets/background.hpp"
#include "tui/widgets/terminal.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace culprit::viewer::tui {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{250};  // how soon a signal that ends us is noticed

void paint(Terminal& terminal, FollowScreen& shown) {
  Canvas canvas(terminal.height(), terminal.width());
  shown.draw(canvas);
  terminal.show(canvas);
}

/// Looks go on while the screen is held: what was missed is in the run so far.
bool run(Terminal& terminal, FollowScreen& shown, follow::Follower& follower, const Invocation& invocation) {
  int height = 0;
  int width = 0;
  bool changed = true;
  const auto next_look = [&] {
    const std::chrono::milliseconds pause = pause_after(follower.cost_s(), invocation.every_s);
    shown.set_pause(std::chrono::duration<double>(pause).count());
    return steady_clock::now() + pause;
  };
  steady_clock::time_point due = next_look();
  while (!shown.finished() && ended_by() == 0) {
    if (take_resumed()) {
      terminal.resume();
      changed = true;
    }
    if (changed || height != terminal.height() || width != terminal.width()) paint(terminal, shown);
    height = terminal.height();
    width = terminal.width();
    changed = false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - steady_clock::now());
    const auto wait = std::clamp(left, std::chrono::milliseconds(0), kLongestWait);
    if (const std::optional<Event> event = terminal.next(static_cast<int>(wait.count()))) {
      if (event->is(control('l'))) terminal.forget();
      shown.handle(*event);
      changed = true;
    }
    if (steady_clock::now() < due) continue;
    look(follower, invocation.database);
    if (follower.ended()) return true;
    if (follower.runs()) shown.take(follower.summary(), follower.tree());
    due = next_look();
    changed = true;
  }
  return false;
}

}  // namespace

bool follow_on_screen(follow::Follower& follower, const Invocation& invocation, const Screen& screen) {
  FollowScreen shown(invocation.database, invocation.every_s, screen.unicode);
  shown.take(follower.summary(), follower.tree());
  bool ended = follower.ended();
  if (!ended) {
    const SignalsNoted noted;
    Terminal terminal(light_background_stated());
    ended = run(terminal, shown, follower, invocation);
  }
  die_if_ended();
  return ended;
}

}  // namespace culprit::viewer::tui
