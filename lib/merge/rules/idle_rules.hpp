#pragma once

#include "measurement/kinds.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace culprit::merge {

/// A rules file is wrong. what() is "file:line: why (what to do)".
class RulesError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a procedure is when it is the outermost frame of its path that any rule knows: a frontier of idleness
/// (docs/algorithms.md 5.3), and of which sort.
enum class Frontier : std::uint8_t {
  none = 0,
  communication,  ///< not waiting, unless marked or in a progress loop
  may_wait,       ///< communication that nobody marks: waiting in a progress loop
  wait_below,     ///< waiting in the functions that it calls, not in itself
  wait,           ///< waiting, all of it
  setup,          ///< communication that is never waiting
};

/// Everything that the rules say of one procedure name.
struct NameRule {
  Frontier frontier = Frontier::none;
  measurement::WaitKind kind = measurement::WaitKind::none;  ///< of a frontier
  bool unmarked = false;  ///< a frontier that no layer marks: idle also where others of its kind are marked
  bool progress = false;  ///< below a communication frontier: a loop that waits
  bool moves = false;     ///< below a frontier: moves data or computes
  bool works = false;     ///< of a library that otherwise waits: works
  bool io = false;        ///< input and output
  bool libc_io =
      false;  ///< input and output in a run-time library; a program's function may have such a name

  friend bool operator==(const NameRule&, const NameRule&) = default;
};

/// Which procedures wait, communicate, or work below a wait, by name (docs/algorithms.md 5.1). The built-in
/// rules are the files of lib/merge/rules; users add their own. Syntax of a file, one rule per line, `#`
/// starts a comment, a line that starts with a blank continues the one before:
///
///     setup NAME…              communication, never idleness (MPI_Init)
///     communication NAME…      communication; idle only where marked or in a progress loop
///     may-wait NAME…           communication that seldom waits, so that no layer marks it: idle in a
///     progress
///                              loop, also where other calls are marked
///     wait KIND NAME…          waits: idle by name; a call of MPI as far as the MPI wrappers
///                              marked it, where they marked anything in the process
///     wait-below KIND NAME…    waits only in the functions that it calls
///     progress NAME…           a loop that waits for events: idle below a communication frame
///     moves NAME…              moves data or computes: work, also below a waiting frame
///     library KIND FILE…       samples in the code of this library (file name) itself wait
///     work NAME…               of such a library: does not wait
///     io NAME…                 input and output, with all that it calls
///     libc-io NAME…            the same, of the C library (run_time_libraries.hpp)
///     ignore NAME…             no rule shall apply to these
///
/// KIND: mpi, omp-barrier, omp-idle, lock, condition, join; for `library` also omp (omp-barrier on main
/// threads and in code that the library calls, omp-idle elsewhere). In a NAME, `*` stands for any characters.
/// A name MPI_X stands for every binding of MPI_X (mpi_names.hpp); one of libc-io or ignore for those with
/// the C library's prefixes, as __libc_read and _IO_fread. Where several rules fit a name, ignore goes before
/// setup, wait, wait-below, may-wait, communication. Const members are thread-safe.
class IdleRules {
 public:
  static IdleRules built_in();

  /// Adds the rules of `text`; `source` names it in errors. Throws RulesError.
  void add(std::string_view text, const std::string& source);
  /// Adds a file. Throws RulesError, also if it cannot be read.
  void add_file(const std::filesystem::path& path);

  [[nodiscard]] NameRule procedure(std::string_view name) const;

  /// One line for each name in rules that were added to the built-in ones that fits none of `names`, those of
  /// all procedures and load modules of a run: "file:line: name: why (what to do)".
  [[nodiscard]] std::vector<std::string> vain(std::span<const std::string> names) const;

  /// The MPI call that a procedure is a binding of, if the rules know that call; else empty.
  [[nodiscard]] std::string mpi_call(std::string_view procedure) const;

  /// What samples in a library's own code wait for; `none` if no rule names it. `at_barrier` decides the kind
  /// omp: the main thread, and a worker inside a region, wait at barriers; other workers have no work.
  [[nodiscard]] measurement::WaitKind library(const std::string& path, bool at_barrier) const;

 private:
  enum class Action : std::uint8_t {
    ignore,
    setup,
    communication,
    may_wait,
    wait,
    wait_below,
    progress,
    moves,
    library,
    work,
    io,
    libc_io
  };
  struct Effect {
    Action action = Action::ignore;
    measurement::WaitKind kind = measurement::WaitKind::none;
    bool by_thread = false;  ///< kind omp
  };
  struct Pattern {
    std::string text;
    Effect effect;
  };
  /// One that a user wrote.
  struct Added {
    std::string text;
    std::string where;  ///< file:line
    bool library = false;
  };
  struct Line;

  static Action action_of(const Line& line);
  static void take_kind(const Line& line, Effect& effect);
  void add_line(const Line& line);
  void collect(std::string_view name, std::vector<Effect>& effects) const;

  std::unordered_map<std::string, std::vector<Effect>> exact_;
  std::vector<Pattern> patterns_;
  std::vector<Pattern> libraries_;
  std::vector<Added> added_;
};

/// Whether `text` fits `pattern`, in which `*` stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

/// One file of lib/merge/rules, built into the program.
struct BuiltInRules {
  const char* name;
  const char* text;
};

/// All of them, in the order of their names.
std::span<const BuiltInRules> built_in_rules();

}  // namespace culprit::merge
