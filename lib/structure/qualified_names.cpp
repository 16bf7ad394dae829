// Names of procedures with the scopes around them, where debug information states no linkage name
// (docs/algorithms.md 15). While a unit is walked, where its scopes begin and end is noted; a declaration's
// scopes are then found by its address among the sorted marks. Cost: one mark per scope, a binary search per
// name.
#include "structure/qualified_names.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <dwarf.h>

namespace culprit::structure {

namespace {

/// An entry refers to its declaration in two steps at most; damaged ones might refer to each other.
constexpr int kMostReferences = 8;
/// Deeper nesting of named scopes is damaged information.
constexpr int kMostScopes = 64;

/// What a scope puts before the name of a member; nothing for an unnamed namespace, as users write it.
std::string prefix_of(Dwarf_Die scope, std::string_view member) {
  if (const char* name = dwarf_diename(&scope)) return std::string(name) + "::";
  if (dwarf_tag(&scope) == DW_TAG_namespace) return {};
  return member.starts_with("operator()") ? "{lambda}::" : "{unnamed}::";
}

}  // namespace

Dwarf_Die QualifiedNames::declaration_of(Dwarf_Die entry) {
  for (int i = 0; i < kMostReferences; ++i) {
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_formref_die(dwarf_attr(&entry, DW_AT_abstract_origin, &attribute), &origin) == nullptr &&
        dwarf_formref_die(dwarf_attr(&entry, DW_AT_specification, &attribute), &origin) == nullptr)
      break;
    entry = origin;
  }
  return entry;
}

void QualifiedNames::enter(const Dwarf_Die& scope) {
  visit(scope);
  marks_.push_back({static_cast<const char*>(scope.addr) + 1, scopes_.size()});
  entered_.push_back(scopes_.size());
  scopes_.push_back(scope);
}

void QualifiedNames::leave() {
  entered_.pop_back();
  left_ = true;
}

void QualifiedNames::visit(const Dwarf_Die& entry) {
  if (!left_) return;
  left_ = false;
  marks_.push_back({entry.addr, entered_.empty() ? kOutermost : entered_.back()});
}

void QualifiedNames::sort() {
  std::ranges::stable_sort(marks_, std::less<>(), &Mark::from);
}

std::size_t QualifiedNames::around(const Dwarf_Die& declaration) const {
  const void* at = declaration.addr;
  const auto after = std::ranges::upper_bound(marks_, at, std::less<>(), &Mark::from);
  return after == marks_.begin() ? kOutermost : (after - 1)->scope;
}

std::string QualifiedNames::qualify(Dwarf_Die procedure, std::string name) const {
  std::size_t scope = around(declaration_of(procedure));
  for (int i = 0; scope != kOutermost && i < kMostScopes; ++i) {
    name.insert(0, prefix_of(scopes_[scope], name));
    scope = around(declaration_of(scopes_[scope]));
  }
  return name;
}

