#include "command_line.hpp"

#include "print/output.hpp"
#include "spelling/closest.hpp"
#include "structure/structure.hpp"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace culprit::prof_mpi {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

constexpr const char* kDescription =
    R"(Merges what hpcrun-lite recorded into one database: calling contexts of all ranks, loops and source lines,
idleness, and who is to blame for it.

Examples:
  mpirun -n 4 prof-mpi run1           on 4 MPI ranks, into run1.db
  prof-mpi run1                       without a launcher: on all processors of this machine
  prof-mpi run1 -o melt.db --force    into a database of this name, replacing an older one
  prof-mpi run1 -R /build=$HOME/src   the sources have moved since they were compiled
  viewer-cli run1.db report           what to do with the result

The result is the same, byte for byte, for any number of ranks.)";

constexpr const char* kFooter =
    R"(Exit status: 0 good, 1 bad data or failure, 2 wrong usage, 3 written but degraded (unreadable files, processes
cut short, dropped samples, a --segment that no time line has, or more than 1 % of the time in partial unwinds).)";

/// DIR.db beside DIR, also for `DIR/`, `.` and `..`.
std::filesystem::path default_output(const std::filesystem::path& directory) {
  std::filesystem::path named = directory.lexically_normal();
  if (!named.has_filename()) named = named.parent_path();
  if (named.empty() || named.filename() == "." || named.filename() == "..") {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(directory, error);
    if (!error) named = real;
  }
  return named.concat(".db");
}

/// Accepts numbers above `low` (or equal to it, where `inclusive`) and up to `high`; says so in words.
CLI::Validator number_within(double low, bool inclusive, double high, const std::string& words) {
  const auto check = [=](std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool whole = !text.empty() && *end == '\0';
    const bool within = (inclusive ? value >= low : value > low) && value <= high;  // false for NaN
    return whole && within ? std::string() : text + " is not " + words;
  };
  return {check, ""};
}

/// Accepts these words alone.
CLI::Validator one_of(std::vector<std::string> words) {
  const auto check = [words = std::move(words)](std::string& text) -> std::string {
    std::string list;
    for (const std::string& word : words) {
      if (text == word) return {};
      list += (list.empty() ? "" : ", ") + word;
    }
    const std::optional<std::string> meant = spelling::closest(text, words);
    return text + " is none of: " + list + (meant ? "; did you mean " + *meant + '?' : "");
  };
  return {check, ""};
}

/// Accepts a directory, or one that can be made in its parent: a misspelt path shall not become a new tree.
CLI::Validator directory_or_new_one() {
  const auto check = [](std::string& text) -> std::string {
    std::filesystem::path parent = std::filesystem::absolute(text).lexically_normal();
    if (!parent.has_filename()) parent = parent.parent_path();
    parent = parent.parent_path();
    std::error_code error;
    return std::filesystem::is_directory(parent, error)
               ? std::string()
               : text + ": there is no directory " + parent.string() + " to make it in";
  };
  return {check, ""};
}

