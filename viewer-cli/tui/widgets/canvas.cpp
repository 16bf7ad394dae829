#include "tui/widgets/canvas.hpp"

#include "print/printable.hpp"

#include <algorithm>

namespace culprit::viewer::tui {

std::u32string decode(std::string_view text) {
  std::u32string result;
  while (!text.empty()) {
    const print::Character first = print::first_character(text.data(), text.size());
    result += first.encoded ? first.code : U'?';
    text.remove_prefix(first.length);
  }
  return result;
}

void encode(char32_t letter, std::string& into) {
  const auto byte = [&](unsigned value) { into += static_cast<char>(static_cast<unsigned char>(value)); };
  const auto value = static_cast<unsigned>(letter);
  if (value < 0x80) {
    byte(value);
  } else if (value < 0x800) {
    byte(0xc0U | value >> 6U);
    byte(0x80U | (value & 0x3fU));
  } else if (value < 0x10000) {
    byte(0xe0U | value >> 12U);
    byte(0x80U | (value >> 6U & 0x3fU));
    byte(0x80U | (value & 0x3fU));
  } else {
    byte(0xf0U | value >> 18U);
    byte(0x80U | (value >> 12U & 0x3fU));
    byte(0x80U | (value >> 6U & 0x3fU));
    byte(0x80U | (value & 0x3fU));
  }
}

bool is_narrow(char32_t letter) {
  if (!print::is_printable(letter)) return false;
  if (letter >= 0x300 && letter < 0x370) return false;    // combining
  if (letter >= 0x1100 && letter < 0x1160) return false;  // Hangul, the first of the wide scripts
  if (letter >= 0x200b && letter < 0x2010) return false;  // no width
  if (letter >= 0x2e80 && letter < 0xd7b0) return false;
  return letter < 0xd800;  // private use, presentation forms and what lies beyond: nobody knows
}

Canvas::Canvas(int height, int width)
    : height_(std::max(height, 0)),
      width_(std::max(width, 0)),
      cells_(static_cast<std::size_t>(height_) * static_cast<std::size_t>(width_)) {}

Cell* Canvas::cell(int row, int column) {
  if (row < 0 || column < 0 || row >= height_ || column >= width_) return nullptr;
  return &cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) +
                 static_cast<std::size_t>(column)];
}

const Cell& Canvas::at(int row, int column) const {
  return cells_.at(static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) +
                   static_cast<std::size_t>(column));
}

void Canvas::put(int row, int column, char32_t letter, Tone tone) {
  Cell* const at = cell(row, column);
  if (at == nullptr) return;
  at->letter = is_narrow(letter) ? letter : U'?';
  at->tone = tone;
}

int Canvas::write(int row, int column, std::string_view text, Tone tone, int room) {
  for (const char32_t letter : decode(text)) {
    if (room-- <= 0) break;
    put(row, column++, letter, tone);
  }
  return column;
}

void Canvas::fill(const Area& area, char32_t letter, Tone tone) {
  for (int row = area.row; row < area.row + area.height; ++row) {
    for (int column = area.column; column < area.column + area.width; ++column) {
      put(row, column, letter, tone);
      if (Cell* const at = cell(row, column)) at->selected = false;
    }
  }
}

void Canvas::select(int row, int column, int width) {
  for (int at = column; at < column + width; ++at) {
    if (Cell* const each = cell(row, at)) each->selected = true;
  }
}

std::string Canvas::line(int row) const {
  std::string text;
  for (int column = 0; column < width_; ++column) encode(at(row, column).letter, text);
  const std::size_t last = text.find_last_not_of(' ');
  return last == std::string::npos ? std::string{} : text.substr(0, last + 1);
}

}  // namespace culprit::viewer::tui
