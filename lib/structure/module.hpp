#pragma once

#include "files/named_file.hpp"
#include "structure/structure.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <libelf.h>

namespace culprit::structure {

/// Half-open, of ELF virtual addresses.
struct Range {
  std::uint64_t low = 0, high = 0;
  [[nodiscard]] bool contains(std::uint64_t address) const { return low <= address && address < high; }
};

/// One instruction, as far as control flow is concerned.
struct Instruction {
  enum class Flow : std::uint8_t {
    next,      ///< execution goes on behind it
    call,      ///< likewise, if the callee returns
    branch,    ///< to `target` or behind it
    jump,      ///< to `target`
    computed,  ///< to where a register or memory says
    end,       ///< return, trap or undecodable byte
  };
  std::uint64_t address = 0;
  std::uint64_t target = 0;  ///< of branch, jump and direct call; 0 where there is none
  std::uint8_t length = 1;
  Flow flow = Flow::next;
  [[nodiscard]] std::uint64_t end() const { return address + length; }
};

/// One ELF executable or shared object, opened for reading, with whatever separate debug file libdwfl finds
/// for it. Addresses are the ELF's own virtual addresses. Used by one thread at a time.
class Module {
 public:
  /// Opens `request.path`; on failure returns null and says why in `why`.
  static std::unique_ptr<Module> open(const Request& request, std::string& why);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] Elf* elf() const { return elf_; }
  [[nodiscard]] Dwfl_Module* dwfl() const { return module_; }
  [[nodiscard]] const std::string& build_id() const { return build_id_; }
  [[nodiscard]] bool is_x86_64() const { return machine_ == EM_X86_64; }
  [[nodiscard]] bool is_aarch64() const { return machine_ == EM_AARCH64; }
  /// The file's name without its directory, and without what Python adds to those of its extensions.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The debug information of the module or of its debug file; null where there is none. `bias` is subtracted
  /// from its addresses to give the module's.
  [[nodiscard]] Dwarf* dwarf(std::uint64_t& bias) const;
  /// Subtracted from addresses that libdwfl gives.
  [[nodiscard]] std::uint64_t bias() const { return bias_; }

  /// What distinguishes files of the same build, such as one that was stripped or whose debug file was
  /// installed later: size and time of the file and of its debug file, and the build-id of a supplementary
  /// one.
  [[nodiscard]] std::string files();

  /// The bytes of the file that are loaded at `address`, up to the end of their segment; empty where none
  /// are.
  [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t address) const;
  /// The pointer at `address`, a place within bytes(), as it is once the module is loaded at 0: some linkers
  /// leave it to a relocation alone.
  [[nodiscard]] std::uint64_t pointer(std::uint64_t address) const;
  [[nodiscard]] bool executable(std::uint64_t address) const;
  /// The contents of a section by name, empty where it does not exist or holds no bytes in the file.
  struct Section {
    std::uint64_t address = 0;
    std::uint64_t entry_size = 0;
    std::span<const std::byte> bytes;
  };
  [[nodiscard]] Section section(const char* wanted) const;

  /// What of the module, or of its debug files, was not read: it is not there, or would take memory without
  /// measure.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  /// Whether the file's size or time of change are no longer what they were when it was opened.
  [[nodiscard]] bool changed() const;
  /// Whether libdw may be let look for a file that debug information names, perhaps below a directory that it
  /// names too: not where what has that name is no regular file, since libdw opens it and waits, for a FIFO's
  /// writer for one; nor where it is compressed without measure (noted).
  [[nodiscard]] bool may_seek(const char* name, const char* below = "") const;

 private:
  Module() = default;
  bool load(const Request& request, std::string& why);
  void read_segments();
  void note_missing_end();
  void pass_over_boundless_sections();
  static int find_debug_file(Dwfl_Module* module, void** self, const char* name, Dwarf_Addr base,
                             const char* file, const char* link, GElf_Word checksum, char** found);
  [[nodiscard]] bool may_seek_below_root(const char* name) const;
  /// Whether libdw may open a file that is sought, if there is one.
  [[nodiscard]] bool is_harmless(const std::filesystem::path& debug_file) const;
  [[nodiscard]] bool may_read(int fd, const char* path) const;
  void note_directories_of(const std::filesystem::path& file);
  void note_debug_file(int fd, const char* path);
  std::string supplementary_file(Elf* of) const;
  static Section section_of(Elf* elf, const char* wanted);
  struct Segment {
    Range range;
    std::span<const std::byte> bytes;
    bool executable = false;
  };

  struct DwflEnd {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  std::string debug_path_;  // libdwfl keeps pointers to these two
  char* debug_path_pointer_ = nullptr;
  Dwfl_Callbacks callbacks_{};
  std::unique_ptr<Dwfl, DwflEnd> dwfl_;
  Dwfl_Module* module_ = nullptr;
  Elf* elf_ = nullptr;
  std::uint64_t bias_ = 0;
  std::string name_, build_id_, stamp_, debug_files_;
  files::Descriptor own_;                           ///< to see whether it changed
  std::vector<std::filesystem::path> directories_;  ///< of the module and its debug file
  std::uint16_t machine_ = EM_NONE;                 ///< of 64 bits; else EM_NONE
  std::vector<Segment> segments_;
  struct Relocation {
    std::uint64_t place = 0, value = 0;
  };
  /// Relative ones, ascending; read when first asked for.
  mutable std::optional<std::vector<Relocation>> relocations_;
  [[nodiscard]] std::vector<Relocation> read_relocations() const;
  mutable std::vector<std::string> notes_;
};

}  // namespace culprit::structure
