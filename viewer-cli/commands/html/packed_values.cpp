#include "commands/html/packed_values.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer {

Json short_number(double value) {
  if (std::isnan(value)) return nullptr;
  if (value == 0 || std::isinf(value)) return 0;
  constexpr int kDigits = 5;
  const int decimals = kDigits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  constexpr int kMost = 300;  // beyond, the power is infinite
  if (decimals > kMost) return 0;
  const double factor = std::pow(10.0, std::abs(decimals));
  const double rounded =
      decimals >= 0 ? std::round(value * factor) / factor : std::round(value / factor) * factor;
  constexpr double kWhole = 9e15;
  if (rounded == std::floor(rounded) && std::abs(rounded) < kWhole) return static_cast<std::int64_t>(rounded);
  return rounded;
}

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t three = 0;
    for (std::size_t i = 0; i < 3; ++i) three = three << 8U | (i < left ? bytes[at + i] : 0U);
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint32_t six = three >> (18U - 6U * static_cast<std::uint32_t>(i)) & 63U;
      text += i <= left ? kLetters[six] : '=';
    }
  }
  return text;
}

Json scaled_values(std::span<const double> values, unsigned bits) {
  double most = 0;
  for (const double value : values) most = std::isnan(value) ? most : std::max(most, value);
  const double full = bits == 8 ? 255 : 65535;
  std::vector<std::uint8_t> bytes;
  bytes.reserve(values.size() * bits / 8);
  for (const double value : values) {
    const double share = most > 0 && value > 0 ? value / most : 0;
    const auto level = static_cast<std::uint32_t>(share > 0 ? std::max(1.0, std::round(share * full)) : 0);
    bytes.push_back(static_cast<std::uint8_t>(level & 255U));
    if (bits == 16) bytes.push_back(static_cast<std::uint8_t>(level >> 8U));
  }
  return {{"most", short_number(most)}, {"bits", bits}, {"data", base64(bytes)}};
}

std::uint32_t PageTexts::operator()(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.emplace_back(text);
  bytes_ += text.size();
  numbers_.emplace(text, number);
  return number;
}

}  // namespace culprit::viewer
