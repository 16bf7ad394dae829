#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace culprit::viewer {

/// Shares from which numbers stand out.
inline constexpr double kHot = 0.25, kWarm = 0.05;

/// What text is written for.
struct Screen {
  std::size_t width = 100;
  bool colour = false;
  bool unicode = true;

  [[nodiscard]] std::string dim(std::string_view text) const { return paint("2", text); }
  [[nodiscard]] std::string bold(std::string_view text) const { return paint("1", text); }
  [[nodiscard]] std::string warning(std::string_view text) const { return paint("33", text); }
  [[nodiscard]] std::string good(std::string_view text) const { return paint("32", text); }
  /// Coloured by a share of the whole: large ones stand out.
  [[nodiscard]] std::string heat(double share, std::string_view text) const;

 private:
  [[nodiscard]] std::string paint(std::string_view code, std::string_view text) const;
};

/// The terminal behind stdout, or what COLUMNS, NO_COLOR and the locale say where there is none. 100 columns
/// where nobody says.
Screen find_screen();

}  // namespace culprit::viewer
