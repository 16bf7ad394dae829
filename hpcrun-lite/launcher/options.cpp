#include "launcher/options.hpp"

#include "launcher/event_check.hpp"
#include "launcher/program.hpp"
#include "measurement/limits.hpp"
#include "print/output.hpp"
#include "runtime/events/event_list.hpp"
#include "spelling/closest.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>

namespace culprit::launcher {
namespace {

constexpr const char* kExamples =
    R"(Measures where a program spends its time, by call path, without rebuilding it.

Usage: mpirun -n N hpcrun-lite [options] [--] program [arguments]

Examples:
  mpirun -n 8 hpcrun-lite -o run1 ./app input.dat   measure all ranks, 200 samples per second and thread
  srun -n 512 hpcrun-lite -e REALTIME@f100 ./app    100 per second
  hpcrun-lite -e CPUTIME ./serial_program           processor time beside wall-clock time
  hpcrun-lite -e perf::PAGE-FAULTS@10 -e PAPI_L1_DCM ./app    page faults and cache misses, too
  viewer-cli run1                                   look at the result
)";

/// The examples show the usage; only the options are left to list.
class OptionList : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return {};
  }
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_set(const char* name) {
  const std::string value = environment(name);
  return !value.empty() && value != "0";
}

std::string join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ",") + word;
  return joined;
}

const char* explain(runtime::EventError error) {
  using runtime::EventError;
  switch (error) {
    case EventError::unknown:
      return "not the name of an event (hpcrun-lite --list-events lists them)";
    case EventError::syntax:
      return "bad period (write EVENT@MICROSECONDS for times, EVENT@COUNT for others, or EVENT@fHZ, such as "
             "REALTIME@f200)";
    case EventError::out_of_range:
      return "period out of range (times: 100 us to one hour, others: at least 1; frequencies: f1 to f10000)";
    case EventError::too_large:
      return "period out of range (PAPI takes at most 2147483647)";
    case EventError::no_frequency:
      return "PAPI samples by count, not by frequency (write EVENT@COUNT, such as PAPI_TOT_CYC@10000000)";
    case EventError::too_many:
      return "too many events (at most eight besides REALTIME)";
    case EventError::repeated:
      return "event given twice (give it once)";
    case EventError::late_none:
      return "\"none\" must be the first event";
    case EventError::empty:
      return "no event left (add one after \"none\")";
    case EventError::none:
      break;
  }
  return "";
}

runtime::EventList read_events(const std::string& events) {
  runtime::EventList list;
  const char* where = nullptr;
  std::size_t length = 0;
  const auto error = runtime::parse_events(events.c_str(), list, where, length);
  if (error == runtime::EventError::none) return list;
  const std::string item = length == 0 ? events : std::string(where, length);
  const std::string hint =
      error == runtime::EventError::no_frequency ? event_meant_by(item.substr(0, item.find('@'))) : "";
  throw Failure(kUsage, "event: " + item + ": " + (hint.empty() ? "" : hint) + explain(error));
}

/// Reads a rank at the beginning of `text` and takes it off; nothing where there is none, or none that any
/// MPI could have.
std::optional<unsigned> take_rank(std::string_view& text) {
  constexpr std::size_t kDigits = 9;  // MPI counts ranks in an int
  unsigned rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || length > kDigits) return std::nullopt;
  text.remove_prefix(length);
  return rank;
}

/// "3" or "0-3".
bool is_range(std::string_view item) {
  const std::optional<unsigned> first = take_rank(item);
  if (!first || item.empty()) return first.has_value();
  if (item.front() != '-') return false;
  item.remove_prefix(1);
  const std::optional<unsigned> last = take_rank(item);
  return last && item.empty() && *first <= *last;
}

/// "0-3,8": numbers and ascending ranges, separated by commas.
void check_ranks(const std::string& ranks) {
  constexpr std::size_t kLongest = 1000;  // what the runtime keeps
  if (ranks.size() > kLongest) {
    throw Failure(kUsage, "ranks: " + std::to_string(ranks.size()) +
                              " characters: too long (write ranges, such as 0-3,8)");
  }
  std::string_view rest = ranks;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    if (!is_range(rest.substr(0, comma))) {
      throw Failure(kUsage, "ranks: " + ranks + ": not a list of ranks (write it like 0-3,8)");
    }
    if (more) rest.remove_prefix(comma + 1);
  }
}

