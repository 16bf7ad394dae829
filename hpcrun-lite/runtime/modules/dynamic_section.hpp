#pragma once

#include <cstddef>
#include <cstdint>

#include <elf.h>
#include <link.h>

namespace culprit::runtime {

/// A word through which a module calls a function of another, or takes its address.
struct ImportSlot {
  const char* name;
  std::size_t symbol;  ///< its index in the module
  void** word;
};

/// What the loader goes by when it binds a module's calls (System V ABI, chapter 5), as it lies in memory.
/// Reads a loaded module that stays loaded meanwhile. Takes no lock and allocates nothing.
class DynamicSection {
 public:
  explicit DynamicSection(const dl_phdr_info& info);

  /// Calls visit(ImportSlot) for each slot of a module that is relocated.
  template <typename Visit>
  void each_slot(Visit visit) const {
    for (const Relocations& table : tables_) {
      for (std::size_t i = 0; i < table.count; ++i) {
        ImportSlot slot;
        if (is_slot(table.first[i], slot)) visit(slot);
      }
    }
  }
  /// The version that the module asks for; null: none.
  [[nodiscard]] const char* version_of(const ImportSlot& slot) const;
  /// Whether `address` lies in the module.
  [[nodiscard]] bool holds(const void* address) const;
  /// Whether the slot's symbol is the module's own, at `address`.
  [[nodiscard]] bool defines(const ImportSlot& slot, const void* address) const;
  /// Whether the slot is in memory that is written: by us now, and by the loader when it binds the slot.
  [[nodiscard]] bool is_writable(const void* word) const;
  /// Whether the loader made the slot's page read-only once it had bound all (RELRO).
  [[nodiscard]] bool is_protected(const void* word) const;
  /// Whether the module's calls are bound to itself first.
  [[nodiscard]] bool is_symbolic() const { return symbolic_; }

 private:
  struct Relocations {
    const ElfW(Rela) * first = nullptr;
    std::size_t count = 0;
  };
  struct Range {
    std::uint64_t begin = 0, end = 0;
    [[nodiscard]] bool holds(std::uint64_t address) const { return address >= begin && address < end; }
  };

  void note_segments();
  void note_entries(const ElfW(Dyn) * entry);
  [[nodiscard]] bool is_slot(const ElfW(Rela) & relocation, ImportSlot& slot) const;

  const dl_phdr_info& info_;
  Range whole_, relro_;
  Relocations tables_[2];  ///< of all, and those of calls
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const ElfW(Versym) * symbol_versions_ = nullptr;
  const ElfW(Verneed) * needed_versions_ = nullptr;
  bool symbolic_ = false;
};

}  // namespace culprit::runtime
