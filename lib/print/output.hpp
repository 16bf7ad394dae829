// The ways out of the tools: all that they write for people, and all text that they write for programs, goes
// through one of these (tests/layers.py looks for others). The runtime's is runtime/system/text.hpp.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace culprit::print {

/// Prints `tool: line` on standard error, as one line and with one write, whatever `line` holds.
void complain(std::string_view tool, std::string_view line);

/// Prints one line on standard output, whatever `line` holds.
void announce(std::string_view line);

/// Prints a text that was asked for, such as the help, on standard output. Throws std::runtime_error with
/// unwritten_answer() where it cannot be written.
void answer(std::string_view text);

/// The line that says why standard output takes no text: `error` is an errno.
std::string unwritten_answer(int error);

/// Overwrites the line that the cursor is in on standard error, which is a terminal; empty: erases it.
void show_progress(std::string_view line);

/// Text on its way to another stream: what is not printable is spelled, but for ends of lines and, if
/// `colours`, what selects colours and weights (`ESC [ digits m`). It is held back until flush().
class TextBuffer : public std::streambuf {
 public:
  TextBuffer(std::ostream& out, bool colours);

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  void pass_on(bool all);

  std::ostream& out_;
  bool colours_;
  std::string held_;
  std::string spelled_;
};

/// A stream of text into `behind`, which outlives it. Nothing is written behind the last flush(); throws
/// where `behind` does.
class TextStream : public std::ostream {
 public:
  explicit TextStream(std::ostream& behind, bool colours = false);

 private:
  TextBuffer buffer_;
};

}  // namespace culprit::print