/// "500M": bytes, or this many KiB, MiB, GiB or TiB.
std::uint64_t read_size(const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const std::string_view unit = std::string_view(text).substr(static_cast<std::size_t>(end - text.data()));
  const std::size_t power = unit.empty() ? 0 : kUnits.find(static_cast<char>(std::toupper(unit[0]))) + 1;
  const bool known = unit.empty() || (power != 0 && unit.size() == 1);
  if (error != std::errc() || !known || size > UINT64_MAX >> (10 * power)) {
    throw Failure(kUsage, "trace limit: " + text + ": not a size (write it like 500M or 2G)");
  }
  return size << (10 * power);
}

/// The most that the trace of one process may grow to, in bytes.
std::string trace_limit(const std::string& given) {
  // Some eighty minutes at 50 000 MPI calls a second; a job of a thousand ranks fills two terabytes.
  constexpr std::uint64_t kDefault = std::uint64_t{2} << 30;
  const std::uint64_t limit = given.empty() ? kDefault : read_size(given);
  if (limit < measurement::kLeastTraceBytes || limit > measurement::kMostTraceBytes) {
    throw Failure(kUsage, "trace limit: " + given + ": out of range (from " +
                              std::to_string(measurement::kLeastTraceBytes >> 10) + "K to " +
                              std::to_string(measurement::kMostTraceBytes >> 30) + "G)");
  }
  return std::to_string(limit);
}

/// "2ms" in microseconds.
std::uint64_t read_duration(const std::string& text) {
  struct Unit {
    std::string_view name;
    std::uint64_t us;
  };
  constexpr Unit kUnits[] = {{"", 1}, {"us", 1}, {"ms", 1000}, {"s", 1'000'000}};
  constexpr std::uint64_t kMost = 3'600'000'000;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view name = std::string_view(text).substr(static_cast<std::size_t>(end - text.data()));
  const Unit* const unit = std::ranges::find(kUnits, name, &Unit::name);
  if (error == std::errc::invalid_argument || unit == std::end(kUnits))
    throw Failure(kUsage,
                  "trace threads above: " + text + ": not a duration (write it like 20us, 2ms or 1s)");
  if (error != std::errc() || number > kMost / unit->us)
    throw Failure(kUsage, "trace threads above: " + text + ": out of range (from 0 to 3600s)");
  return number * unit->us;
}

/// Where hpcrun-lite's own words end: at "--" or at the first word that is neither an option nor the value of
/// one.
int own_words(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--" || word.empty() || word[0] != '-') return i;
    if (word == "-e" || word == "--event" || word == "-o" || word == "--output" || word == "--ranks" ||
        word == "--trace-limit" || word == "--trace-threads-above") {
      ++i;
    }
  }
  return argc;
}

/// Options of the command line that are checked and converted later.
struct Given {
  std::vector<std::string> events;
  std::string limit;
  std::string threads_above;
  bool list = false;
};

void read_environment(Options& options) {
  options.files = is_set("CULPRIT_FILES");
  options.trace = is_set("CULPRIT_TRACE");
  options.output = environment("CULPRIT_OUTPUT");
  options.ranks = environment("CULPRIT_RANKS");
  options.delay = is_set("CULPRIT_DELAY");
  options.quiet = is_set("CULPRIT_QUIET");
  options.verbose = is_set("CULPRIT_VERBOSE");
}

