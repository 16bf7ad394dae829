// keys_bench DB: what opening a database in the browser costs until the first screen is drawn, and what each
// key costs: the event, the screen after it, and the longest step of what goes on in the background. CPU time
// of the browser's thread (others work on the machine) and time on the wall, in milliseconds; the largest of
// all times that the key was pressed.

#include "tui/browser.hpp"
#include "tui/canvas.hpp"
#include "views/database_source.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <map>
#include <string>
#include <string_view>

using namespace culprit::viewer::tui;
namespace views = culprit::views;

namespace {

constexpr int kHeight = 60, kWidth = 200;  // the largest that is tested: most to draw

struct Cost {
  double cpu_ms = 0, wall_ms = 0;
};

class Stopwatch {
 public:
  [[nodiscard]] Cost stop() const {
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - wall_;
    return {cpu() - cpu_, wall.count()};
  }

 private:
  static double cpu() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
  }
  double cpu_ = cpu();
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
};

class Keys {
 public:
  explicit Keys(Browser& browser) : browser_(browser) {}

  void draw() {
    Canvas canvas(kHeight, kWidth);
    browser_.draw(canvas);
  }

  /// Types `letters` under one name.
  void type(const std::string& name, std::string_view letters) {
    for (const char letter : letters) {
      Event event{Key::letter, static_cast<char32_t>(letter), 0, 0, 0};
      if (letter == '\n') event.key = Key::enter;
      if (letter == '\x1b') event.key = Key::escape;
      press(name, event);
    }
  }

  void press(const std::string& name, const Event& event) {
    const Stopwatch key;
    browser_.handle(event);
    draw();
    note(name, key.stop());
    settle(name);
  }

  /// What goes on between keys: each step alone delays the next key.
  void settle(const std::string& name) {
    for (bool more = true; more;) {
      const Stopwatch step;
      more = browser_.work();
      draw();
      note(name + ", then", step.stop());
    }
  }

  void print() const {
    for (const std::string& name : order_) {
      const Cost& cost = costs_.at(name);
      std::printf("  %-44s %8.1f ms CPU %8.1f ms wall\n", name.c_str(), cost.cpu_ms, cost.wall_ms);
    }
  }

 private:
  void note(const std::string& name, const Cost& cost) {
    if (!costs_.contains(name)) order_.push_back(name);
    Cost& largest = costs_[name];
    largest.cpu_ms = std::max(largest.cpu_ms, cost.cpu_ms);
    largest.wall_ms = std::max(largest.wall_ms, cost.wall_ms);
  }

  Browser& browser_;
  std::map<std::string, Cost> costs_;
  std::vector<std::string> order_;
};

void press_all(Keys& keys) {
  keys.type("start", "1jk");
  keys.type("calling context: first", "2");
  keys.type("move", "jjjjjjkkk");
  keys.type("hot path", "H");
  keys.type("open, close", "hhhllljjljlhh");
  keys.type("open all below (5 000 rows)", "gl*");
  keys.press("page down", {Key::page_down, 0, 0, 0, 0});
  keys.type("last row", "Gg");
  keys.type("sort", ">>>>I");
  keys.type("search", "/p0001");
  keys.type("search: Enter", "\n");
  keys.type("next match", "nnnnnNN");
  keys.type("threshold", "t1\n");
  keys.type("no threshold", "t0\n");
  keys.type("filter", "fp00012\n");
  keys.type("zoom", "gHzZ");
  keys.type("source", "s2");
  keys.type("ranks", "rm");
  keys.type("ranks: cursor, zoom", "ll+-m");
  keys.type("mark four, ranks", "2jj    r2");
  keys.type("callers: first", "3");
  keys.type("callers: open", "ljljlj");
  keys.type("callers: sort", ">>I");
  keys.type("callers: search", "/p0002\nnn");
  keys.type("flat: first", "4");
  keys.type("flat: flatten", "UUFF");
  keys.type("flat: sort", "><");
  keys.type("flat: search", "/p0003\nnn");
  keys.type("time", "7lj+-");
  keys.type("findings", "8llllllll");
  keys.type("explain, help, columns",
            "2e\x1b?\x1b"
            "c\x1b");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: keys_bench DB\n", stderr);
    return 2;
  }
  try {
    const Stopwatch start;
    const views::DatabaseSource source(argv[1]);
    Workspace workspace(source, argv[1], true);
    FindingsTask findings(source);
    Browser browser(workspace, findings);
    Keys keys(browser);
    keys.draw();
    const Cost first = start.stop();
    std::printf("first screen: %.1f ms CPU, %.1f ms wall\n", first.cpu_ms, first.wall_ms);
    const Stopwatch forming;
    findings.wait();
    std::printf("findings formed after another %.0f ms (beside the user)\n", forming.stop().wall_ms);
    press_all(keys);
    keys.print();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "keys_bench: %s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
