#pragma once

#include "structure/module.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace culprit::structure {

/// The procedure linkage table: stubs through which a module calls functions of other modules.
class LinkageStubs {
 public:
  explicit LinkageStubs(const Module& module);
  struct Stub {
    Range range;
    std::string
        callee;  ///< the symbol, empty where it cannot be determined (the table's head, a damaged stub)
  };
  /// The stub that holds `address`; empty where none does.
  [[nodiscard]] std::optional<Stub> find(std::uint64_t address) const;
  /// The function of another module that a call which returns to `address` calls by name, through a stub or
  /// the stub's slot; empty where it calls anything else, or no call ends there.
  [[nodiscard]] std::string called_before(std::uint64_t address) const;

 private:
  struct Table {
    Range range;
    std::uint64_t stub_size;
  };
  void note_x86_64_tables(const Module& module);
  void note_aarch64_table(const Module::Section& section);
  void read_relocations(const Module& module);
  [[nodiscard]] std::string callee_of(Range stub) const;
  const Module& module_;
  std::vector<Table> tables_;
  std::unordered_map<std::uint64_t, std::string> slots_;  // address of the slot in .got → symbol
  std::vector<std::string> by_index_;                     // of .rela.plt: what lazy stubs push
};

}  // namespace culprit::structure
