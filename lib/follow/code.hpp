#pragma once

#include "measurement/measurement.hpp"
#include "merge/rules/idle_rules.hpp"
#include "structure/structure.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace culprit::follow {

inline constexpr std::uint32_t kNone = 0xffffffff;

/// A procedure of a load module, and what it means for the time that is spent in it.
struct Procedure {
  std::string name;    ///< of an MPI call, MPI_X whatever binding it is
  std::string module;  ///< its file's name
  bool inlined = false;
  bool mpi = false;      ///< an MPI call
  bool waits = false;    ///< communication or a wait, by the rules
  bool setup = false;    ///< communication that is never waiting
  bool moves = false;    ///< below an MPI call: moves data or computes
  bool io = false;       ///< input or output
  bool library = false;  ///< of the language's implementation or MPI: what happens in it, its caller causes
  bool of_program = false;   ///< of the executable, or Python's
  bool python = false;       ///< a Python function
  bool interpreter = false;  ///< CPython's, which runs Python functions
  bool of_sampler = false;   ///< of our own libraries: never shown
};

/// What a procedure by this name means. `library`: of a language's implementation.
Procedure classify(const std::string& name, const std::string& module_path, const merge::IdleRules& rules);

/// A procedure on a call path, and the line that it has got to.
struct Step {
  std::uint32_t procedure = 0;  ///< in Code::procedures()
  std::uint32_t file = kNone;   ///< in Code::files()
  std::uint32_t line = 0;       ///< 0: unknown
  friend bool operator==(const Step&, const Step&) = default;
};

/// The code of all processes: addresses are gathered first and then attributed together, each once. A module
/// is opened again only for functions that nobody asked for before.
class Code {
 public:
  Code() : rules_(merge::IdleRules::built_in()) {}

  /// The number of a module; the same for the same file in all processes.
  std::uint32_t module(const measurement::Module& module);
  /// Will be asked for after attribute().
  void want(std::uint32_t module, std::uint64_t offset);
  void attribute();
  /// The procedure around an address, then what is inlined in it there, outermost first. Of a region that the
  /// program marks its name. Empty for what no attribute() came after.
  [[nodiscard]] std::span<const Step> steps(std::uint32_t module, std::uint64_t offset) const;

  /// A name without code, such as `<partial>`.
  std::uint32_t name(const std::string& text);
  /// A procedure, or a file, that is known by other means.
  std::uint32_t add(Procedure procedure);
  std::uint32_t file(const std::string& path);

  [[nodiscard]] const std::vector<Procedure>& procedures() const { return procedures_; }
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

 private:
  struct LoadModule {
    std::string path;
    bool own = false, executable = false, region = false;
    structure::KnownCode code;
    std::unordered_map<std::uint64_t, std::vector<Step>> known;
    std::vector<std::uint64_t> wanted;
  };

  std::uint32_t procedure(const std::string& name, const LoadModule& module, bool inlined);
  std::vector<Step> steps_in_region(const LoadModule& region, std::uint64_t offset);
  std::vector<Step> steps_at(const structure::ModuleStructure& structure, const structure::Point& point,
                             const LoadModule& module);

  merge::IdleRules rules_;
  std::vector<LoadModule> modules_;
  std::map<std::tuple<std::string, std::string, bool>, std::uint32_t> module_ids_;
  std::vector<Procedure> procedures_;
  std::map<std::tuple<std::string, std::string, bool>, std::uint32_t> procedure_ids_;
  std::vector<std::string> files_;
  std::unordered_map<std::string, std::uint32_t> file_ids_;
};

}  // namespace culprit::follow
