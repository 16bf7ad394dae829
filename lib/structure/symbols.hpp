#pragma once

#include "structure/module.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace culprit::structure {

/// A function symbol, the best of all names of its address.
struct Symbol {
  Range range;       ///< high = low where no symbol there states a size
  std::string name;  ///< without version
  std::uint8_t rank = 0;
};

/// The function symbols of a module: its .symtab, that of its debug file, or .dynsym with .gnu_debugdata,
/// whichever libdwfl finds first.
class Symbols {
 public:
  explicit Symbols(const Module& module);
  /// Further symbols; of several at one address the best stays.
  void add(std::vector<Symbol> symbols);
  /// The innermost symbol whose stated size covers `address`; null where none does.
  [[nodiscard]] const Symbol* covering(std::uint64_t address) const;
  /// The last symbol at or before `address`.
  [[nodiscard]] const Symbol* preceding(std::uint64_t address) const;
  [[nodiscard]] const Symbol* at(std::uint64_t address) const;
  /// The first symbol after `address`.
  [[nodiscard]] const Symbol* following(std::uint64_t address) const;
  /// The only symbol of that name; null where there is none, or several files have a function of that name.
  [[nodiscard]] const Symbol* named(const std::string& name) const;
  [[nodiscard]] bool empty() const { return symbols_.empty(); }
  /// Ascending by address, one per address.
  [[nodiscard]] const std::vector<Symbol>& all() const { return symbols_; }

 private:
  void index();

  std::vector<Symbol> symbols_;         // ascending by address, one per address
  std::vector<std::uint64_t> reach_;    // highest end among symbols_[0..i]
  std::vector<std::uint32_t> by_name_;  // indices into symbols_, ascending by name
};

}  // namespace culprit::structure