void declare_options(CLI::App& app, Options& options, Given& given) {
  app.formatter(std::make_shared<OptionList>());
  app.set_version_flag("--version", "hpcrun-lite (Culprit) " CULPRIT_VERSION, "Print the version");
  app.add_option("-e,--event", given.events,
                 "EVENT[@PERIOD|@fHZ], repeatable: REALTIME (default @f200, always on\n"
                 "unless \"-e none\" comes first), CPUTIME, an event of the kernel\n"
                 "(perf::PAGE-FAULTS) or of PAPI (PAPI_TOT_CYC); PERIOD in microseconds for\n"
                 "times, else in counts (environment: CULPRIT_EVENTS, separated by commas)")
      ->allow_extra_args(false);
  app.add_option("-o,--output", options.output,
                 "Measurement directory, default culprit-PROGRAM-RUNID; one that holds another\n"
                 "run is refused (CULPRIT_OUTPUT)");
  app.add_option("--ranks", options.ranks,
                 "Keep only these ranks, such as 0-3,8; default all (CULPRIT_RANKS)");
  app.add_flag("-t,--trace", options.trace,
               "Also record time lines: when each sample was taken, and each MPI call with\nwhat it moved "
               "(CULPRIT_TRACE)");
  app.add_option("--trace-limit", given.limit,
                 "Stop a process's time lines at this size, such as 500M; default 2G\n"
                 "(CULPRIT_TRACE_LIMIT)");
  app.add_option("--trace-threads-above", given.threads_above,
                 "Record waits for other threads of this length or longer one by one on time\n"
                 "lines, such as 1ms; default 20us, 0: all; shorter ones are added up\n"
                 "(CULPRIT_TRACE_THREADS_ABOVE)");
  app.add_flag("--files", options.files,
               "Say which files calls that read and write are about, by their names (CULPRIT_FILES)");
  app.add_flag("--delay", options.delay,
               "Sample nothing before the program calls culprit_start() of culprit.h, or\nMPI_Pcontrol(1) "
               "(CULPRIT_DELAY)");
  app.add_flag("--list-events", given.list, "Print the events that work here, each tried");
  app.add_flag("-q,--quiet", options.quiet, "No summary line at the end (CULPRIT_QUIET)");
  app.add_flag("-v,--verbose", options.verbose,
               "Say at the start what is measured and how (CULPRIT_VERBOSE)");
}

/// Checks what is asked of time lines.
void read_trace_options(const Given& given, Options& options) {
  if (!options.trace) {
    if (!given.limit.empty())
      throw Failure(kUsage, "--trace-limit: there is no trace to limit (add --trace)");
    if (!given.threads_above.empty())
      throw Failure(kUsage, "--trace-threads-above: there is no trace to record waits in (add --trace)");
    return;
  }
  options.trace_limit = trace_limit(given.limit.empty() ? environment("CULPRIT_TRACE_LIMIT") : given.limit);
  const std::string above =
      given.threads_above.empty() ? environment("CULPRIT_TRACE_THREADS_ABOVE") : given.threads_above;
  if (!above.empty()) options.trace_threads_above = std::to_string(read_duration(above));
}

}  // namespace

std::optional<Options> read_options(int argc, char** argv) {
  CLI::App app{kExamples, "hpcrun-lite"};
  Options options;
  Given given;
  read_environment(options);
  declare_options(app, options, given);
  const int own = own_words(argc, argv);
  try {
    app.parse(own, argv);
  } catch (const CLI::Success& answered) {
    std::ostringstream text;
    app.exit(answered, text);
    print::answer(text.str());
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw Failure(kUsage, "usage: " + spelling::explain(app, error, "hpcrun-lite --help"));
  }
  if (given.list) {
    std::ostringstream text;
    print::TextStream out(text);
    list_events(out);
    out.flush();
    print::answer(text.str());
    return std::nullopt;
  }
  read_trace_options(given, options);
  options.events = given.events.empty() ? environment("CULPRIT_EVENTS") : join(given.events);
  const runtime::EventList event_list = read_events(options.events);
  if (!options.ranks.empty()) check_ranks(options.ranks);
  const int first = own < argc && std::string(argv[own]) == "--" ? own + 1 : own;
  options.program.assign(argv + first, argv + argc);
  if (options.program.empty()) {
    throw Failure(
        kUsage,
        "usage: no program given (mpirun -n N hpcrun-lite [options] program; see hpcrun-lite --help)");
  }
  check_events_work(event_list);
  return options;
}

}  // namespace culprit::launcher
