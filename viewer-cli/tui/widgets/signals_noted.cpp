#include "tui/widgets/signals_noted.hpp"

#include "files/at_death.hpp"

#include <atomic>

namespace culprit::viewer::tui {
namespace {

std::atomic<int> ending{0};
std::atomic<bool> resumed{false};
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

SignalsNoted::SignalsNoted() {
  struct sigaction action {};
  action.sa_handler = [](int) { resumed.store(true); };
  ::sigaction(SIGCONT, &action, &before_going_on_);
  action.sa_handler = [](int signal) {
    if (ending.exchange(signal) != 0) files::die_of(signal);
  };
  for (std::size_t i = 0; i < kEnding.size(); ++i) ::sigaction(kEnding.at(i), &action, &before_.at(i));
}

SignalsNoted::~SignalsNoted() {
  ::sigaction(SIGCONT, &before_going_on_, nullptr);
  for (std::size_t i = 0; i < kEnding.size(); ++i) ::sigaction(kEnding.at(i), &before_.at(i), nullptr);
}

int ended_by() {
  return ending.load();
}

bool take_resumed() {
  return resumed.exchange(false);
}

void die_if_ended() {
  const int signal = ending.load();
  if (signal == 0) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace culprit::viewer::tui
