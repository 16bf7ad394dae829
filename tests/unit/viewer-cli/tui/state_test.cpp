// What is remembered, and where.
#include "driven_browser.hpp"
#include "tui/panes/source_pane.hpp"
#include "tui/state/state_files.hpp"
#include "tui/view_state.hpp"
#include "tui/widgets/canvas.hpp"
#include "tui/widgets/scroll.hpp"
#include "tui/widgets/syntax.hpp"
#include "tui/widgets/tone.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace culprit::viewer::tui::testing {
namespace {

namespace fs = std::filesystem;

/// An empty folder as the home of states, while it lives.
class StateHome {
 public:
  StateHome() : path_(fs::temp_directory_path() / ("state-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
    ::setenv("XDG_STATE_HOME", path_.c_str(), 1);
  }
  ~StateHome() {
    ::unsetenv("XDG_STATE_HOME");
    fs::remove_all(path_);
  }
  StateHome(const StateHome&) = delete;
  StateHome& operator=(const StateHome&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("A database is shown again as it was left") {
  const StateHome home;
  DrivenBrowser first;
  first.type("2>>%/halo\n");
  save_view(first.browser(), first.workspace());
  DrivenBrowser second;
  restore_view(second.browser(), second.workspace());
  second.type("2");
  CHECK(second.line(1).find("▼wait %") != std::string::npos);
  CHECK(second.selected().find("cg::halo_exchange") != std::string::npos);
}

TEST_CASE("What is remembered of another run, or is no JSON, is passed over") {
  const StateHome home;
  DrivenBrowser driven;
  const auto file = state_file(driven.workspace().database(), ".view.json");
  REQUIRE(file);
  for (const char* const text : {R"({"run_id":"another","sort":2})", "{", "[]", R"({"run_id":7})"}) {
    REQUIRE(write_whole(*file, text, driven.workspace().database()));
    CHECK_NOTHROW(restore_view(driven.browser(), driven.workspace()));
    CHECK(driven.workspace().sort() == 0);
  }
}

TEST_CASE("What is remembered may be cut or flipped anywhere: the browser shows its pages") {
  const StateHome home;
  DrivenBrowser first;
  first.type("2>>%/halo\n");
  save_view(first.browser(), first.workspace());
  const auto file = state_file(first.workspace().database(), ".view.json");
  REQUIRE(file);
  const std::optional<std::string> good = read_whole(*file);
  REQUIRE(good);
  DrivenBrowser driven;
  const auto restore = [&](const std::string& text) {
    std::ofstream(*file, std::ios::binary) << text;
    restore_view(driven.browser(), driven.workspace());
    driven.type("2");
    CHECK_FALSE(driven.line(1).empty());
  };
  for (std::size_t at = 0; at < good->size(); ++at) {
    restore(good->substr(0, at));
    std::string bytes = *good;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 7));
    restore(bytes);
  }
}

TEST_CASE("Defined metrics are kept beside the database, or at home where that cannot be written") {
  const StateHome home;
  const std::string database = (home.path() / "run.db").string();
  save_derived_metrics(database, {"a=$REALTIME*2", "b=$a+1"});
  CHECK(fs::exists(database + ".metrics"));
  CHECK(load_derived_metrics(database) == std::vector<std::string>{"a=$REALTIME*2", "b=$a+1"});
  const std::string elsewhere = "/proc/run.db";  // nobody writes there
  CHECK(save_derived_metrics(elsewhere, {"c=$REALTIME"}).find("beside the database nothing") !=
        std::string::npos);
  CHECK(load_derived_metrics(elsewhere) == std::vector<std::string>{"c=$REALTIME"});
}

TEST_CASE("What is remembered of a private database is as private") {
  const StateHome home;
  const std::string database = (home.path() / "run.db").string();
  std::ofstream(database) << "private";
  fs::permissions(database, fs::perms::owner_read | fs::perms::owner_write);
  save_derived_metrics(database, {"a=$REALTIME*2"});
  const auto remembered = state_file(database, ".view.json");
  REQUIRE(remembered);
  REQUIRE(write_whole(*remembered, "{}", database));
  for (const fs::path& file : {fs::path(database + ".metrics"), *remembered}) {
    const fs::perms shared = fs::status(file).permissions() & (fs::perms::group_all | fs::perms::others_all);
    CHECK(shared == fs::perms::none);
  }
}

TEST_CASE("Canvases keep to their size and show nothing that would break a line") {
  Canvas canvas(2, 5);
  canvas.write(0, 3, "abcdef", Tone::plain, 10);
  CHECK(canvas.line(0) == "   ab");
  canvas.write(1, 0,
               "a\tb\xff"
               "é",
               Tone::plain, 10);
  CHECK(canvas.line(1) == "a?b?é");
  canvas.put(-1, 0, U'x');
  canvas.put(9, 9, U'x');
  canvas.put(0, 0, U'中');
  CHECK(canvas.line(0) == "?  ab");
}

TEST_CASE("UTF-8 is read and written alike") {
  const std::string text = "aé€😀";
  std::string again;
  for (const char32_t letter : decode(text)) encode(letter, again);
  CHECK(again == text);
  CHECK(decode("\xe2\x82") == U"??");
}

TEST_CASE("Source text is classified line by line, comments over several lines too") {
  Syntax syntax("a.cpp");
  const auto begins_with = [](const Tones& tones, Tone tone) {
    return !tones.empty() && tones.front().second == tone;
  };
  CHECK(begins_with(syntax.next("return 1;"), Tone::code_word));
  CHECK(begins_with(syntax.next("/* a comment"), Tone::code_comment));
  CHECK(begins_with(syntax.next("return still a comment */"), Tone::code_comment));
  Syntax fortran("solver.F90");
  CHECK(begins_with(fortran.next("subroutine step(n)"), Tone::code_word));
  CHECK(Syntax("notes.unknown").next("return 1;").empty());
}

TEST_CASE("Without colours tones still differ by attributes") {
  const auto looks = looks_for(0, false);
  CHECK(looks.at(static_cast<std::size_t>(Tone::hot)).bold);
  CHECK(looks.at(static_cast<std::size_t>(Tone::match)).reverse);
  for (const Look& look : looks) CHECK(look.foreground == -1);
}

TEST_CASE("A window keeps its cursor in view") {
  Window window;
  window.cursor = 500;
  window.zoom(true, 1000);
  CHECK(window.shown(1000) == 500);
  window.move(490, 1000);
  CHECK(window.first + window.shown(1000) == 991);
  window.zoom(false, 1000);
  CHECK(window.count == 0);
  window.fit(0);
  CHECK(window.cursor == 0);
}

TEST_CASE("The palette has its colours on terminals that take red, green and blue") {
  CHECK(direct_colour(-1) == -1);
  CHECK(direct_colour(3) == 3);
  CHECK(direct_colour(9) == 0xff0000);
  CHECK(direct_colour(231) == 0xffffff);
  CHECK(direct_colour(214) == 0xffaf00);
  CHECK(direct_colour(232) == 0x080808);
  CHECK(direct_colour(255) == 0xeeeeee);
}

TEST_CASE("Places of sources from the command line come before those remembered, and replace them") {
  DrivenBrowser driven;
  SourcePane& source = driven.browser().source();
  source.set_prefixes({{"/old", "/remembered"}, {"/other", "/kept"}});
  source.put_first({{"/old", "/given"}, {"/new", "/too"}});
  CHECK(source.prefixes() == PathPrefixes{{"/old", "/given"}, {"/new", "/too"}, {"/other", "/kept"}});
}

}  // namespace culprit::viewer::tui::testing
