// What terminals answer when they are asked for their background.
#include "tui/widgets/background.hpp"

#include <catch2/catch.hpp>

namespace culprit::viewer::tui {

TEST_CASE("Light and dark backgrounds are distinguished by what terminals answer") {
  CHECK(light_background_answered("11;rgb:ffff/ffff/ffff") == true);
  CHECK(light_background_answered("11;rgb:0000/0000/0000") == false);
  CHECK(light_background_answered("11;rgb:fd/f6/e3") == true);   // Solarized
  CHECK(light_background_answered("11;rgb:00/2b/36") == false);  // the dark one
  CHECK(light_background_answered("11;rgb:0/0/f") == false);     // blue is dark to the eye
  CHECK(light_background_answered("11;rgb:0/f/0") == true);      // green is light
  CHECK(light_background_answered("11;rgba:ffff/ffff/dddd/ffff") == true);
}

TEST_CASE("Anything else a terminal says about its colours is no answer") {
  for (const char* const text :
       {"", "11;", "11;rgb:", "11;rgb:ffff", "11;rgb:ffff/ffff", "11;rgb:ffff/ffff/", "11;rgb:fffff/0/0",
        "11;rgb:-1/0/0", "11;rgb:gg/0/0", "10;rgb:ffff/ffff/ffff", "11;#ffffff", "0;a title"})
    CHECK_FALSE(light_background_answered(text).has_value());
}

TEST_CASE("Only terminals that answer, or pass over it, are asked") {
  for (const char* const type :
       {"xterm", "xterm-256color", "tmux-256color", "screen", "rxvt-unicode", "foot"})
    CHECK(takes_questions(type));
  for (const char* const type : {"linux", "vt100", "dumb", "", "ansi", "eterm-color", "cygwin", "sun"})
    CHECK_FALSE(takes_questions(type));
}

}  // namespace culprit::viewer::tui
