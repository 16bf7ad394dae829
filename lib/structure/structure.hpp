#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace culprit::structure {

inline constexpr std::uint32_t kNone = 0xffffffff;

enum class NameSource : std::uint8_t {
  debug_info,  ///< DW_TAG_subprogram
  symbol,      ///< .symtab or .dynsym
  eh_frame,    ///< function bounds only: named module@0xoffset
  none,        ///< nothing known: named <module@0xoffset> for the address itself
};

struct Procedure {
  std::string name;     ///< demangled (C++, Fortran modules), as the user wrote it
  std::string linkage;  ///< the symbol, empty where there is none
  std::uint64_t low = 0, high = 0;  ///< ELF virtual addresses, of the contiguous part that was asked about
  std::uint32_t file = kNone;
  std::uint32_t line = 0;
  NameSource source = NameSource::none;
};

/// A static scope within a procedure: an inlined procedure, or a natural loop.
struct Scope {
  enum class Kind : std::uint8_t { inlined, loop } kind = Kind::loop;
  std::uint32_t parent = kNone;     ///< enclosing scope, kNone: directly in the procedure
  std::string name;                 ///< inlined: the procedure's name; loop: empty
  std::uint32_t file = kNone;       ///< inlined: where it is defined; loop: its header's file
  std::uint32_t line = 0;           ///< inlined: its definition's line; loop: its header's line
  std::uint32_t call_file = kNone;  ///< inlined: the call site
  std::uint32_t call_line = 0;
};

/// What lies at one address.
struct Point {
  std::uint32_t procedure = kNone;
  std::uint32_t scope = kNone;  ///< innermost
  std::uint32_t file = kNone;
  std::uint32_t line = 0;
};

/// Static structure of the sampled part of one module. `points` is parallel to the request's addresses.
struct ModuleStructure {
  std::vector<std::string> files;
  std::vector<Procedure> procedures;
  std::vector<Scope> scopes;
  std::vector<Point> points;
  std::vector<std::string> notes;  ///< e.g. "no debug information", "changed since it was measured (build-id differs)"
};

struct Request {
  std::filesystem::path path;           ///< as recorded; "[vdso]" for the vdso
  std::string build_id;                 ///< hex; when set and the file's differs, nothing is read from it (noted)
  std::vector<std::uint64_t> addresses; ///< ELF virtual addresses, ascending, unique
  bool loops = true;
};

/// Recovers the structure around the addresses asked for, and only there: one pass over DIEs and line table of the
/// compilation units that hold them, disassembly of the procedures that hold them. Never throws for bad input: what
/// cannot be recovered is left out and noted. Deterministic. Thread-safe for different requests.
ModuleStructure recover(const Request& request);

/// Demangles C++ (Itanium) and Fortran module procedures (__mod_MOD_proc → mod::proc); suffixes such as .part.0,
/// .constprop.0, .cold, ._omp_fn.0 are kept readable. Returns `symbol` itself where nothing applies.
std::string demangle(const std::string& symbol);

}  // namespace culprit::structure
