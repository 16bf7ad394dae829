#include "request/command_line.hpp"

#include "print/text.hpp"
#include "spelling/closest.hpp"
#include "stacks/launchers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>

namespace culprit::viewer {
namespace {

constexpr std::array<std::pair<std::string_view, Command>, 19> kCommands = {{
    {"report", Command::report},
    {"view", Command::view},
    {"hot-path", Command::hot_path},
    {"threads", Command::threads},
    {"blame", Command::blame},
    {"suspects", Command::suspects},
    {"waits", Command::waits},
    {"causes", Command::causes},
    {"critical-path", Command::critical_path},
    {"hotspots", Command::hotspots},
    {"variation", Command::variation},
    {"communication", Command::communication},
    {"efficiency", Command::efficiency},
    {"what-if", Command::what_if},
    {"diff", Command::diff},
    {"export", Command::exporting},
    {"info", Command::info},
    {"stuck", Command::stuck},
    {"stacks", Command::stacks},
}};
constexpr std::array<std::pair<std::string_view, ViewKind>, 3> kViews = {{
    {"calling-context", ViewKind::calling_context},
    {"callers", ViewKind::callers},
    {"flat", ViewKind::flat},
}};
constexpr std::array<std::pair<std::string_view, Format>, 3> kFormats = {{
    {"text", Format::text},
    {"json", Format::json},
    {"csv", Format::csv},
}};
constexpr std::array<std::pair<std::string_view, views::Scaling>, 2> kScalings = {{
    {"strong", views::Scaling::strong},
    {"weak", views::Scaling::weak},
}};

/// Which commands an option has a meaning for.
struct OptionUse {
  std::string_view option;
  std::initializer_list<Command> commands;
};
const std::array<OptionUse, 29> kUses = {{
    {"--sort", {Command::view}},
    {"--metrics", {Command::view}},
    {"--depth", {Command::view, Command::diff}},
    {"--min", {Command::view, Command::diff}},
    {"--focus", {Command::view, Command::diff}},
    {"--ranks", {Command::view, Command::hot_path, Command::threads, Command::diff, Command::what_if}},
    {"--role", {Command::view, Command::hot_path, Command::threads, Command::diff}},
    {"--lines", {Command::view, Command::hot_path}},
    {"--inside-waits", {Command::view, Command::hot_path, Command::diff, Command::stacks}},
    {"--all", {Command::view, Command::hot_path, Command::diff, Command::stacks}},
    {"--ids", {Command::view, Command::hot_path}},
    {"--metric",
     {Command::hot_path, Command::threads, Command::variation, Command::diff, Command::exporting}},
    {"--derive", {Command::view, Command::hot_path, Command::threads, Command::diff, Command::exporting}},
    {"--without-startup",
     {Command::report, Command::view, Command::hot_path, Command::blame, Command::waits,
      Command::communication}},
    {"--no-source", {Command::exporting}},
    {"--by-rank", {Command::waits, Command::causes, Command::hotspots}},
    {"--balance", {Command::what_if}},
    {"--speedup", {Command::what_if}},
    {"--remove", {Command::what_if}},
    {"--each", {Command::what_if}},
    {"--finer", {Command::variation}},
    {"--procedure", {Command::variation}},
    {"--scaling", {Command::diff}},
    {"--browse", {Command::diff}},
    {"--after", {Command::stuck}},
    {"--job", {Command::stacks}},
    {"--here", {Command::stacks}},
    {"--looks", {Command::stacks}},
    {"--every", {Command::stacks, Command::report}},  // the report: with --follow
}};

template <class Choices>
bool is_one_of(const Choices& choices, std::string_view word) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](const auto& choice) { return choice.first == word; });
}

template <class Choices>
std::vector<std::string> names_of(const Choices& choices) {
  std::vector<std::string> names;
  names.reserve(choices.size());
  for (const auto& [name, value] : choices) names.emplace_back(name);
  return names;
}

