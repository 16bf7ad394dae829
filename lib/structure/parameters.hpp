#pragma once

#include "structure/qualified_names.hpp"

#include <map>
#include <string>

#include <elfutils/libdw.h>

namespace culprit::structure {

/// The parameters of C++ procedures, spelled as demanglers spell them: "(int, double const*) const". For
/// procedures of which no symbol tells them: static ones that were inlined everywhere.
class Parameters {
 public:
  /// `names` is sorted and outlives this.
  explicit Parameters(const QualifiedNames& names) : names_(names) {}
  /// In parentheses, and ` const` where it is a const member. Empty where debug information has no types
  /// (-g1).
  [[nodiscard]] std::string of(const Dwarf_Die& procedure);

 private:
  bool has_types(Dwarf_Die declaration);
  const QualifiedNames& names_;
  std::map<const void*, bool> has_types_;  ///< by unit
};

/// Whether the unit is written in C++: only its symbols tell parameters.
bool is_cpp(Dwarf_Die* unit);

}  // namespace culprit::structure
