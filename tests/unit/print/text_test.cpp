#include "print/text.hpp"

#include "print/printable.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

namespace culprit::print::testing {
namespace {

static_assert(is_printable('a') && is_printable(0xA0) && is_printable(0x1F600));
static_assert(!is_printable(0x1B) && !is_printable(0x7F) && !is_printable(0x9B) && !is_printable(0x202E));

/// What a shell makes of words.
std::string echoed_by(const std::string& shell, const std::string& words) {
  const std::string script = "printf '%s\\n' " + words;
  std::string quoted;
  for (const char letter : script) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  const std::string command = shell + " -c '" + quoted + '\'';
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string text;
  for (int letter = std::fgetc(pipe.get()); letter != EOF; letter = std::fgetc(pipe.get()))
    text += static_cast<char>(letter);
  return text;
}

}  // namespace

TEST_CASE("What is printable stays as it is, byte for byte") {
  for (const char* name : {"", "std::vector<int, std::allocator<int> >::operator[](unsigned long) const",
                           "module::proc_", "operator\"\" _km", "C:\\dir",
                           "gr\xC3\xB6\xC3\x9F"
                           "e",
                           "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xC2\xA0", "ليلى"}) {
    CHECK(spelled(name) == name);
    CHECK(is_spelled(name));
  }
}

TEST_CASE("Control characters, separators and changes of direction are escaped") {
  CHECK(spelled("a\033[31mb") == "a\\u001b[31mb");
  CHECK(spelled("\033]0;title\007") == "\\u001b]0;title\\u0007");
  CHECK(spelled("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(spelled(std::string_view("\0", 1)) == "\\u0000");
  CHECK(spelled("\x7F") == "\\u007f");
  CHECK(spelled("\xC2\x9B"
                "31m") == "\\u009b31m");    // CSI
  CHECK(spelled("\xC2\x85") == "\\u0085");  // next line
  CHECK(spelled("\xE2\x80\xA8\xE2\x80\xA9") == "\\u2028\\u2029");
  CHECK(spelled("\xE2\x80\xAE"
                "evil") == "\\u202eevil");  // right-to-left override
  CHECK(spelled("\xE2\x81\xA6\xE2\x80\x8F\xD8\x9C") == "\\u2066\\u200f\\u061c");
}

TEST_CASE("Bytes that are no UTF-8 are escaped one by one") {
  CHECK(spelled("a\xFF"
                "b") == "a\\xffb");
  CHECK(spelled("\x9B"
                "31m") == "\\x9b31m");  // C1 of eight bits
  CHECK(spelled("\xC3") == "\\xc3");    // cut short
  CHECK(spelled("\xE2\x82") == "\\xe2\\x82");
  CHECK(spelled("\xC0\xAF") == "\\xc0\\xaf");                    // overlong
  CHECK(spelled("\xED\xA0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(spelled("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
}

TEST_CASE("Every spelling is its own spelling, one line, and UTF-8") {
  rc::check([](const std::string& any) {
    const std::string text = spelled(any);
    RC_ASSERT(is_spelled(text));
    RC_ASSERT(is_spelled(any) == (text == any));
    for (const char letter : text) RC_ASSERT(static_cast<unsigned char>(letter) >= 0x20);
    RC_ASSERT(nlohmann::json::parse(nlohmann::json(text).dump()) == text);  // throws what is no UTF-8
  });
}

TEST_CASE("Words that shells take for what they are stay as they are") {
  CHECK(shell_word("run-2026.03_a/b:c,d@e+f%g=1") == "run-2026.03_a/b:c,d@e+f%g=1");
  CHECK(shell_word("gr\xC3\xB6ssen") == "gr\xC3\xB6ssen");
  CHECK(shell_word("-x") == "-x");
  CHECK(shell_path("-x") == "./-x");
  CHECK(shell_path("a b") == "'a b'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
  CHECK(shell_word("a\nb\033'\\") == "$'a\\012b\\033\\'\\\\'");
}

TEST_CASE("A shell reads a quoted word as the word") {
  for (const std::string word : {"a b", "it's", "$HOME `id` $(id)", "a\"b\\c", "x\ny", "\033[31m1",
                                 "\xFF\xFE", "~", "=ls", "!!", "-n", "a\tb",
                                 "\xE2\x80\xAE"
                                 "1",
                                 "*", "#", "{a,b}", "\\n", "'\n'", "[x]?"}) {
    CAPTURE(word);
    CHECK(is_spelled(shell_word(word)));
    CHECK(echoed_by("bash", shell_word(word)) == word + '\n');
    if (is_spelled(word)) CHECK(echoed_by("sh", shell_word(word)) == word + '\n');
  }
}

TEST_CASE("one thing is counted as one", "[text]") {
  CHECK(counted(0, "rank") == "0 ranks");
  CHECK(counted(1, "rank") == "1 rank");
  CHECK(counted(2, "rank") == "2 ranks");
}

}  // namespace culprit::print::testing
