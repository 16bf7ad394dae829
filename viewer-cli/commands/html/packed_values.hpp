#pragma once

#include "text/frame_json.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

// How the page's data says much in few bytes: numbers of five digits, texts once each, arrays of bytes in
// base64.
namespace culprit::viewer {

/// A figure with five significant digits; null where there is none (NaN).
Json short_number(double value);

/// Base64 (RFC 4648) of some bytes.
std::string base64(std::span<const std::uint8_t> bytes);

/// Values as shares of the largest: `{"most": number, "bits": 8 or 16, "data": base64}`, little-endian. What
/// is there at all is not 0.
Json scaled_values(std::span<const double> values, unsigned bits);

/// Texts of the measured program, each once, by number; 0 is the empty one.
class PageTexts {
 public:
  PageTexts() { (void)(*this)(""); }
  std::uint32_t operator()(std::string_view text);
  [[nodiscard]] const std::vector<std::string>& all() const { return texts_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<std::string> texts_;
  std::size_t bytes_ = 0;
};

/// `things` things in at most `most` groups of equal size: how many share one.
constexpr std::size_t things_per_group(std::size_t things, std::size_t most) {
  return things <= most || most == 0 ? 1 : (things + most - 1) / most;
}

}  // namespace culprit::viewer
