// keys_bench DB DB2: what opening a database in the browser costs until the first screen is drawn, and what
// each key costs: the event, the screen after it, and the longest step of what goes on in the background;
// then the same for its comparison with a second one. CPU time of the browser's thread (others work on the
// machine) and time on the wall, in milliseconds; the largest of all times that the key was pressed. A step
// that only waits for another thread lasts some 20 ms. Exit status 1 if a key takes longer than it may.
// keys_bench --calls DB: the same for the map of code of a run whose measurement lies beside the database,
// down to single calls.

#include "tui/browser.hpp"
#include "tui/widgets/canvas.hpp"
#include "views/source.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace culprit::viewer::tui;
namespace views = culprit::views;

namespace {

constexpr int kHeight = 60, kWidth = 200;       // the largest that is tested: most to draw
constexpr double kMostMs = 50, kFirstMs = 200;  // what a key, and the first screen, may take

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
    act(name, [&] { browser_.handle(event); });
  }

  /// What takes the place of a key.
  template <class Action>
  void act(const std::string& name, Action action) {
    const Stopwatch key;
    action();
    draw();
    note(name, key.stop());
    settle(name);
  }

  /// Types faster than anything is looked for, and then Enter, which has to wait for it.
  void hurry(const std::string& name, std::string_view letters) {
    for (const char letter : letters) browser_.handle({Key::letter, static_cast<char32_t>(letter), 0, 0, 0});
    press(name, {Key::enter, 0, 0, 0, 0});
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

  /// False: something took too long.
  [[nodiscard]] bool print() const {
    bool fast = true;
    for (const std::string& name : order_) {
      const Cost& cost = costs_.at(name);
      const bool slow = cost.cpu_ms > kMostMs;
      fast = fast && !slow;
      std::printf("  %-44s %8.1f ms CPU %8.1f ms wall%s\n", name.c_str(), cost.cpu_ms, cost.wall_ms,
                  slow ? "  TOO LONG" : "");
    }
    return fast;
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

void press_in_trees(Keys& keys) {
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
  keys.hurry("search, typed in a hurry: Enter", "/e0012");
  keys.type("next match", "nnnnnNN");
  keys.type("threshold", "t1\n");
  keys.type("no threshold", "t0\n");
  keys.type("filter", "fp00012\n");
  keys.type("no filter", "f\x15\n");
  keys.type("zoom", "gHzZ");
  keys.type("source lines shown", "o \n");
  keys.hurry("search with lines, in a hurry: Enter", "/e0012");
  keys.type("source lines hidden", "o \n");
  keys.type("callers: first", "3");
  keys.type("callers: open", "ljljlj");
  keys.type("callers: sort", ">>I");
  keys.type("callers: search", "/p0002\nnn");
  keys.type("flat: first", "4");
  keys.type("flat: flatten", "UUFF");
  keys.type("flat: sort", "><");
  keys.type("flat: search", "/p0003\nnn");
}

void press_beside_trees(Keys& keys) {
  keys.type("source", "2gHs");
  keys.type("source: move", "jjjkGg");
  keys.type("source: next costly line", "nnnN");
  keys.type("source: search", "/sum.12\nnn");
  keys.type("ranks", "2rm");
  keys.type("ranks: cursor, zoom", "ll+-m");
  keys.type("mark four, ranks", "2jjmmmmr");
  keys.type("four: sorted, histogram", "mmm");
  keys.type("another column", "><x");
  keys.type("ranks of a load module", "4UUgr");
  keys.type("exclusive values of a load module", "4>r");
  keys.type("exclusive values of files", "4ljrs4jr");
  keys.type("back to the time", "4<FF");
}

void press_in_findings(Keys& keys) {
  keys.type("iterations: first", "7");
  keys.type("iterations: move", "ljlkh");
  keys.type("iterations: zoom", "+++---0");
  keys.type("another map", ">>>>>>><<");
  keys.type("map of waiting: move", "ljlkh");
  keys.type("map of waiting: zoom", "+++--0");
  keys.type("choose a map", "m\x1b");
  keys.type("to the code of a map", "\n");
  keys.type("findings: a page", "8llllllll");
  keys.type("findings: move", "jjk");
  keys.type("findings: from each page to the code", "\n8l\n8l\n8l\n8l\n8l\n8l\n8");
  keys.type("findings: search", "/rank\nn");
  keys.type("flame graph: first", "9");
  keys.type("flame graph: move", "jjljhk");
  keys.type("flame graph: zoom", "\n\nZZ");
  keys.type("flame graph: search", "/p0001\nnn");
  keys.type("flame graph: by callers", "mjlm");
  keys.type("blame: from code to code", "2bbb");
  keys.type("explain, help, columns",
            "2e\x1b?\x1b"
            "c\x1b");
}

void press_in_comparison(Keys& keys, Browser& browser, const std::string& other) {
  keys.act("comparison: open", [&] {
    browser.compare({std::make_unique<views::DatabaseSource>(other), other, {}, {}});
  });
  keys.type("comparison: move", "jjjjjjkkk");
  keys.type("comparison: hot path", "gH");
  keys.type("comparison: open, close", "hhhllljjljlhh");
  keys.type("comparison: open all (5 000 rows)", "gl*");
  keys.type("comparison: last row", "Gg");
  keys.type("comparison: sort", ">>>>><I");
  keys.type("comparison: search", "/p0001");
  keys.type("comparison: search: Enter", "\n");
  keys.hurry("comparison: search in a hurry: Enter", "/e0012");
  keys.type("comparison: next match", "nnnnNN");
  keys.type("comparison: scaling", "v");
  keys.type("comparison: another metric", "mi\n");
  keys.type("comparison: source, ranks", "s0r0");
  keys.act("comparison: again", [&] {
    browser.compare({std::make_unique<views::DatabaseSource>(other), other, {}, {}});
  });
}

/// In the middle of the run, from all ranks down to some calls of few.
void press_in_calls(Keys& keys) {
  const auto arrow = [&](const std::string& name, Key key, int times) {
    for (int i = 0; i < times; ++i) keys.press(name, {key, 0, 0, 0, 0});
  };
  const auto beside = [](const std::string& what, const Stopwatch& since) {
    std::printf("%s after %.1f s (beside the user)\n", what.c_str(), since.stop().wall_ms / 1e3);
  };
  keys.type("map of code: first", "7mcode\n");
  arrow("map of code: move", Key::right, 90);
  arrow("map of code: move", Key::page_down, 2);
  keys.type("map of code: zoom", "++--");
  const Stopwatch matching;
  keys.type("map of code: zoom to single calls", "++++++++");
  beside("single calls of all ranks that are seen", matching);
  const Stopwatch reading;
  arrow("single calls: move", Key::right, 20);
  arrow("single calls: other ranks", Key::page_down, 3);
  beside("and of others", reading);
  for (int i = 0; i < 6; ++i) {
    keys.type("single calls: zoom", "+");
    arrow("single calls: move", Key::left, 5);
  }
  keys.type("single calls: whom it waited for", "pBp");
  keys.type("single calls: zoom", "---");
  keys.type("single calls: to the code, and back", "\nB");
  keys.type("the whole run", "0");
}

}  // namespace

int main(int argc, char** argv) {
  const bool calls = argc == 3 && std::string_view(argv[1]) == "--calls";
  if (argc != 3) {
    std::fputs("usage: keys_bench DB DB2\n       keys_bench --calls DB\n", stderr);
    return 2;
  }
  const char* const database = argv[calls ? 2 : 1];
  try {
    const Stopwatch start;
    const views::DatabaseSource source(database);
    Workspace workspace(source, database, true);
    FindingsTask findings(source);
    Browser browser(workspace, findings);
    Keys keys(browser);
    keys.draw();
    const Cost first = start.stop();
    bool fast = first.cpu_ms <= kFirstMs;
    std::printf("first screen: %.1f ms CPU, %.1f ms wall%s\n", first.cpu_ms, first.wall_ms,
                fast ? "" : "  TOO LONG");
    keys.type("while findings are formed", "7812347");
    const Stopwatch forming;
    findings.wait();
    std::printf("findings formed after another %.0f ms (beside the user)\n", forming.stop().wall_ms);
    if (calls) {
      press_in_calls(keys);
    } else {
      press_in_trees(keys);
      press_beside_trees(keys);
      press_in_findings(keys);
      press_in_comparison(keys, browser, argv[2]);
    }
    fast = keys.print() && fast;
    return fast ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "keys_bench: %s: %s\n", database, error.what());
    return 1;
  }
}
