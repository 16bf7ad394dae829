#pragma once

#include "structure/line_table.hpp"
#include "structure/module.hpp"
#include "structure/source_files.hpp"

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
};

/// A procedure that has machine code, as debug information describes it.
struct Subprogram {
  std::string name, linkage;
  Place declared;
  std::vector<Range> ranges;     ///< the first holds the entry
  std::vector<Inlined> inlined;  ///< parents before children
};

/// What debug information says around asked addresses.
struct DebugInfo {
  std::vector<Subprogram> subprograms;  ///< those that hold asked addresses
  LineTable lines;                      ///< of the ranges of those, and of asked addresses in no subprogram
  bool present = false;
};

/// Reads in one pass the compilation units that hold some of `addresses` (ascending). Damaged parts are left
/// out.
DebugInfo read_debug_info(const Module& module, std::span<const std::uint64_t> addresses, SourceFiles& files);

}  // namespace culprit::structure