template <class Choices>
auto choose(const Choices& choices, std::string_view word, const std::string& what) {
  std::string list;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError(what + ": '" + std::string(word) + "' (" +
                   spelling::did_you_mean(word, names_of(choices)) + "choose one of: " + list + ")");
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = list.find(',', begin);
    parts.push_back(list.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

struct Raw {
  std::vector<std::string> words, source_map;
  std::string format = "text", metrics, scaling, job;
  double min_percent = 0;
  std::uint32_t depth = 0;
  bool help = false, version = false;
};

void add_options(CLI::App& app, Raw& raw, Invocation& invocation) {
  app.set_help_flag();
  app.add_flag("-h,--help", raw.help);
  app.add_flag("--version", raw.version);
  app.add_flag("-q,--quiet", invocation.quiet);
  app.add_option("--format", raw.format);
  app.add_option("--sort", invocation.sort);
  app.add_option("--metrics", raw.metrics);
  app.add_option("--metric", invocation.metric);
  app.add_option("--derive", invocation.derive)->allow_extra_args(false);
  app.add_option("--depth", raw.depth);
  app.add_option("--min", raw.min_percent);
  app.add_option("--finer", invocation.finer)->excludes(app.add_option("--procedure", invocation.procedure));
  app.add_option("--focus", invocation.focus);
  app.add_option("--after", invocation.after_s);
  app.add_option("--job", raw.job);
  app.add_flag("--here", invocation.stacks.here);
  app.add_option("--looks", invocation.stacks.looks);
  app.add_flag("--follow", invocation.follow);
  app.add_option("--every", invocation.every_s);
  app.add_option("--scaling", raw.scaling);
  app.add_option("--ranks", invocation.ranks);
  app.add_option("--role", invocation.role);
  app.add_option("-o,--output", invocation.output);
  app.add_flag("--ids", invocation.ids);
  app.add_flag("--lines", invocation.lines);
  app.add_flag("--inside-waits", invocation.inside_waits);
  app.add_flag("--all", invocation.all);
  app.add_flag("--without-startup", invocation.without_startup);
  app.add_flag("--no-source", invocation.no_source);
  app.add_flag("--by-rank", invocation.by_rank);
  app.add_flag("--browse", invocation.browse);
  app.add_option("--balance", invocation.what_if.balanced)->allow_extra_args(false);
  app.add_option("--speedup", invocation.what_if.sped_up)->allow_extra_args(false);
  app.add_option("--remove", invocation.what_if.removed)->allow_extra_args(false);
  app.add_flag("--each", invocation.what_if.each);
  app.add_option("--source-map", raw.source_map)->allow_extra_args(false);
  app.add_option("words", raw.words);
}

/// `viewer-cli view --help` and `viewer-cli run1.db view --help` alike.
std::string command_among(const std::vector<std::string>& words) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [](const std::string& word) { return is_one_of(kCommands, word); });
  return found == words.end() ? std::string{} : *found;
}

/// The command that shows the options of the command among the words, which nobody has parsed yet.
std::string help_command(int argc, const char* const* argv) {
  const std::string command = command_among({argv + 1, argv + argc});
  return "viewer-cli " + (command.empty() ? "" : command + ' ') + "--help";
}

/// `viewer-cli before.db after.db`: a comparison to browse.
bool names_second_run(const std::vector<std::string>& words) {
  std::error_code error;
  return words.size() == 2 && !is_one_of(kCommands, words[1]) && std::filesystem::exists(words[1], error);
}

/// `viewer-cli stacks 4711 4712` and `viewer-cli run1 stacks` alike; a database of that name may have other
/// commands.
bool asks_for_stacks(const std::vector<std::string>& words) {
  if (words.size() > 1 && words[1] == "stacks") return true;
  if (words.empty() || words[0] != "stacks") return false;
  std::error_code error;
  const bool database = std::filesystem::exists(words[0], error);
  return !database || (words.size() > 1 && !is_one_of(kCommands, words[1]));
}

/// The number of a launcher, or the name that a job has on all its hosts.
void take_job(const std::string& job, Invocation& invocation) {
  if (stacks::parse_job_name(job)) {
    invocation.stacks.name = job;
    return;
  }
  const auto [end, error] = std::from_chars(job.data(), job.data() + job.size(), invocation.stacks.launcher);
  if (error != std::errc() || end != job.data() + job.size() || invocation.stacks.launcher <= 0)
    throw UsageError("--job: not the number of a process (give that of mpirun or mpiexec)");
}

/// Takes the command out of the words, and leaves what is to be looked at.
void take_subjects(const CLI::App& app, const Raw& raw, Invocation& invocation) {
  constexpr std::uint32_t kMostLooks = 1000;
  std::vector<std::string> words = raw.words;
  words.erase(words.begin() + (words[0] == "stacks" ? 0 : 1));
  if (app.count("--job") > 0) take_job(raw.job, invocation);
  if (app.count("--job") == 0 && words.empty())
    throw UsageError("stacks: no process or measurement directory given (see viewer-cli stacks --help)");
  if (app.count("--job") > 0 && !words.empty())
    throw UsageError("stacks: unexpected '" + words[0] + "' (--job names the job already)");
  if (invocation.stacks.looks == 0 || invocation.stacks.looks > kMostLooks)
    throw UsageError("--looks: give a number from 1 to " + std::to_string(kMostLooks));
  if (!(invocation.every_s >= 0) || invocation.every_s > 3600)
    throw UsageError("--every: not a number of seconds (give one from 0 to 3600)");
  invocation.stacks.subjects = std::move(words);
}

