// The scopes and the procedure that an Itanium C++ symbol names, read from the front until something comes
// that this does not know; template arguments are skipped by the balance of what `E` closes. One pass.
#include "structure/short_symbol.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/core.h>
#include <xxhash.h>

namespace culprit::structure {
namespace {

constexpr std::string_view kCapitals = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool starts_with_digit(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
}

/// Takes `part` from the front.
bool take(std::string_view& rest, std::string_view part) {
  if (!rest.starts_with(part)) return false;
  rest.remove_prefix(part.size());
  return true;
}

void skip_all(std::string_view& rest, std::string_view characters) {
  rest.remove_prefix(std::min(rest.find_first_not_of(characters), rest.size()));
}

/// `4mesh`; empty where there is none.
std::string_view take_identifier(std::string_view& rest) {
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc() || !starts_with_digit(rest) || length > rest.size() - digits) return {};
  const std::string_view name = rest.substr(digits, length);
  rest.remove_prefix(digits + length);
  return name;
}

/// `Li5E`; of `LN1A1BE3E` and `L_Z1fvE` the beginning.
bool skip_literal(std::string_view& rest, std::string& open) {
  take(rest, "_");
  if (rest.starts_with('Z')) return true;
  if (!rest.empty() && std::islower(static_cast<unsigned char>(rest.front())) != 0) {
    const std::size_t end = rest.find('E');
    rest.remove_prefix(std::min(end, rest.size()));
    return take(rest, "E");
  }
  open += 'L';
  return true;
}

/// What stands in template arguments and refers to no identifier, or is one. False where nothing is known.
bool skip_one(std::string_view& rest, std::string& open) {
  if (starts_with_digit(rest)) return !take_identifier(rest).empty();
  const char letter = rest.front();
  rest.remove_prefix(1);
  switch (letter) {
    case 'I':
    case 'J':
    case 'N':
    case 'X':
    case 'F':
    case 'Z':
      open += letter;
      return true;
    case 'L':
      return skip_literal(rest, open);
    case 'E':
      // Closures and unnamed types have a number behind them, as have what is local.
      if (open.back() == 'U') {
        skip_all(rest, kDigits);
        if (!take(rest, "_")) return false;
      }
      open.pop_back();
      return true;
    case 'U':
      if (take(rest, "l")) open += 'U';
      return true;
    case 'S':
      if (!rest.empty() && std::islower(static_cast<unsigned char>(rest.front())) != 0) {
        rest.remove_prefix(1);
        return true;
      }
      skip_all(rest, kCapitals);
      return take(rest, "_");
    case 'A':
    case 'T':
      skip_all(rest, kDigits);
      return take(rest, "_");
    case 'D':
      if (rest.empty()) return false;
      if (rest.front() == 'T' || rest.front() == 't') open += 'D';
      rest.remove_prefix(1);
      return true;
    default:
      return letter == '_' || std::isalpha(static_cast<unsigned char>(letter)) != 0;
  }
}

/// Up to where what opens here, with `first`, is closed.
bool skip_balanced(std::string_view& rest, char first) {
  std::string open(1, first);
  while (!open.empty()) {
    const std::size_t depth = open.size();
    if (rest.empty() || !skip_one(rest, open)) return false;
    // Behind a literal's type its value follows, which is no identifier's length.
    if (open.ends_with('L') && open.size() <= depth) skip_all(rest, "n0123456789");
  }
  return true;
}

/// Adds the next component of a nested name; false at its end, or where it is not known.
bool add_component(std::string_view& rest, std::string& name, std::string_view& last) {
  const auto add = [&name](std::string_view part) { name.append(name.empty() ? "" : "::").append(part); };
  if (rest.empty()) return false;
  if (starts_with_digit(rest)) {
    last = take_identifier(rest);
    if (last != "_GLOBAL__N_1" && !last.empty()) add(last);
    return !last.empty();
  }
  if (take(rest, "I")) {
    if (name.empty()) return false;
    name += "<...>";
    return skip_balanced(rest, 'I');
  }
  if (take(rest, "St")) {
    add("std");
    return true;
  }
  if (take(rest, "L")) return true;  // of one file
  if (take(rest, "B")) return !take_identifier(rest).empty();
  if (take(rest, "cl")) {
    add("operator()");
    return true;
  }
  if (take(rest, "Ul")) {
    add("{lambda}");
    return skip_balanced(rest, 'U');
  }
  if (last.empty() || (rest.front() != 'C' && rest.front() != 'D')) return false;
  add((rest.front() == 'D' ? "~" : "") + std::string(last));
  return false;
}

}  // namespace

std::string short_name(const std::string& symbol) {
  std::string_view rest = symbol;
  if (!take(rest, "_Z") && !take(rest, "___Z")) return symbol;
  const bool nested = take(rest, "N");
  if (nested) skip_all(rest, "rVKRO");
  std::string name;
  std::string_view last;
  // Outside of nested names, what follows the name, or its arguments, are parameters.
  if (add_component(rest, name, last) && !nested) {
    if (name == "std") add_component(rest, name, last);
    if (rest.starts_with('I')) name += "<...>";
  } else if (nested) {
    while (add_component(rest, name, last)) {
    }
  }
  if (last.empty()) return symbol;
  return fmt::format("{} [shortened {:06x}]", name, XXH64(symbol.data(), symbol.size(), 0) & 0xffffff);
}

std::string module_name(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const std::size_t tag = file.find(".cpython-");
  if (tag == std::string_view::npos || !file.ends_with(".so")) return std::string(file);
  return std::string(file.substr(0, tag)) + ".so";
}

}  // namespace culprit::structure