namespace {

/// Types nest this deep at most before they count as damaged (a loop of references).
constexpr int kDeepestType = 64;
/// Entries looked at for one procedure, at most: references of damaged information lead anywhere.
constexpr int kMostVisited = 4096;
/// Of a unit, types are among the first.
constexpr int kMostUnitEntries = 1 << 16;
/// Longer lists say no more to anybody, and damaged information could make them as long as it likes.
constexpr std::size_t kLongestList = 4096;

struct Spelling {
  std::string_view debug_information, demangled;
};
/// gcc names built-in types otherwise than demanglers do.
constexpr Spelling kBuiltIn[] = {
    {"short int", "short"},
    {"short unsigned int", "unsigned short"},
    {"long int", "long"},
    {"long unsigned int", "unsigned long"},
    {"long long int", "long long"},
    {"long long unsigned int", "unsigned long long"},
    {"__int128 unsigned", "unsigned __int128"},
    {"complex float", "float _Complex"},
    {"complex double", "double _Complex"},
    {"complex long double", "long double _Complex"},
};

std::optional<Dwarf_Die> type_of(Dwarf_Die die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  if (dwarf_formref_die(dwarf_attr_integrate(&die, DW_AT_type, &attribute), &type) == nullptr)
    return std::nullopt;
  return type;
}

std::string built_in(Dwarf_Die type) {
  const char* name = dwarf_diename(&type);
  if (name == nullptr) return "?";
  for (const Spelling& spelling : kBuiltIn)
    if (spelling.debug_information == name) return std::string(spelling.demangled);
  return name;
}

/// Whether the object that a member procedure is called for is const: what its `this` points to.
bool is_const_member(Dwarf_Die procedure) {
  Dwarf_Die child;
  if (dwarf_child(&procedure, &child) != 0) return false;
  int entries = kMostVisited;
  do {
    if (dwarf_tag(&child) != DW_TAG_formal_parameter) continue;
    if (dwarf_hasattr_integrate(&child, DW_AT_artificial) == 0) return false;
    std::optional<Dwarf_Die> type = type_of(child);
    if (type && dwarf_tag(&*type) == DW_TAG_const_type) type = type_of(*type);  // this itself is const
    if (!type || dwarf_tag(&*type) != DW_TAG_pointer_type) return false;
    type = type_of(*type);
    return type && dwarf_tag(&*type) == DW_TAG_const_type;
  } while (--entries > 0 && dwarf_siblingof(&child, &child) == 0);
  return false;
}

/// A type is spelled around the declarator it applies to, as in `int (*)[8]`.
class Types {
 public:
  explicit Types(const QualifiedNames& names) : names_(names) {}

  /// `declarator`: what stands where a name would stand.
  std::string spell(std::optional<Dwarf_Die> type, std::string declarator = {}, int depth = 0) {
    if (!type) return "void" + declarator;
    if (depth > kDeepestType || declarator.size() > kLongestList || --entries_ < 0) return "?";
    const std::optional<Dwarf_Die> inner = type_of(*type);
    const auto around = [&](std::string_view sign) {
      return spell(inner, std::string(sign) + declarator, depth + 1);
    };
    switch (dwarf_tag(&*type)) {
      case DW_TAG_pointer_type:
        return around("*");
      case DW_TAG_reference_type:
        return around("&");
      case DW_TAG_rvalue_reference_type:
        return around("&&");
      case DW_TAG_const_type:
        return around(" const");
      case DW_TAG_volatile_type:
        return around(" volatile");
      case DW_TAG_restrict_type:
      case DW_TAG_atomic_type:
      case DW_TAG_typedef:
        return around("");
      case DW_TAG_array_type:
        return spell(inner, (declarator.empty() ? "" : " " + grouped(declarator)) + bounds(*type), depth + 1);
      case DW_TAG_subroutine_type:
        return spell(inner, " ", depth + 1) + grouped(declarator) + list(*type, depth + 1) +
               (is_const_member(*type) ? " const" : "");
      case DW_TAG_ptr_to_member_type:
        return member(*type, inner, declarator, depth);
      case DW_TAG_base_type:
      case DW_TAG_unspecified_type:
        return built_in(*type) + declarator;
      default:
        return named(*type) + declarator;
    }
  }

  /// The parameters of a procedure or of the type of one.
  std::string list(Dwarf_Die of, int depth = 0) {
    std::string text = "(";
    Dwarf_Die child;
    bool first = true;
    for (bool more = dwarf_child(&of, &child) == 0; more && text.size() < kLongestList && --entries_ > 0;
         more = dwarf_siblingof(&child, &child) == 0) {
      const int tag = dwarf_tag(&child);
      if (tag != DW_TAG_formal_parameter && tag != DW_TAG_unspecified_parameters) continue;
      if (dwarf_hasattr_integrate(&child, DW_AT_artificial) != 0) continue;  // this
      if (!std::exchange(first, false)) text += ", ";
      text += tag == DW_TAG_formal_parameter ? spell(unqualified(type_of(child)), {}, depth) : "...";
    }
    return text + ")";
  }

