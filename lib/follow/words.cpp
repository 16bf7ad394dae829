#include "follow/words.hpp"

#include <cmath>

namespace culprit::follow {

std::string line_in_words(const Code& code, std::uint32_t file, std::uint32_t line) {
  if (file == kNone || line == 0) return "";
  const std::string& path = code.files()[file];
  return path.substr(path.rfind('/') + 1) + ":" + std::to_string(line);
}

std::string short_name(std::string_view name) {
  constexpr std::size_t kWidest = 60;
  const std::size_t parenthesis = name.find('(', name.starts_with("(anonymous") ? 1 : 0);
  if (parenthesis != std::string_view::npos && parenthesis > 0) name = name.substr(0, parenthesis);
  return name.size() <= kWidest ? std::string(name) : std::string(name.substr(0, kWidest - 3)) + "...";
}

std::string in_words(const Spot& spot, const Code& code) {
  const auto name = [&](std::uint32_t procedure) { return short_name(code.procedures()[procedure].name); };
  std::string place;
  if (spot.procedure != kNone) {
    const std::string line = line_in_words(code, spot.file, spot.line);
    place = name(spot.procedure) + (line.empty() ? "" : " at " + line);
  }
  if (spot.call == kNone) return place.empty() ? "code without a name" : place;
  return name(spot.call) + (place.empty() ? "" : " (" + place + ")");
}

std::string percent(double share) {
  return std::to_string(std::lround(share * 100)) + " %";
}

}  // namespace culprit::follow