void check_options(const CLI::App& app, Command command, std::string_view name) {
  for (const OptionUse& use : kUses) {
    const bool given = app.count(std::string(use.option)) > 0;
    if (given && std::find(use.commands.begin(), use.commands.end(), command) == use.commands.end()) {
      throw UsageError(std::string(use.option) + ": not an option of " + std::string(name) +
                       " (see viewer-cli " + std::string(name) + " --help)");
    }
  }
}

/// The words behind the command.
void take_arguments(const std::vector<std::string>& words, Invocation& invocation, const std::string& name) {
  if (invocation.command == Command::stacks) return;
  std::size_t next = 2;
  switch (invocation.command) {
    case Command::view:
      if (words.size() > next) invocation.view = choose(kViews, words[next++], "no such view");
      break;
    case Command::threads:
      if (words.size() <= next) throw UsageError("threads: no node given (see viewer-cli threads --help)");
      invocation.node = words[next++];
      break;
    case Command::diff:
      if (words.size() <= next)
        throw UsageError("diff: no second database given (see viewer-cli diff --help)");
      invocation.other = words[next++];
      break;
    case Command::exporting:
      if (words.size() <= next) throw UsageError("export: no format given (see viewer-cli export --help)");
      invocation.export_format = choose(exports(), words[next++], "no such export format");
      if (!invocation.metric.empty() && !invocation.export_format.one_metric)
        throw UsageError("--metric: export " + words[next - 1] +
                         " has no metric to choose (see viewer-cli export --help)");
      break;
    default:
      break;
  }
  if (words.size() > next) {
    throw UsageError(name + ": unexpected '" + words[next] + "' (see viewer-cli " + name + " --help)");
  }
}

bool has_csv(Command command) {
  return command != Command::report && command != Command::info && command != Command::stuck &&
         command != Command::stacks;
}

/// -o names what is written: the export, or else the database of a measurement directory.
void check_output(const Invocation& invocation, std::string_view name) {
  if (invocation.output.empty() || invocation.command == Command::exporting) return;
  if (invocation.follow) return;  // the directory may be yet to come
  if (invocation.command == Command::stuck || invocation.command == Command::stacks)
    throw UsageError("--output: " + std::string(name) + " writes nothing (leave it out)");
  std::error_code error;
  if (invocation.command == Command::diff || !std::filesystem::is_directory(invocation.database, error))
    throw UsageError(
        "--output: " + std::string(name) +
        " writes nothing (with a measurement directory, -o names the database to merge it into)");
}

/// An empty value asks for nothing: most likely a variable of a script that was not set.
void refuse_empty(const CLI::App& app, const std::string& help) {
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    for (const std::string& value : option->results()) {
      if (value.empty())
        throw UsageError("--" + option->get_lnames()[0] + ": no value given (see " + help + ')');
    }
  }
}

/// `viewer-cli stuck DIR`, as `stacks DIR`: what runs is looked at in haste.
void take_stuck_first(std::vector<std::string>& words) {
  std::error_code ignored;
  if (words.size() == 2 && words[0] == "stuck" && !std::filesystem::exists(words[0], ignored))
    std::swap(words[0], words[1]);
}

/// `viewer-cli report run1.db`: the words in the wrong order.
void refuse_command_first(const std::vector<std::string>& words) {
  if (words.size() < 2 || !is_one_of(kCommands, words[0]) || is_one_of(kCommands, words[1])) return;
  std::error_code ignored;
  if (std::filesystem::exists(words[0], ignored)) return;  // a database of that name
  throw UsageError(words[0] + ": the database or directory stands before the command (write: viewer-cli " +
                   print::shell_path(words[1]) + ' ' + words[0] + ')');
}

/// The browser compares whole runs.
void refuse_parts_in_browser(const CLI::App& app, const Invocation& invocation) {
  if (!invocation.browse) return;
  for (const char* const option : {"--ranks", "--role", "--derive"}) {
    if (app.count(option) > 0)
      throw UsageError(std::string(option) + ": the browser compares whole runs (leave out --browse)");
  }
}

/// FROM=TO, any number of them, for the browser.
void take_source_map(const Raw& raw, Invocation& invocation) {
  if (!raw.source_map.empty() && invocation.command_given && !invocation.browse)
    throw UsageError("--source-map: only the browser shows sources (leave out the command)");
  for (const std::string& each : raw.source_map) {
    const std::size_t equals = each.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw UsageError("--source-map: '" + each +
                       "' (write FROM=TO: the beginning of the paths, and where they are now)");
    invocation.source_map.emplace_back(each.substr(0, equals), each.substr(equals + 1));
  }
}

