#pragma once

#include "cct/tree.hpp"
#include "files/named_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace culprit::stacks {

/// One line of /proc/PID/maps.
struct Mapping {
  std::uint64_t begin = 0, end = 0, offset = 0;
  bool readable = false;  ///< and no device's
  bool writable = false;
  bool of_file = false;  ///< or the kernel's code page
  std::string path;
};

/// An ELF file that a process has loaded, as its memory shows it.
struct LoadedModule {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bias = 0;     ///< run-time address minus ELF virtual address
  std::uint64_t table = 0;    ///< run-time address of .eh_frame_hdr; 0: it has none that can be used
  std::uint64_t entries = 0;  ///< of its search table, which begins at `first_entry`
  std::uint64_t first_entry = 0;
  cct::ModuleKey key;
  std::string name;  ///< of its file; empty: as its path says
};

/// The memory of another process: its mappings, its modules, and what does not change while it runs. Nothing
/// here needs the process to be stopped.
class AddressSpace {
 public:
  /// Opens /proc/PID/mem; `error()` says why it, or the mappings, could not be read.
  explicit AddressSpace(pid_t pid);

  [[nodiscard]] int error() const { return error_; }
  /// Reads the mappings again. Returns whether they changed.
  bool refresh();

  [[nodiscard]] const Mapping* mapping_at(std::uint64_t address) const;
  /// Null where no ELF file is loaded there.
  [[nodiscard]] const LoadedModule* module_at(std::uint64_t address);

  /// Reads whatever is there now, up to the first byte that cannot be read; returns how many bytes.
  [[nodiscard]] std::size_t read(std::uint64_t address, std::span<std::byte> into) const;
  /// A word of code or data of a file: it is the same as when the process was stopped. Nothing of other
  /// memory, which has changed since.
  [[nodiscard]] std::optional<std::uint64_t> lasting_word(std::uint64_t address);
  /// Whether nothing of it is left: the process has ended, or executes another program.
  [[nodiscard]] bool is_over() const;
  /// Any word, as it is now.
  [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t address) const;
  /// Whether memory is there that belongs to no file: a stack or the heap.
  [[nodiscard]] bool is_data(std::uint64_t address) const;

 private:
  static constexpr std::uint64_t kPage = 4096;
  using Page = std::array<std::byte, kPage>;

  [[nodiscard]] const Page* page_at(std::uint64_t address);
  std::optional<LoadedModule> read_module(const Mapping& first);
  void read_search_table(LoadedModule& module, std::uint64_t header);
  void name_file(LoadedModule& module, const Mapping& first) const;
  std::string build_id_at(std::uint64_t begin, std::uint64_t size);
  template <class Value>
  [[nodiscard]] std::optional<Value> value_at(std::uint64_t address) const;

  pid_t pid_;
  files::Descriptor memory_;
  int error_ = 0;
  bool elsewhere_ = false;                     ///< its files are those of another mount namespace
  std::string text_;                           ///< of the mappings
  std::map<std::uint64_t, Mapping> mappings_;  ///< by their ends
  std::map<std::uint64_t, std::optional<LoadedModule>> modules_;  ///< by the address of their ELF header
  std::unordered_map<std::uint64_t, std::optional<Page>> pages_;
};

}  // namespace culprit::stacks
