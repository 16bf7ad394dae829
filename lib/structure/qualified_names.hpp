#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <elfutils/libdw.h>

namespace culprit::structure {

/// Names of procedures with the namespaces, classes and procedures around them, for those of which debug
/// information states no linkage name: members of unnamed namespaces, lambdas, procedures within procedures.
/// An entry of debug information does not know what it lies in, and what it refers to may come later; so the
/// scopes are noted while units are walked, and names are put together afterwards.
class QualifiedNames {
 public:
  /// The walk goes on with the children of `scope`.
  void enter(const Dwarf_Die& scope);
  /// The walk is done with the children of the scope that was entered last.
  void leave();
  /// The walk goes on with `entry`. To be called for each sibling.
  void visit(const Dwarf_Die& entry);

  /// The entry that an instance, a copy, or a definition outside its class goes back to.
  static Dwarf_Die declaration_of(Dwarf_Die entry);

  /// To be called once after the walk.
  void sort();
  /// The name of `procedure`, whose own name is `name`, with all that was entered around its declaration.
  [[nodiscard]] std::string qualify(Dwarf_Die procedure, std::string name) const;

 private:
  /// From `from` on, a place in the debug information, up to the next mark: within this scope (none:
  /// kOutermost).
  struct Mark {
    const void* from = nullptr;
    std::size_t scope = 0;
  };
  static constexpr std::size_t kOutermost = static_cast<std::size_t>(-1);
  [[nodiscard]] std::size_t around(const Dwarf_Die& declaration) const;
  std::vector<Dwarf_Die> scopes_;
  std::vector<Mark> marks_;
  std::vector<std::size_t> entered_;
  bool left_ = false;
};

/// The parameters of C++ procedures, spelled as demanglers spell them: "(int, double const*) const". For
/// procedures of which no symbol shows them: static ones that were inlined everywhere.
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

/// Whether the unit is written in C++: only its symbols show parameters.
bool is_cpp(Dwarf_Die* unit);

}  // namespace culprit::structure
