// Rust's older mangling: what Itanium's leaves of it is read from left to right, escape by escape.
#include "structure/code_points.hpp"
#include "structure/rust_symbol.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace culprit::structure {
namespace {

/// What stands between two `$`.
std::string legacy_letter(std::string_view key) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kLetters = {{{"SP", "@"},
                                                                                      {"BP", "*"},
                                                                                      {"RF", "&"},
                                                                                      {"LT", "<"},
                                                                                      {"GT", ">"},
                                                                                      {"LP", "("},
                                                                                      {"RP", ")"},
                                                                                      {"C", ","}}};
  for (const auto& [name, letter] : kLetters)
    if (key == name) return std::string(letter);
  std::uint32_t code = 0;
  if (!key.starts_with('u')) return {};
  const auto [end, error] = std::from_chars(key.data() + 1, key.data() + key.size(), code, 16);
  if (error != std::errc() || end != key.data() + key.size()) return {};
  std::string text;
  return add_utf8(text, code) ? text : std::string();
}

}  // namespace

void read_legacy_rust(std::string& name) {
  constexpr std::size_t kHash = 19;
  if (name.size() <= kHash) return;
  const std::string_view tail = std::string_view(name).substr(name.size() - kHash);
  if (!tail.starts_with("::h") || tail.find_first_not_of("0123456789abcdef", 3) != std::string_view::npos)
    return;
  const std::string_view old = std::string_view(name).substr(0, name.size() - kHash);
  std::string result;
  for (std::size_t at = 0; at < old.size();) {
    const std::string_view rest = old.substr(at);
    const bool begins = at == 0 || old.substr(0, at).ends_with("::");
    const std::size_t end = rest.starts_with('$') ? rest.find('$', 1) : std::string_view::npos;
    const std::string letter =
        end == std::string_view::npos ? std::string() : legacy_letter(rest.substr(1, end - 1));
    if (!letter.empty()) {
      result += letter;
      at += end + 1;
    } else if (rest.starts_with("..")) {
      result += "::";
      at += 2;
    } else if (begins && rest.starts_with("_$")) {
      ++at;  // stands before what Itanium does not let a name begin with
    } else {
      result += old[at++];
    }
  }
  name = std::move(result);
}

}  // namespace culprit::structure
