#include "print/output.hpp"

#include "print/text.hpp"

#include <ios>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace culprit::print::testing {
namespace {

std::string written(const std::string& text, bool colours, std::size_t piece = std::string::npos) {
  std::ostringstream out;
  TextStream stream(out, colours);
  for (std::size_t at = 0; at < text.size(); at += std::min(piece, text.size()))
    stream << text.substr(at, piece);
  stream.flush();
  return out.str();
}

/// Takes nothing.
class Full : public std::streambuf {};

}  // namespace

TEST_CASE("Text passes, with its lines and, where wanted, its colours") {
  CHECK(written("a\nb\n", false) == "a\nb\n");
  CHECK(written("\033[1;31mhot\033[0m\n", true) == "\033[1;31mhot\033[0m\n");
  CHECK(written("\033[1mx\033[0m", false) == "\\u001b[1mx\\u001b[0m");
}

TEST_CASE("Other sequences do not pass, with or without colours") {
  CHECK(written("\033]0;t\007\033[2J\033[31", true) == "\\u001b]0;t\\u0007\\u001b[2J\\u001b[31");
  CHECK(written("a\tb\r\xC2\x9B\xFF", true) == "a\\tb\\r\\u009b\\xff");
}

TEST_CASE("Characters and colours may arrive in pieces, and be longer than what is held") {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "\xE2\x82\xAC\033[33mx\033[0m\n";
  CHECK(written(text, true) == text);
  CHECK(written(text, true, 1) == text);
  CHECK(written(text, true, 7) == text);
}

TEST_CASE("However it arrives, it is written as one spells it, line by line") {
  rc::check([](const std::string& any, std::size_t piece) {
    std::string expected;
    std::istringstream lines(any);
    for (std::string line; std::getline(lines, line);) expected += spelled(line) + (lines.eof() ? "" : "\n");
    RC_ASSERT(written(any, false, 1 + piece % 5) == expected);
  });
}

TEST_CASE("A failed write sets badbit, or throws where the stream behind it throws") {
  Full full;
  std::ostream out(&full);
  TextStream silent(out);
  silent << "x" << std::flush;
  CHECK(silent.bad());
  std::ostream strict(&full);
  strict.exceptions(std::ios::badbit);
  TextStream throwing(strict);
  throwing << "x";
  CHECK_THROWS_AS(throwing.flush(), std::ios_base::failure);
}

}  // namespace culprit::print::testing
