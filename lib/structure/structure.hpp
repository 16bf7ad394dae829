#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::structure {

inline constexpr std::uint32_t kNone = 0xffffffff;

enum class NameSource : std::uint8_t {
  debug_info,  ///< DW_TAG_subprogram
  symbol,      ///< .symtab, .dynsym or .gnu_debugdata; procedure linkage stubs are named `callee@plt`
  eh_frame,    ///< function bounds only: named module@0xoffset
  none,        ///< nothing known: the module's one procedure `<unknown in module>`, low = high = 0
};

/// What is added to the name of a function for a part of it that lies elsewhere and has no name of its own
/// (forwarders.hpp); compilers add a number to it.
inline constexpr std::string_view kPartSuffix = ".part";

/// A procedure that holds asked addresses. Its cold parts (`foo.cold`, a second DWARF range) belong to it.
struct Procedure {
  std::string name;                 ///< demangled (C++, Fortran modules), as the user wrote it
  std::string linkage;              ///< the symbol, empty where there is none
  std::uint64_t low = 0, high = 0;  ///< ELF virtual addresses, of the contiguous part that holds the entry
  std::uint32_t file = kNone;
  std::uint32_t line = 0;
  NameSource source = NameSource::none;
};

/// A static scope within a procedure: an inlined procedure, or a natural loop. Only scopes that hold asked
/// addresses are listed; a parent always stands before its children.
struct Scope {
  enum class Kind : std::uint8_t { inlined, loop } kind = Kind::loop;
  std::uint32_t parent = kNone;  ///< enclosing scope, kNone: directly in the procedure
  std::string name;              ///< inlined: the procedure's name; loop: empty
  std::uint32_t file = kNone;    ///< inlined: where it is defined; loop: its header's file
  std::uint32_t line = 0;        ///< inlined: its definition's line; loop: its header's line, 0 where unknown
  std::uint32_t call_file = kNone;  ///< inlined: the call site
  std::uint32_t call_line = 0;
  std::uint64_t address =
      0;  ///< loop: of its header, which distinguishes loops without a line; inlined: entry
};

/// What lies at one address.
struct Point {
  std::uint32_t procedure = kNone;
  std::uint32_t scope = kNone;  ///< innermost
  std::uint32_t file = kNone;
  std::uint32_t line = 0;
  std::uint32_t callee = kNone;  ///< of a call that returns to the next address: what it calls by name
  friend bool operator==(const Point&, const Point&) = default;
};

/// How notes end that concern one procedure, whose name they begin with.
inline constexpr std::string_view kTooLarge = ": too large for its loops to be sought";

/// Static structure of the sampled part of one module. `points` is parallel to the request's addresses.
/// `files` are absolute and normalised wherever the debug information says so.
struct ModuleStructure {
  std::vector<std::string> files;
  std::vector<std::string> callees;  ///< functions of other modules that are called by name; linkage names
  std::vector<Procedure> procedures;
  std::vector<Scope> scopes;
  std::vector<Point> points;
  std::vector<std::string>
      notes;  ///< e.g. "no debug information", "changed since it was measured: its build-id differs"
};

struct Request {
  std::filesystem::path path;  ///< as recorded; "[vdso]" for the vdso
  std::string build_id;        ///< hex; when set and the file's differs, nothing is read from it (noted)
  std::vector<std::uint64_t> addresses;  ///< ELF virtual addresses, ascending, unique
  bool loops = true;
  bool debug_info = true;  ///< false: bounds and names from symbols and call-frame information only
  /// Where separate debug files are sought, in libdwfl's notation; empty: beside the module, in .debug, and
  /// below /usr/lib/debug.
  std::string debug_path;
  /// The most threads that may work on this module, each on a part of the addresses.
  std::size_t threads = 1;
  /// Where what was recovered is kept for later runs (cache.hpp); empty: nowhere.
  std::filesystem::path cache;
};

/// Recovers the structure around the addresses asked for, and only there: one pass over DIEs and line table
/// of the compilation units that hold them, disassembly of the procedures that hold them. Never throws for
/// bad input: what cannot be recovered is left out and noted. Deterministic: threads change the order of
/// scopes and procedures at most, never what is said of an address. Thread-safe for different requests.
///
/// Of several symbols at one address the one is taken that is a function, MPI_X rather than PMPI_X, without
/// leading underscores, global rather than weak rather than local, shortest, first in byte order: in this
/// order. A cache changes no more than threads do. Loops that a compiler made from one source loop
/// (vectorised body and remainder) are one scope: siblings with the same file and line merge.
ModuleStructure recover(const Request& request);

/// The code of one module, for who asks for it again and again: what is known of a function serves later
/// questions about it, and the module is opened for new ones only. Not thread-safe.
class KnownCode {
 public:
  /// The request's addresses do not matter.
  explicit KnownCode(Request request);
  ~KnownCode();
  KnownCode(KnownCode&&) noexcept;
  KnownCode& operator=(KnownCode&&) noexcept;

  /// The structure around `addresses` (ascending, unique) as recover() finds it; never throws for bad input.
  ModuleStructure around(const std::vector<std::uint64_t>& addresses);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Where caches of structure belong by the XDG base directory specification: culprit/structure in
/// $XDG_CACHE_HOME, or in ~/.cache. Empty where neither is known.
std::filesystem::path default_cache();

/// Demangles C++ (Itanium) and Fortran module procedures (__mod_MOD_proc → mod::proc); suffixes such as
/// .part.0, .constprop.0, .cold, ._omp_fn.0 are kept readable. Returns `symbol` itself where nothing applies.
std::string demangle(const std::string& symbol);

}  // namespace culprit::structure