/// OLD=NEW of -R; the first `=` divides.
std::pair<std::string, std::string> prefix_pair(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw CLI::ValidationError("-R", text + ": not of the form OLD=NEW");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void add_files(CLI::App& app, CommandLine& line, std::vector<std::string>& prefixes) {
  merge::Options& options = line.options;
  app.add_option("DIR", options.measurement, "measurement directory that hpcrun-lite wrote")->required();
  app.add_option("-o,--output", options.output, "database to write (default: DIR.db)")->type_name("DB");
  app.add_flag("--force", options.force, "replace a database that exists");
  app.add_option("-R,--replace-prefix", prefixes,
                 "look for sources below NEW where the compiler said OLD; repeatable")
      ->type_name("OLD=NEW")
      ->allow_extra_args(false);
  app.add_flag("--dry-run", options.dry_run, "do everything but write");
}

void add_analysis(CLI::App& app, CommandLine& line, std::string& balance, bool& no_loops, bool& no_source) {
  merge::Options& options = line.options;
  app.add_option("--idle-rules", options.idle_rules,
                 "further rules of what is idleness (default: the built-in ones)")
      ->type_name("FILE");
  app.add_option("--balance", balance, "balance test: noise-aware (default) or paper")
      ->type_name("TEST")
      ->check(one_of({"noise-aware", "paper"}));
  app.add_option("--alpha", options.blame.alpha,
                 "times the root's imbalance that is still balanced (default: 1.1)")
      ->check(number_within(0, false, 1e6, "a number above 0"));
  app.add_option("--tau", options.blame.tau, "natural jitter, as a share of the mean (default: 0.01)")
      ->check(number_within(0, true, 1, "a number from 0 to 1"));
  app.add_option("--epsilon", options.blame.epsilon,
                 "chance to call a balanced context imbalanced (default: 0.01)")
      ->check(number_within(0, false, 0.5, "a number above 0 and up to 0.5"));
  app.add_option("--hotspot-threshold", options.hotspot_threshold,
                 "least share of all time of a procedure that hotspots list (time lines; default: 0.01)")
      ->type_name("SHARE")
      ->check(number_within(0, true, 1, "a number from 0 to 1"));
  app.add_option("--segment", options.segments,
                 "also report how long the invocations of this procedure took (time lines); repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--no-loops", no_loops, "do not look for loops in the machine code");
  app.add_flag("--no-source", no_source, "do not copy source files into the database");
}

void add_cache(CLI::App& app, CommandLine& line, bool& no_cache) {
  CLI::Option* cache = app.add_option("--structure-cache", line.options.structure_cache,
                                      "keep the structure of programs and libraries there for later runs\n"
                                      "(default: culprit/structure in $XDG_CACHE_HOME or ~/.cache)")
                           ->type_name("DIR")
                           ->check(directory_or_new_one());
  app.add_flag("--no-structure-cache", no_cache, "neither use nor keep structure of other runs")
      ->excludes(cache);
}

void add_manners(CLI::App& app, CommandLine& line) {
  app.add_option("-j,--threads", line.threads,
                 "without an MPI launcher: ranks, as threads (default: one per processor)")
      ->type_name("N")
      ->check(number_within(1, true, 1024, "a whole number from 1 to 1024"));
  app.add_flag("-q,--quiet", line.quiet,
               "say nothing but errors and what is degraded, of more than 20 the first");
  app.add_flag("-v,--verbose", line.verbose,
               "report phases and all problems; with --quiet the problems alone");
  app.set_version_flag("--version", "prof-mpi (Culprit) " CULPRIT_VERSION);
}

/// Prints the help or the version; gives the exit status.
int answer(const CLI::App& app, const CLI::Success& wanted) {
  try {
    std::ostringstream text;
    app.exit(wanted, text);
    print::answer(text.str());
    return 0;
  } catch (const std::exception& error) {
    print::complain("prof-mpi", error.what());
    return kFailure;
  }
}

}  // namespace

std::variant<CommandLine, int> parse_command_line(int argc, char** argv, bool speak) {
  CommandLine line;
  std::string balance = "noise-aware";
  std::vector<std::string> prefixes;
  bool no_loops = false, no_source = false, no_cache = false;
  CLI::App app(kDescription, "prof-mpi");
  app.footer(kFooter);
  add_files(app, line, prefixes);
  add_analysis(app, line, balance, no_loops, no_source);
  add_cache(app, line, no_cache);
  add_manners(app, line);
  try {
    app.parse(argc, argv);
    for (const std::string& prefix : prefixes) line.options.replace_prefix.push_back(prefix_pair(prefix));
  } catch (const CLI::Success& wanted) {
    return speak ? answer(app, wanted) : 0;
  } catch (const CLI::ParseError& error) {
    if (speak) print::complain("prof-mpi", "usage: " + spelling::explain(app, error, "prof-mpi --help"));
    return kUsage;
  }
  line.options.blame.mode = balance == "paper" ? blame::Mode::paper : blame::Mode::noise_aware;
  line.options.loops = !no_loops;
  line.options.sources = !no_source;
  if (no_cache || line.options.dry_run) {
    line.options.structure_cache.clear();
  } else if (line.options.structure_cache.empty()) {
    line.options.structure_cache = structure::default_cache();
  }
  if (line.options.output.empty()) line.options.output = default_output(line.options.measurement);
  return line;
}

}  // namespace culprit::prof_mpi
