#pragma once

#include "structure/line_table.hpp"
#include "structure/module.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <elfutils/libdw.h>

namespace culprit::structure {

/// One instance of a procedure that was inlined into another.
struct Inlined {
  std::uint32_t parent =
      kNone;  ///< index of the enclosing instance in Subprogram::inlined, kNone: the procedure
  std::string name;
  Place declared, called;
  std::uint64_t entry = 0;
  std::vector<Range> ranges;
  /// Where the procedure has code of its own, if its name here lacks its parameters: the symbol has them.
  std::vector<std::uint64_t> copies;
};

/// A procedure that has machine code, as debug information describes it.
struct Subprogram {
  std::string name, linkage;
  Place declared;
  std::string around;            ///< of an OpenMP region that clang outlined: the procedure that it stands in
  std::vector<Range> ranges;     ///< the first holds the entry
  std::vector<Inlined> inlined;  ///< parents before children
};

/// What the debug information of a module says around asked addresses: only the compilation units that hold
/// some are read, each in one pass. Damaged parts are left out.
class DebugInfo {
 public:
  /// `addresses` ascending, as long-lived as `module` and `files`.
  DebugInfo(const Module& module, std::span<const std::uint64_t> addresses, SourceFiles& files);
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;
  ~DebugInfo();

  /// False where the module has none.
  [[nodiscard]] bool present() const { return dwarf_ != nullptr; }
  /// Whether units were asked for whose contents lie in files of their own (.dwo), found or not.
  [[nodiscard]] bool split() const { return split_; }
  /// Whether some of these files were not found.
  [[nodiscard]] bool lacks_split() const { return lacks_split_; }
  /// Those that hold asked addresses, in the order of their units.
  [[nodiscard]] const std::vector<Subprogram>& subprograms() const { return subprograms_; }
  /// The line table of these ranges of code, as far as the units cover them.
  [[nodiscard]] LineTable lines(const std::vector<Range>& code) const;

 private:
  struct Unit;
  void select_units(const Module& module, std::span<const std::uint64_t> addresses);
  Dwarf* dwarf_ = nullptr;
  std::uint64_t bias_ = 0;
  bool split_ = false, lacks_split_ = false;
  SourceFiles& files_;
  std::vector<Unit> units_;
  std::vector<Subprogram> subprograms_;
};

}  // namespace culprit::structure
