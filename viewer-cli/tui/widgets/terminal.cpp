#include "tui/widgets/terminal.hpp"

#include "files/at_death.hpp"
#include "tui/widgets/background.hpp"
#include "tui/widgets/tone.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <clocale>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#define NCURSES_WIDECHAR 1  // the functions for wide characters
#define NCURSES_NOMACROS    // functions stay functions
#include <curses.h>
#include <termios.h>
#include <unistd.h>
namespace culprit::viewer::tui {

namespace {

constexpr int kEscapeMilliseconds = 25;             // how long an escape sequence may take to arrive
constexpr int kAnswerMilliseconds = 200;            // while an answer of the terminal is due
constexpr std::chrono::seconds kAnswerPatience{1};  // none comes later but over the worst of lines
constexpr int kAnswerKey = KEY_MAX + 1;
constexpr short kFirstPair = 1;
constexpr int kPalette = 256;  // terminals with more colours have no palette

struct Drawn {
  attr_t attributes = A_NORMAL;
  short pair = 0;
};

/// By tone, as use_colours() chose.
std::array<Drawn, kTones>& drawn_tones() {
  static std::array<Drawn, kTones> tones;
  return tones;
}

attr_t attributes_of(const Look& look) {
  attr_t attributes = A_NORMAL;
  if (look.bold) attributes |= A_BOLD;
  if (look.dim) attributes |= A_DIM;
  if (look.reverse) attributes |= A_REVERSE;
  if (look.underline) attributes |= A_UNDERLINE;
  return attributes;
}

bool wants_colours() {
  const char* const no_colour = std::getenv("NO_COLOR");
  return no_colour == nullptr || *no_colour == '\0';
}

/// A colour of the palette as the terminal numbers it: one with direct colour takes red, green and blue.
int number_of(int colour, int colours) {
  return colours > kPalette ? direct_colour(colour) : colour;
}

Event mouse_event() {
  MEVENT mouse;
  if (::getmouse(&mouse) != OK) return {};
  Event event;
  event.row = mouse.y;
  event.column = mouse.x;
  if ((mouse.bstate & BUTTON1_DOUBLE_CLICKED) != 0) event.key = Key::click_twice;
  if ((mouse.bstate & (BUTTON1_CLICKED | BUTTON1_PRESSED)) != 0) event.key = Key::click;
  if ((mouse.bstate & BUTTON4_PRESSED) != 0) event.key = Key::wheel_up;
  if ((mouse.bstate & BUTTON5_PRESSED) != 0) event.key = Key::wheel_down;
  return event;
}

struct Named {
  int code;
  Key key;
};
constexpr std::array kKeyCodes = {
    Named{KEY_UP, Key::up},
    Named{KEY_DOWN, Key::down},
    Named{KEY_LEFT, Key::left},
    Named{KEY_RIGHT, Key::right},
    Named{KEY_PPAGE, Key::page_up},
    Named{KEY_NPAGE, Key::page_down},
    Named{KEY_HOME, Key::home},
    Named{KEY_END, Key::end},
    Named{KEY_ENTER, Key::enter},
    Named{KEY_BTAB, Key::back_tab},
    Named{KEY_BACKSPACE, Key::backspace},
    Named{KEY_DC, Key::remove},
};

Event special(int code) {
  if (code == KEY_MOUSE) return mouse_event();
  if (code > KEY_F0 && code <= KEY_F(12)) return {Key::function, 0, code - KEY_F0, 0, 0};
  const auto found =
      std::find_if(kKeyCodes.begin(), kKeyCodes.end(), [&](const Named& each) { return each.code == code; });
  return found == kKeyCodes.end() ? Event{} : Event{found->key, 0, 0, 0, 0};
}

Event typed(wint_t letter) {
  switch (letter) {
    case L'\r':
    case L'\n':
      return {Key::enter, 0, 0, 0, 0};
    case L'\t':
      return {Key::tab, 0, 0, 0, 0};
    case 0x1b:
      return {Key::escape, 0, 0, 0, 0};
    case 0x7f:
    case 0x08:
      return {Key::backspace, 0, 0, 0, 0};
    default:
      return {Key::letter, static_cast<char32_t>(letter), 0, 0, 0};
  }
}

/// What a handler of signals needs to give the terminal back; curses' own functions may not be called there.
struct Before {
  termios modes{};
  bool known = false;
  std::array<char, 256> sequences{};
  std::size_t length = 0;
};
Before before;

/// What the terminal does at the end of a screen: no mouse, keys as usual, a cursor, no colours, the main
/// screen.
void note_sequences() {
  std::string all = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l";
  for (const char* const name : {"rmkx", "cnorm", "sgr0", "op", "rmcup"}) {
    const char* const sequence = ::tigetstr(name);
    if (sequence == nullptr || sequence == reinterpret_cast<const char*>(-1)) continue;
    all += sequence;
  }
  before.length = all.copy(before.sequences.data(), before.sequences.size());
}

/// Async-signal-safe.
void give_back() noexcept {
  (void)!::write(STDOUT_FILENO, before.sequences.data(), before.length);
  if (before.known) ::tcsetattr(STDIN_FILENO, TCSANOW, &before.modes);
}

/// What puts text into the terminal's clipboard: OSC 52 with the text in base 64.
std::string clipboard_sequence(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kGroup = 3;
  constexpr unsigned kBits = 6, kByte = 8, kDigit = 0x3f;
  std::string sequence = "\x1b]52;c;";
  for (std::size_t at = 0; at < text.size(); at += kGroup) {
    const std::size_t bytes = std::min(kGroup, text.size() - at);
    unsigned group = 0;
    for (std::size_t byte = 0; byte < kGroup; ++byte)
      group = group << kByte | (byte < bytes ? static_cast<unsigned char>(text[at + byte]) : 0U);
    for (std::size_t digit = 0; digit <= kGroup; ++digit)
      sequence += digit <= bytes ? kDigits[group >> (kBits * (kGroup - digit)) & kDigit] : '=';
  }
  return sequence + '\a';
}

}  // namespace

Terminal::Terminal(std::optional<bool> light) {
  std::setlocale(LC_CTYPE, "");
  before.known = ::tcgetattr(STDIN_FILENO, &before.modes) == 0;
  if (::newterm(nullptr, stdout, stdin) == nullptr)
    throw std::runtime_error("browse: the terminal cannot show a screen (use viewer-cli DB report)");
  note_sequences();
  files::restore_terminal_by(give_back);
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::set_escdelay(kEscapeMilliseconds);
  ::curs_set(0);
  ::mouseinterval(0);
  ::mousemask(BUTTON1_CLICKED | BUTTON1_PRESSED | BUTTON1_DOUBLE_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED,
              nullptr);
  use_colours(light.value_or(false));
  const char* const type = std::getenv("TERM");
  if (!light && ::has_colors() && wants_colours() && type != nullptr && takes_questions(type))
    ask_background();
}

Terminal::~Terminal() {
  ::endwin();
  files::restore_terminal_by(nullptr);
}

void Terminal::resume() {
  ::reset_prog_mode();
  ::clearok(curscr, TRUE);
  ::refresh();
}

bool Terminal::copy(const std::string& text) {
  const char* const type = std::getenv("TERM");
  if (type == nullptr || !takes_questions(type)) return false;
  const std::string sequence = clipboard_sequence(text);
  return ::write(STDOUT_FILENO, sequence.data(), sequence.size()) == static_cast<ssize_t>(sequence.size());
}

/// The answer comes among the keys, whenever it does: as a key of its own, so that it is never taken for
/// letters.
void Terminal::ask_background() {
  if (::define_key(kAnswerBegins, kAnswerKey) == ERR) return;
  if (::write(STDOUT_FILENO, kAskBackground.data(), kAskBackground.size()) < 0) return;
  asked_ = std::chrono::steady_clock::now();
  ::set_escdelay(kAnswerMilliseconds);
}

bool Terminal::answer_is_due() const {
  return asked_ && std::chrono::steady_clock::now() - *asked_ < kAnswerPatience;
}

/// What follows its beginning, up to BEL or ESC \.
void Terminal::take_answer() {
  constexpr std::size_t kLongest = 64;
  constexpr wint_t kBell = 7, kEscape = 0x1b;
  ::timeout(kAnswerMilliseconds);
  std::string answer;
  wint_t letter = 0;
  while (answer.size() < kLongest && ::get_wch(&letter) == OK && letter != kBell && letter != kEscape)
    answer += letter < 0x80 ? static_cast<char>(letter) : '?';
  if (letter == kEscape) ::get_wch(&letter);
  asked_.reset();
  ::set_escdelay(kEscapeMilliseconds);
  const std::optional<bool> light = light_background_answered(answer);
  if (!light) return;
  use_colours(*light);
  ::touchwin(stdscr);
  ::refresh();
}

void Terminal::use_colours(bool light) {
  int colours = 0;
  if (wants_colours() && ::has_colors()) {
    ::start_color();
    ::use_default_colors();
    colours = COLORS;
    if (COLOR_PAIRS <= kTones) colours = 0;
  }
  const std::array<Look, kTones> looks = looks_for(colours, light);
  for (std::size_t tone = 0; tone < looks.size(); ++tone) {
    Drawn& drawn = drawn_tones().at(tone);
    drawn.attributes = attributes_of(looks.at(tone));
    drawn.pair = 0;
    if (colours == 0) continue;
    drawn.pair = static_cast<short>(kFirstPair + static_cast<short>(tone));
    ::init_extended_pair(drawn.pair, number_of(looks.at(tone).foreground, colours),
                         number_of(looks.at(tone).background, colours));
  }
}

int Terminal::height() const {
  return LINES;
}
int Terminal::width() const {
  return COLS;
}

void Terminal::forget() {
  ::clearok(curscr, TRUE);
}

void Terminal::show(const Canvas& canvas) {
  std::vector<cchar_t> line(static_cast<std::size_t>(canvas.width()) + 1);
  for (int row = 0; row < canvas.height(); ++row) {
    for (int column = 0; column < canvas.width(); ++column) {
      const Cell& cell = canvas.at(row, column);
      const Drawn& drawn = drawn_tones().at(static_cast<std::size_t>(cell.tone));
      const attr_t attributes = drawn.attributes | (cell.selected ? A_REVERSE : A_NORMAL);
      const std::array<wchar_t, 2> text = {static_cast<wchar_t>(cell.letter), L'\0'};
      ::setcchar(&line[static_cast<std::size_t>(column)], text.data(), attributes, drawn.pair, nullptr);
    }
    ::mvadd_wchnstr(row, 0, line.data(), canvas.width());
  }
  ::refresh();
}

std::optional<Event> Terminal::next(int milliseconds) {
  if (asked_ && !answer_is_due()) ::set_escdelay(kEscapeMilliseconds);
  ::timeout(milliseconds);
  wint_t letter = 0;
  const int kind = ::get_wch(&letter);
  if (kind == ERR) return std::nullopt;
  if (kind == KEY_CODE_YES) {
    if (static_cast<int>(letter) == KEY_RESIZE) return std::nullopt;
    if (static_cast<int>(letter) == kAnswerKey) {
      take_answer();
      return std::nullopt;
    }
    const Event event = special(static_cast<int>(letter));
    return event.key == Key::none ? std::nullopt : std::optional(event);
  }
  return typed(letter);
}

bool terminal_can_show_screens() {
  const char* const terminal = std::getenv("TERM");
  if (terminal == nullptr || *terminal == '\0' || std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
}

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
  for (std::size_t i = 0; i < kEndingSignals.size(); ++i)
    ::sigaction(kEndingSignals.at(i), &action, &before_.at(i));
}

SignalsNoted::~SignalsNoted() {
  ::sigaction(SIGCONT, &before_going_on_, nullptr);
  for (std::size_t i = 0; i < kEndingSignals.size(); ++i)
    ::sigaction(kEndingSignals.at(i), &before_.at(i), nullptr);
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
