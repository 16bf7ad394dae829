#include "text/quantity.hpp"

#include <cmath>

#include <fmt/core.h>

namespace culprit::viewer {
namespace {

constexpr double kMilli = 1e3;
constexpr double kMicro = 1e6;
constexpr double kNano = 1e9;

std::string micro(bool unicode) {
  return unicode ? "µs" : "us";
}

/// Enough decimals for about four significant digits of a number of this size.
int decimals_for(double largest) {
  if (largest >= 1e4) return 0;
  if (largest >= 1e2) return 1;
  if (largest >= 1e1) return 2;
  return 3;
}

constexpr double kLongCount = 1e7;  // eight digits: harder to read than 12.3 M

Scale scale_for_counts(double largest) {
  constexpr double kThousand = 1e3;
  double size = 1e6;
  const char* unit = "M";
  for (const char* larger : {"G", "T"}) {
    if (largest < size * kThousand * 10) break;
    size *= kThousand;
    unit = larger;
  }
  return {1 / size, decimals_for(largest / size), unit};
}

}  // namespace

std::string grouped(double value, int decimals) {
  std::string digits = fmt::format("{:.{}f}", std::abs(value), decimals);
  const std::size_t point = digits.find('.');
  std::size_t whole = point == std::string::npos ? digits.size() : point;
  while (whole > 3) {
    whole -= 3;
    digits.insert(whole, 1, ' ');
  }
  const bool zero = digits.find_first_not_of("0. ") == std::string::npos;
  return value < 0 && !zero ? '-' + digits : digits;
}

std::string Scale::write(double value) const {
  return significant ? fmt::format("{:.4g}", value * factor) : grouped(value * factor, decimals);
}

std::string duration(double seconds, bool unicode) {
  const double size = std::abs(seconds);
  if (size == 0) return "0 s";
  // The bounds are where rounding would spill over into the next form.
  if (size >= 99.95) return grouped(seconds) + " s";
  if (size >= 9.995) return grouped(seconds, 1) + " s";
  if (size >= 0.9995) return grouped(seconds, 2) + " s";
  if (size >= 0.9995e-3) return grouped(seconds * kMilli, size < 9.95e-3 ? 1 : 0) + " ms";
  if (size >= 0.9995e-6) return grouped(seconds * kMicro) + ' ' + micro(unicode);
  return grouped(seconds * kNano) + " ns";
}

std::string percent(double share) {
  const double value = share * kPercent;
  const double size = std::abs(value);
  if (size == 0) return "0 %";
  if (size < 0.05) return "under 0.1 %";
  if (size >= 99.95) return grouped(value) + " %";
  return grouped(value, 1) + " %";
}

std::string round_percent(double share) {
  const double value = share * kPercent;
  if (value == 0) return "0 %";
  if (std::abs(value) < 0.5) return "under 1 %";
  return grouped(value) + " %";
}

Scale scale_for(double largest, const std::string& unit, bool unicode) {
  if (unit == "ratio") return {kPercent, 1, "%"};
  if (unit.empty()) return {.factor = 1, .decimals = 0, .unit = "", .significant = true};
  if (unit == "count" && largest >= kLongCount) return scale_for_counts(largest);
  if (unit != "s") return {1, largest >= 100 || largest == std::floor(largest) ? 0 : 2, unit};
  if (largest >= 0.9995 || largest == 0) return {1, decimals_for(largest), "s"};
  if (largest >= 0.9995e-3) return {kMilli, decimals_for(largest * kMilli), "ms"};
  return {kMicro, decimals_for(largest * kMicro), micro(unicode)};
}

std::string bytes(double number) {
  constexpr double kThousand = 1e3;
  constexpr double kRoundsUp = 999.5;  // in whole numbers
  const char* unit = "B";
  for (const char* larger : {"kB", "MB", "GB", "TB", "PB"}) {
    if (number < kRoundsUp) break;
    number /= kThousand;
    unit = larger;
  }
  const int decimals = number >= 99.95 || unit[0] == 'B' ? 0 : number >= 9.995 ? 1 : 2;
  return grouped(number, decimals) + ' ' + unit;
}

std::string counted(std::uint64_t number, const std::string& noun) {
  return grouped(static_cast<double>(number)) + ' ' + noun + (number == 1 ? "" : "s");
}

}  // namespace culprit::viewer