 private:
  static std::string grouped(const std::string& declarator) {
    const auto first = declarator.find_first_not_of(' ');
    if (first == std::string::npos) return {};
    return "(" + declarator.substr(first) + ")";
  }

  /// What is const in a definition alone is no part of the procedure's type.
  static std::optional<Dwarf_Die> unqualified(std::optional<Dwarf_Die> type) {
    for (int i = 0; i < kDeepestType && type; ++i) {
      const int tag = dwarf_tag(&*type);
      if (tag != DW_TAG_const_type && tag != DW_TAG_volatile_type && tag != DW_TAG_restrict_type) break;
      type = type_of(*type);
    }
    return type;
  }

  std::string bounds(Dwarf_Die array) {
    std::string text;
    Dwarf_Die child;
    for (bool more = dwarf_child(&array, &child) == 0; more && --entries_ > 0;
         more = dwarf_siblingof(&child, &child) == 0) {
      if (dwarf_tag(&child) != DW_TAG_subrange_type) continue;
      Dwarf_Attribute attribute;
      Dwarf_Word number = 0;
      text += text.empty() ? " [" : "[";
      if (dwarf_formudata(dwarf_attr(&child, DW_AT_upper_bound, &attribute), &number) == 0) {
        text += std::to_string(number + 1);
      } else if (dwarf_formudata(dwarf_attr(&child, DW_AT_count, &attribute), &number) == 0) {
        text += std::to_string(number);
      }
      text += "]";
    }
    return text;
  }

  std::string member(Dwarf_Die pointer, std::optional<Dwarf_Die> inner, const std::string& declarator,
                     int depth) {
    Dwarf_Attribute attribute;
    Dwarf_Die owner;
    std::string of = "?";
    if (dwarf_formref_die(dwarf_attr(&pointer, DW_AT_containing_type, &attribute), &owner) != nullptr)
      of = named(owner);
    return spell(inner, " " + of + "::*" + declarator, depth + 1);
  }

  std::string named(Dwarf_Die type) {
    const char* name = dwarf_diename(&type);
    return names_.qualify(type, name == nullptr ? "{unnamed}" : name);
  }

  const QualifiedNames& names_;
  int entries_ = kMostVisited;  ///< that may still be looked at
};

}  // namespace

/// Whether the unit that declares a procedure shows types at all: built-in ones, or those that dwz moved.
bool Parameters::has_types(Dwarf_Die declaration) {
  Dwarf_Die unit, child;
  if (dwarf_diecu(&declaration, &unit, nullptr, nullptr) == nullptr) return false;
  const auto [known, added] = has_types_.try_emplace(unit.addr, false);
  if (!added || dwarf_child(&unit, &child) != 0) return known->second;
  int entries = kMostUnitEntries;
  do {
    const int tag = dwarf_tag(&child);
    known->second = tag == DW_TAG_base_type || tag == DW_TAG_imported_unit;
  } while (!known->second && --entries > 0 && dwarf_siblingof(&child, &child) == 0);
  return known->second;
}

std::string Parameters::of(const Dwarf_Die& procedure) {
  // Copies may have lost parameters; the declaration has them all.
  const Dwarf_Die declaration = QualifiedNames::declaration_of(procedure);
  if (!has_types(declaration)) return {};
  return Types(names_).list(declaration) + (is_const_member(declaration) ? " const" : "");
}

bool is_cpp(Dwarf_Die* unit) {
  constexpr int kCpp17 = 0x2b, kCpp20 = 0x2c;  // of DWARF 6, which compilers state already
  switch (dwarf_srclang(unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case kCpp17:
    case kCpp20:
      return true;
    default:
      return false;
  }
}

}  // namespace culprit::structure
