// Names as users write them, of mangled symbols (docs/algorithms.md 15): C++ by libsupc++, Rust by
// rust_symbol.cpp, Fortran by the patterns of gfortran and ifort; suffixes of copies and parts of a procedure
// are put in words or left out. C++ symbols whose names would grow without bounds are shown without arguments
// (short_symbol.cpp), others as they are.
#include "structure/rust_symbol.hpp"
#include "structure/short_symbol.hpp"
#include "structure/structure.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

// libsupc++'s demangler, what __cxa_demangle calls: hands the name over in pieces, and keeps nothing that an
// exception thrown by `take` would lose. 0 on success. No header declares it.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" int __gcclibcxx_demangle_callback(const char* symbol,
                                             void (*take)(const char* text, std::size_t size, void* to),
                                             void* to);

namespace culprit::structure {
namespace {

/// Beyond this the demangler's recursion is not trusted; such a symbol is shortened, or shown as it is.
constexpr std::size_t kLongestSymbol = 16384;

/// A longer name nobody reads; the longest of Debian's largest libraries has 9 716 characters.
constexpr std::size_t kLongestDemangled = 16384;

/// What the demangler does without writing doubles with each of these: at most this many bits, some
/// hundredths of a second. The longest symbols of template libraries, of 500 characters, reach 23.
constexpr double kMostExpansionBits = 24;
constexpr int kMostConversionBits = 10;

/// What in a symbol refers to other parts of it.
struct References {
  std::vector<std::string_view> substitutions;  ///< their numbers
  int applied_parameters = 0;                   ///< template parameters with arguments of their own
};

/// Counts too many, those in identifiers, too, but none too few.
References references_in(std::string_view symbol) {
  constexpr std::string_view kNumber = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  References found;
  for (std::size_t at = 0; at < symbol.size(); ++at) {
    const char letter = symbol[at];
    if (letter != 'S' && letter != 'T') continue;
    const std::size_t end = symbol.find_first_not_of(kNumber, at + 1);
    if (end == std::string_view::npos || symbol[end] != '_') continue;
    if (letter == 'T' && symbol.substr(end + 1, 1) == "I") ++found.applied_parameters;
    if (letter == 'S') found.substitutions.push_back(symbol.substr(at + 1, end - at - 1));
  }
  return found;
}

/// Whether the demangler could be busy for ever without writing anything, which no limit of the name's length
/// ends. It looks for the pack of an expansion through all that the expansion refers to: types that refer
/// twice to the one before double that each time, and since substitutions refer to those of smaller numbers
/// only, it is no more than the product of how often each number is there. And in the name of a conversion,
/// it reads a template parameter's arguments twice, and those within them again.
bool may_be_endless(std::string_view symbol) {
  const auto has = [symbol](std::string_view part) { return symbol.find(part) != std::string_view::npos; };
  References all = references_in(symbol);
  if (has("cv") && all.applied_parameters > kMostConversionBits) return true;
  if (!has("Dp") && !has("sp")) return false;
  double bits = 0;
  std::ranges::sort(all.substitutions);
  for (auto at = all.substitutions.begin(); at != all.substitutions.end();) {
    const auto end = std::upper_bound(at, all.substitutions.end(), *at);
    bits += std::log2(static_cast<double>(1 + (end - at)));
    at = end;
  }
  return bits > kMostExpansionBits;
}

bool digits_only(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Within its file, what stands in an unnamed namespace is called without it.
void drop_unnamed_namespaces(std::string& name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (auto at = name.find(kUnnamed); at != std::string::npos; at = name.find(kUnnamed, at))
    name.erase(at, kUnnamed.size());
}

struct TooLong {};

void append(const char* text, std::size_t size, void* to) {
  auto& name = *static_cast<std::string*>(to);
  if (name.size() + size > kLongestDemangled) throw TooLong();
  name.append(text, size);
}

/// __cxa_demangle would write without a limit: types that refer twice to the one before double the name each
/// time.
std::string demangle_cpp(const std::string& symbol) {
  if (may_be_endless(symbol)) return short_name(symbol);
  std::string name;
  try {
    if (__gcclibcxx_demangle_callback(symbol.c_str(), append, &name) != 0) return symbol;
  } catch (const TooLong&) {
    return short_name(symbol);
  }
  read_legacy_rust(name);
  drop_unnamed_namespaces(name);
  return name;
}

/// gfortran: __mod_MOD_proc, submodules __mod_sub_SMOD_…; ifort: mod_mp_proc_.
std::string demangle_fortran(const std::string& symbol) {
  if (symbol.starts_with("__")) {
    const auto at = symbol.find("_MOD_", 2);
    if (at != std::string::npos && at > 2 && at + 5 < symbol.size())
      return symbol.substr(2, at - 2) + "::" + symbol.substr(at + 5);
  }
  const auto at = symbol.find("_mp_");
  if (at != std::string::npos && at > 0 && symbol.ends_with('_') && at + 5 < symbol.size())
    return symbol.substr(0, at) + "::" + symbol.substr(at + 4, symbol.size() - at - 5);
  return symbol;
}

std::string demangle_base(const std::string& base) {
  if (base.starts_with("_Z") || base.starts_with("___Z")) return demangle_cpp(base);
  if (base.starts_with("_R")) return demangle_rust(base).value_or(base);
  return demangle_fortran(base);
}

/// One suffix a compiler appends to the symbol of a part or copy of a procedure.
struct Suffix {
  std::string_view key;
  std::string_view readable;  ///< empty: says nothing to the user
  bool numbered;              ///< the number is shown even when it is 0
};
constexpr Suffix kSuffixes[] = {
    {"part", "part", false},
    {"cold", "cold part", false},
    {"constprop", "", false},  // a copy of the whole procedure: what the user wrote once
    {"isra", "", false},
    {"_omp_fn", "OpenMP region", true},
    {"omp_outlined", "OpenMP region", true},
    {"omp_outlined_debug__", "OpenMP region", true},
    {"omp_outlined_debug", "OpenMP region", true},
    {"lto_priv", "", false},
    {"llvm", "", false},
    {"localalias", "", false},
};

const Suffix* find_suffix(std::string_view key) {
  for (const Suffix& suffix : kSuffixes)
    if (suffix.key == key) return &suffix;
  return nullptr;
}

/// The next dot-separated component of `rest`, which is advanced past it; runs of dots count as one.
std::string_view next_component(std::string_view& rest) {
  const auto start = rest.find_first_not_of('.');
  if (start == std::string_view::npos) {
    rest = {};
    return {};
  }
  const auto end = rest.find('.', start);
  const std::string_view component = rest.substr(start, end == std::string_view::npos ? end : end - start);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
  return component;
}

/// The readable form of a chain of suffixes such as `.isra.0.cold`; false where one of them is not known.
bool read_suffixes(std::string_view chain, std::string& readable) {
  std::string_view rest = chain;
  while (!rest.empty()) {
    const std::string_view key = next_component(rest);
    if (key.empty()) break;
    const Suffix* suffix = find_suffix(key);
    if (suffix == nullptr) return false;
    std::string_view number, after = rest;
    if (const auto component = next_component(after); digits_only(component)) {
      number = component;
      rest = after;
    }
    if (suffix->readable.empty()) continue;
    readable.append(" [").append(suffix->readable);
    if (suffix->numbered && number.empty()) number = "0";
    if (suffix->numbered || (!number.empty() && number != "0")) readable.append(" ").append(number);
    readable.append("]");
  }
  return true;
}

/// clang before 17 names the outlined body of an OpenMP region or task without its procedure:
/// `.omp_outlined.`,
/// `.omp_outlined..3`, `.omp_task_entry..7`.
constexpr std::string_view kClangRegion = ".omp_outlined.", kClangTask = ".omp_task_entry.";

std::string outlined(const std::string& symbol) {
  const std::string number = symbol.substr(symbol.find_last_of('.') + 1);
  const std::string what = symbol.starts_with(kClangRegion) ? "[OpenMP region " : "[OpenMP task ";
  return what + (digits_only(number) ? number : "0") + "]";
}

}  // namespace

std::string demangle(const std::string& symbol) {
  if (symbol.size() > kLongestSymbol) return short_name(symbol);
  if (symbol.empty()) return symbol;
  const std::string plain = symbol.substr(0, symbol.find('@', 1));  // the symbol's version
  if (plain.starts_with(kClangRegion) || plain.starts_with(kClangTask)) return outlined(plain);
  for (auto dot = plain.find('.', 1); dot != std::string::npos; dot = plain.find('.', dot + 1)) {
    std::string readable;
    if (read_suffixes(std::string_view(plain).substr(dot), readable))
      return demangle_base(plain.substr(0, dot)) + readable;
  }
  return demangle_base(plain);
}

}  // namespace culprit::structure
