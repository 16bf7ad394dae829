// What panes and pages are drawn with: canvas, tones, syntax, scrolling.
#include "tui/widgets/canvas.hpp"
#include "tui/widgets/scroll.hpp"
#include "tui/widgets/syntax.hpp"
#include "tui/widgets/tone.hpp"

#include <string>

#include <catch2/catch.hpp>

namespace culprit::viewer::tui::testing {

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

}  // namespace culprit::viewer::tui::testing
