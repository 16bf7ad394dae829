#pragma once

#include <cstdint>
#include <string>

namespace culprit::viewer {

inline constexpr double kNsPerSecond = 1e9;
inline constexpr double kPercent = 100;  ///< what shares are multiplied by

[[nodiscard]] constexpr double seconds_of(std::uint64_t ns) {
  return static_cast<double>(ns) / kNsPerSecond;
}

/// Digits in groups of three, parted by a space: `8 000`, `-1 234`; numbers below 1 000 as they are.
std::string grouped(double value, int decimals = 0);

/// Seconds for prose, in a fitting unit and with three or four significant digits: `1 990 s`, `43.2 s`, `250
/// ms`, `12 µs` (`us` where `unicode` is false), `0 s`.
std::string duration(double seconds, bool unicode);

/// A share for prose, with its sign: `31.8 %`, `100 %`, `under 0.1 %`, `0 %`.
std::string percent(double share);

/// A share without decimals, for secondary figures: `79 %`; `under 1 %`.
std::string round_percent(double share);

/// How the numbers of one table column are written, chosen by the largest of them.
struct Scale {
  double factor = 1;
  int decimals = 0;
  std::string unit = {};
  bool significant =
      false;  ///< four significant digits instead of `decimals`: values of any size side by side

  [[nodiscard]] std::string write(double value) const;
};

/// For values in `unit`, where seconds may become ms or µs and large counts millions (M), 10^9 (G) or 10^12
/// (T). No unit: the values of a formula.
Scale scale_for(double largest, const std::string& unit, bool unicode);

/// Bytes for prose, in powers of 1 000, with three significant digits or less: `8 B`, `1.25 kB`, `37.1 MB`.
std::string bytes(double number);

/// `1 rank`, `8 ranks`, `1 600 000 samples`.
std::string counted(std::uint64_t number, const std::string& noun);

}  // namespace culprit::viewer
