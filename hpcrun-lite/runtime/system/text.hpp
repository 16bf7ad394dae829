#pragma once

#include "print/shell_word.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace culprit::runtime {

struct InStaticMemory {};

/// A string of bounded length that neither allocates nor formats through stdio; what does not fit is cut off
/// and remembered. Async-signal-safe.
template <std::size_t Size>
class Text {
 public:
  Text() { characters_[0] = '\0'; }
  /// For a constinit variable: no constructor runs, which might do so after the constructor of the runtime.
  constexpr explicit Text(InStaticMemory /*unused*/) : characters_{} {}

  Text& add(const char* string) {
    while (string != nullptr && *string != '\0') put(*string++);
    return *this;
  }
  Text& add(const char* string, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) put(string[i]);
    return *this;
  }
  /// A path as one types it in a shell, where no command takes it for an option.
  Text& shell_path(const char* path) {
    print::quote_path_for_shell(path, strlen(path), [this](char c) { put(c); });
    return *this;
  }
  /// Decimal, with leading zeros up to `width` digits.
  Text& number(std::uint64_t value, int width = 1) { return digits(value, 10, width); }
  Text& hex(std::uint64_t value, int width = 1) { return digits(value, 16, width); }

  /// A share in tenths of a percent, rounded as viewer-cli does: `3.2 %`, `under 0.1 %`. `whole` is 1 000 at
  /// least.
  Text& percent(std::uint64_t part, std::uint64_t whole) {
    const std::uint64_t tenth = whole / 1000;  // part * 1000 might not fit
    const std::uint64_t tenths = (part + tenth / 2) / tenth;
    if (tenths == 0) return add("under 0.1 %");
    return number(tenths / 10).add(".").number(tenths % 10).add(" %");
  }

  [[nodiscard]] const char* c_str() const { return characters_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool cut() const { return cut_; }
  void clear() {
    size_ = 0;
    cut_ = false;
    characters_[0] = '\0';
  }

 private:
  void put(char c) {
    if (size_ + 1 >= Size) {
      cut_ = true;
      return;
    }
    characters_[size_++] = c;
    characters_[size_] = '\0';
  }
  Text& digits(std::uint64_t value, unsigned base, int width) {
    char reversed[24];
    int count = 0;
    while (value != 0 || count < width) {
      reversed[count++] = "0123456789abcdef"[value % base];
      value /= base;
    }
    while (count > 0) put(reversed[--count]);
    return *this;
  }

  char characters_[Size];
  std::size_t size_ = 0;
  bool cut_ = false;
};

/// A path.
using PathText = Text<4096>;

/// At the start of the program: what say() may write to. A forked child keeps it; what is executed has its
/// own.
void remember_standard_error();

/// Prints one line on standard error, unless that is no longer what it was, whatever `line` holds: what is
/// not printable is spelled (print/printable.hpp). With a single write where it is no longer than 4 KiB, so
/// that lines of several ranks do not mix. Async-signal-safe.
void say(const char* line, std::size_t length);
template <std::size_t Size>
void say(const Text<Size>& line) {
  say(line.c_str(), line.size());
}

// Short texts of the kernel, files below /proc and /sys: nothing allocates, nor asks for the locale, which
// the flusher thread has none of.

/// The beginning of a file, as a string; empty where it cannot be read.
const char* beginning_of(const char* path, char* text, std::size_t size);
template <std::size_t Size>
const char* beginning_of(const char* path, char (&text)[Size]) {
  return beginning_of(path, text, Size);
}

/// The decimal number at `at`, behind blanks; 0 where there is none. `at` is then behind it.
std::uint64_t next_number(const char*& at);

/// The number behind the first `label` in `text`; 0 where there is none.
std::uint64_t number_behind(const char* text, const char* label);

}  // namespace culprit::runtime
