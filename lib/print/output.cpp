#include "print/output.hpp"

#include "print/printable.hpp"
#include "print/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace culprit::print {
namespace {

constexpr std::size_t kHeld = std::size_t{1} << 16U;
constexpr std::size_t kLongestCharacter = 4;
constexpr std::size_t kLongestColour = 16;

void write_line(std::FILE* file, const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), file);
  std::fflush(file);
}

/// Bytes of the sequence that selects a colour at the beginning of `text`; 0 where it begins with none.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const std::size_t end = text.substr(0, kLongestColour).find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

/// Whether more bytes may make one character, or one colour, of what `text` begins with.
bool may_go_on(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead == '\033') return text.size() < kLongestColour && text.find('m') == std::string_view::npos;
  return lead >= 0x80 && text.size() < kLongestCharacter;
}

}  // namespace

void complain(std::string_view tool, std::string_view line) {
  write_line(stderr, std::string(tool) + ": " + spelled(line) + '\n');
}

void announce(std::string_view line) {
  write_line(stdout, spelled(line) + '\n');
}

std::string unwritten_answer(int error) {
  return std::string("write: standard output: ") + std::strerror(error == 0 ? EIO : error) +
         " (make room, or write elsewhere)";
}

void answer(std::string_view text) {
  errno = 0;
  const bool taken = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) != 0 || !taken) throw std::runtime_error(unwritten_answer(errno));
}

void show_progress(std::string_view line) {
  write_line(stderr, "\r\033[K" + spelled(line));
}

TextBuffer::TextBuffer(std::ostream& out, bool colours) : out_(out), colours_(colours), held_(kHeld, '\0') {
  setp(held_.data(), held_.data() + held_.size());
}

TextBuffer::int_type TextBuffer::overflow(int_type character) {
  pass_on(false);
  if (!traits_type::eq_int_type(character, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(character);
    pbump(1);
  }
  return out_ ? traits_type::not_eof(character) : traits_type::eof();
}

int TextBuffer::sync() {
  pass_on(true);
  out_.flush();
  return out_ ? 0 : -1;
}

/// Writes what is held; unless `all`, without a last character or colour whose end may be still to come.
void TextBuffer::pass_on(bool all) {
  std::string_view rest(pbase(), static_cast<std::size_t>(pptr() - pbase()));
  spelled_.clear();
  while (!rest.empty()) {
    const auto plain = static_cast<std::size_t>(
        std::ranges::find_if_not(rest, [](char letter) { return letter >= 0x20 && letter < 0x7F; }) -
        rest.begin());
    spelled_ += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.empty() || (!all && may_go_on(rest))) break;
    const Character first = first_character(rest.data(), rest.size());
    std::size_t length = first.length;
    if (const std::size_t colour = colours_ ? colour_length(rest) : 0; colour > 0) {
      length = colour;
      spelled_ += rest.substr(0, colour);
    } else if (first.code == '\n' || (first.encoded && is_printable(first.code))) {
      spelled_ += rest.substr(0, length);
    } else {
      escape(first, [this](char letter) { spelled_ += letter; });
    }
    rest.remove_prefix(length);
  }
  out_.write(spelled_.data(), static_cast<std::streamsize>(spelled_.size()));
  const std::size_t left = rest.size();
  std::copy(rest.begin(), rest.end(), held_.begin());
  setp(held_.data(), held_.data() + held_.size());
  pbump(static_cast<int>(left));
}

TextStream::TextStream(std::ostream& behind, bool colours) : std::ostream(nullptr), buffer_(behind, colours) {
  rdbuf(&buffer_);
  exceptions(behind.exceptions());
}

}  // namespace culprit::print