/// --follow is no command of its own: it is the browser, or the report, on a run that goes on.
void check_follow(const CLI::App& app, Invocation& invocation) {
  constexpr double kUsual = 2;
  constexpr double kLongest = 3600;
  if (!invocation.follow) {
    if (app.count("--every") > 0 && invocation.command != Command::stacks)
      throw UsageError("--every: only with --follow, or stacks (see viewer-cli --help)");
    return;
  }
  if (invocation.command_given || invocation.browse)
    throw UsageError("--follow: takes no command and no second run (write: viewer-cli DIR --follow)");
  if (app.count("--every") == 0) invocation.every_s = kUsual;
  if (!(invocation.every_s >= 0.1 && invocation.every_s <= kLongest))
    throw UsageError("--every: not a number of seconds (give one from 0.1 to 3600; the default is 2)");
}

/// A replay needs something to change.
void check_what_if(const Invocation& invocation) {
  if (invocation.command != Command::what_if) return;
  if (invocation.what_if.removed.empty() && invocation.what_if.sped_up.empty() &&
      invocation.what_if.balanced.empty())
    throw UsageError(
        "what-if: nothing to change (give --balance PATH, --speedup PATH=2 or --remove PATH; see viewer-cli "
        "what-if --help)");
  if (invocation.what_if.each && invocation.what_if.balanced.empty())
    throw UsageError("--each: only with --balance (give --balance PATH)");
}

void take_limits(const CLI::App& app, const Raw& raw, Invocation& invocation) {
  if (!(invocation.after_s >= 0)) throw UsageError("--after: not a number of seconds (give 0 or more)");
  if (app.count("--depth") > 0) invocation.depth = raw.depth;
  if (app.count("--min") > 0) {
    if (!(raw.min_percent >= 0 && raw.min_percent <= 100)) {
      throw UsageError("--min: not a percentage (give a number from 0 to 100)");
    }
    invocation.min_percent = raw.min_percent;
  }
  if (app.count("--scaling") > 0) invocation.scaling = choose(kScalings, raw.scaling, "--scaling");
  if (!raw.metrics.empty()) invocation.metrics = split(raw.metrics);
}

}  // namespace

Invocation parse_command_line(int argc, const char* const* argv, std::optional<Answer>& answer) {
  CLI::App app;
  Raw raw;
  Invocation invocation;
  add_options(app, raw, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw UsageError(spelling::explain(app, error, help_command(argc, argv)));
  }
  if (raw.help) {
    answer = Answer{help_text(command_among(raw.words))};
    return invocation;
  }
  if (raw.version) {
    answer = Answer{"viewer-cli (Culprit) " CULPRIT_VERSION "\n"};
    return invocation;
  }
  if (raw.words.empty())
    throw UsageError("no database or measurement directory given (see viewer-cli --help)");
  refuse_empty(app, help_command(argc, argv));
  const bool stacks = asks_for_stacks(raw.words);
  if (stacks) {
    take_subjects(app, raw, invocation);
    raw.words = {invocation.stacks.subjects.empty() ? "" : invocation.stacks.subjects[0], "stacks"};
  }
  take_stuck_first(raw.words);
  refuse_command_first(raw.words);
  invocation.database = raw.words[0];
  if (!stacks && names_second_run(raw.words)) {
    raw.words.insert(raw.words.begin() + 1, "diff");
    invocation.browse = true;
  }
  invocation.command_given = raw.words.size() > 1;
  const std::string name = invocation.command_given ? raw.words[1] : "report";
  invocation.command = choose(kCommands, name, "no such command");
  take_arguments(raw.words, invocation, name);
  check_options(app, invocation.command, name);
  check_what_if(invocation);
  check_output(invocation, name);
  invocation.format = choose(kFormats, raw.format, "--format");
  if (invocation.format == Format::csv && !has_csv(invocation.command)) {
    throw UsageError("--format csv: " + (invocation.follow ? "--follow" : name) +
                     " has no csv form (use text or json)");
  }
  take_limits(app, raw, invocation);
  refuse_parts_in_browser(app, invocation);
  check_follow(app, invocation);
  take_source_map(raw, invocation);
  return invocation;
}

std::vector<std::string> command_names() {
  return names_of(kCommands);
}

std::vector<std::string> view_names() {
  return names_of(kViews);
}

std::vector<std::string> export_names() {
  return names_of(exports());
}

std::vector<std::string> option_names(std::string_view command) {
  std::vector<std::string> names = {"--format", "--help", "--output", "--quiet", "--version"};
  const auto* const found = std::find_if(kCommands.begin(), kCommands.end(),
                                         [&](const auto& each) { return each.first == command; });
  if (found == kCommands.end()) return names;
  for (const OptionUse& use : kUses) {
    if (found->second == Command::report && use.option == "--every") continue;  // only without the word
    if (std::find(use.commands.begin(), use.commands.end(), found->second) != use.commands.end())
      names.emplace_back(use.option);
  }
  return names;
}

}  // namespace culprit::viewer
