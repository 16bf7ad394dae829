#pragma once

#include "structure/frames.hpp"
#include "structure/module.hpp"
#include "structure/plt.hpp"
#include "structure/symbols.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace culprit::structure {

/// A function as far as it can be determined without debug information.
struct Function {
  std::string name, linkage;
  std::vector<Range> ranges;  ///< the first holds the entry
  NameSource source = NameSource::none;
};

/// Names and bounds from symbols, linkage stubs and call-frame information. Exported symbols leave gaps in
/// which a module's internal functions lie: an address beyond a symbol's size is never given to that symbol.
class FunctionBounds {
 public:
  explicit FunctionBounds(const Module& module);
  /// The function that holds `address`; source none where nothing is known.
  [[nodiscard]] Function find(std::uint64_t address) const;
  [[nodiscard]] const Frames& frames() const { return frames_; }
  /// The module's, and, where they do not name them, `_start` and `main` and what named
  /// functions only forward to, or leave their frames to (forwarders.hpp).
  [[nodiscard]] const Symbols& symbols() const { return symbols_; }
  [[nodiscard]] const LinkageStubs& stubs() const { return stubs_; }

 private:
  [[nodiscard]] const Symbol* owner(std::uint64_t address, const Frame* frame) const;
  [[nodiscard]] Range extent(const Symbol& symbol) const;
  [[nodiscard]] Function whole(const Symbol& symbol) const;
  const Module& module_;
  Frames frames_;
  Symbols symbols_;
  LinkageStubs stubs_;
};

/// What an executable shows without any symbol: where it starts (`_start`), and what its start code hands to
/// the C library as the program's `main`. Sizes are unknown. Empty for shared objects without an entry point
/// of that form.
std::vector<Symbol> entry_symbols(const Module& module);

}  // namespace culprit::structure
