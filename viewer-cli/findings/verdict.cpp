// The verdict (docs/diagnosis.md): what each kind of loss takes of all threads' time, and of these the
// largest, unless the run is too short to say, lacks processors, or loses little. Cost: linear in contexts,
// and per-thread values of the first few suspects.
#include "findings/verdict.hpp"

#include "findings/common_cause.hpp"
#include "findings/phrases.hpp"
#include "findings/suspect_names.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace culprit::viewer {
namespace {

using database::Confidence;
using database::ContextId;

/// Samples per thread below which nothing is said.
constexpr std::uint64_t kFewSamples = 20;
/// Of the run without start-up: what is little to lose. Of the run: start-up that is worth a verdict; short
/// runs of what runs for hours have some.
constexpr double kLittle = 0.1, kMuchStartup = 0.2;
/// Of a suspect's excess: then input and output is what it does.
constexpr double kMostly = 0.5;
/// Suspects that are looked at closely.
constexpr std::size_t kExamined = 8;

enum class Call : std::uint8_t { other, startup, io };

/// `__GI___libc_read` is `read`.
std::string_view without_prefixes(std::string_view name) {
  for (const std::string_view prefix : {"__GI_", "__libc_", "__"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return name;
}

Call call_of(std::string_view name) {
  static constexpr std::array kInputAndOutput = {
      "read",   "write",   "pread",     "pwrite",    "pread64", "pwrite64", "readv",           "writev",
      "preadv", "pwritev", "fsync",     "fdatasync", "syncfs",  "msync",    "sync_file_range", "open",
      "open64", "openat",  "openat64",  "close",     "fopen",   "fopen64",  "fclose",          "fread",
      "fwrite", "fflush",  "ftruncate", "rename",    "unlink",  "sendfile", "copy_file_range"};
  if (name.starts_with("MPI_Init") || name == "MPI_Finalize") return Call::startup;
  if (name.starts_with("MPI_File_")) return Call::io;
  return std::ranges::find(kInputAndOutput, without_prefixes(name)) != kInputAndOutput.end() ? Call::io
                                                                                             : Call::other;
}

/// The outermost calls of one kind at and below `from`, ascending.
std::vector<ContextId> calls_below(const database::Contents& experiment, ContextId from, Call kind) {
  std::vector<ContextId> calls;
  for (ContextId at = from; at < experiment.contexts[from].end;) {
    const database::Context& context = experiment.contexts[at];
    const Call call = context.kind == database::ContextKind::procedure
                          ? call_of(views::frame_of(experiment, context).name)
                          : Call::other;
    if (call == kind) calls.push_back(at);
    at = call == Call::other ? at + 1 : context.end;  // start-up reads files, too
  }
  return calls;
}

/// What a suspect is to the verdict.
enum class Uneven : std::uint8_t { lasting, serial, io };

/// Everything that is measured, with what the texts name.
class Finder {
 public:
  Finder(const views::Figures& figures, const Diagnosis& diagnosis, std::size_t width, bool unicode)
      : figures_(figures),
        experiment_(figures.experiment()),
        diagnosis_(diagnosis),
        width_(width),
        unicode_(unicode),
        time_(views::metric_named(experiment_, "REALTIME")),
        idleness_(views::metric_named(experiment_, "idleness")) {
    measure();
  }

  [[nodiscard]] Verdict find() const {
    const VerdictKind kind = decide(losses_);
    return {.kind = kind, .text = text(kind), .confidence = confidence(kind), .losses = losses_};
  }

 private:
  void measure() {
    losses_.samples = experiment_.quality.samples;
    losses_.threads = experiment_.locations.size();
    losses_.total_s = diagnosis_.total_s;
    for (const database::MachineSuspect& suspect : experiment_.machine().suspects) {
      if (suspect.kind == database::MachineKind::slow) continue;
      losses_.few_processors = true;
      losses_.processors_s += seconds_of(suspect.lost_ns);
    }
    if (!time_ || experiment_.contexts.empty()) return;
    double waiting_s = 0;
    for (const IdleIn& call : diagnosis_.where)
      (call.name.starts_with("MPI_") ? waiting_s : losses_.threads_s) += call.seconds;
    const std::vector<ContextId> startup = calls_below(experiment_, 0, Call::startup);
    const std::vector<ContextId> io = calls_below(experiment_, 0, Call::io);
    losses_.startup_s = sum_of(startup, time_);
    losses_.io_s = sum_of(io, time_);
    left_s_ = std::max(0.0, waiting_s - sum_of(startup, idleness_) - sum_of(io, idleness_));
    divide();
  }

  [[nodiscard]] double sum_of(const std::vector<ContextId>& contexts,
                              std::optional<std::uint32_t> metric) const {
    double sum = 0;
    for (std::uint32_t role = 0; metric && role < experiment_.roles.size(); ++role) {
      for (const ContextId context : contexts)
        sum += static_cast<double>(figures_.context(role, *metric, context, true).sum) / 1e9;
    }
    return sum;
  }

  /// Of the waiting in MPI that nothing explains so far.
  void take(double& loss, double seconds) {
    seconds = std::clamp(seconds, 0.0, left_s_);
    loss += seconds;
    left_s_ -= seconds;
  }

  void divide() {
    for (std::size_t i = 0; i < experiment_.suspects().size(); ++i) {
      const database::Suspect& suspect = experiment_.suspects()[i];
      if (experiment_.run.ranks > 0 && experiment_.roles[suspect.role].name == "main")
        take_suspect(suspect, i < kExamined ? examined(suspect) : Uneven::lasting);
    }
    if (experiment_.trace().traced > 0) {
      take_caused();
    } else {
      for (const database::VaryingGap& gap : experiment_.varying_gaps())
        take(losses_.intermittent_s, seconds_of(gap.unexplained_ns));
    }
    losses_.messages_s = left_s_;
  }

  void take_suspect(const database::Suspect& suspect, Uneven what) {
    const database::Suspect*& first = first_[static_cast<std::size_t>(what)];
    if (first == nullptr) first = &suspect;
    double& loss = what == Uneven::io       ? losses_.io_s
                   : what == Uneven::serial ? losses_.serial_s
                                            : losses_.lasting_s;
    take(loss, seconds_of(suspect.explains_ns));
  }

  /// What has a cause in the time lines, beyond what suspects explain: by when the ranks are late.
  void take_caused() {
    const double explained_s = losses_.serial_s + losses_.lasting_s;
    const Late late = who_is_late(experiment_.trace().time_map);
    double caused_s = -explained_s;
    for (const database::Cause& cause : experiment_.trace().causes) caused_s += seconds_of(cause.cost_ns());
    const auto take_of_it = [&](double& loss, double seconds) {
      seconds = std::clamp(seconds, 0.0, std::max(0.0, caused_s));
      take(loss, seconds);
      caused_s -= seconds;
    };
    take_of_it(losses_.lasting_s, late.lasting_s - explained_s);
    take_of_it(losses_.drifting_s, late.drifting_s);
    take_of_it(losses_.intermittent_s, caused_s);
  }

  [[nodiscard]] Uneven examined(const database::Suspect& suspect) const {
    std::vector<ContextId> calls;
    for (const ContextId scope : suspect.scopes) {
      for (const ContextId call : calls_below(experiment_, scope, Call::io)) calls.push_back(call);
    }
    if (!calls.empty()) {
      const std::vector<std::uint64_t> values = figures_.per_thread(calls, *time_, true);
      double seconds = 0;
      for (const std::uint32_t location : suspect.locations) seconds += seconds_of(values[location]);
      if (seconds >= kMostly * seconds_of(suspect.excess_ns)) return Uneven::io;
    }
    return suspect.locations.size() == 1 && examine(figures_, suspect).only_here ? Uneven::serial
                                                                                 : Uneven::lasting;
  }

  [[nodiscard]] Confidence confidence(VerdictKind kind) const {
    const auto of_suspect = [&](Uneven what) {
      const database::Suspect* const first = first_[static_cast<std::size_t>(what)];
      return first == nullptr ? Confidence::likely : first->confidence;
    };
    const Confidence by_trace = experiment_.trace().traced > 0 ? Confidence::sure : Confidence::likely;
    switch (kind) {
      case VerdictKind::uneven_lasting:
        return of_suspect(Uneven::lasting);
      case VerdictKind::serial:
        return of_suspect(Uneven::serial);
      case VerdictKind::uneven_drifting:
      case VerdictKind::uneven_intermittent:
      case VerdictKind::messages:
        return by_trace;
      case VerdictKind::too_short:
        return Confidence::hint;
      case VerdictKind::healthy:
      case VerdictKind::starved:
      case VerdictKind::startup:
      case VerdictKind::io:
      case VerdictKind::threads_idle:
        break;
    }
    return Confidence::sure;
  }

  [[nodiscard]] std::string share(double seconds) const {
    return keep(round_percent(losses_.total_s > 0 ? std::min(1.0, seconds / losses_.total_s) : 0));
  }

  [[nodiscard]] std::string text(VerdictKind kind) const {
    switch (kind) {
      case VerdictKind::healthy:
        return healthy();
      case VerdictKind::starved:
        return "Starved of processors: " + starved();
      case VerdictKind::startup:
        return "Starting up: MPI_Init and MPI_Finalize take " + share(losses_.startup_s) +
               " of the time. A longer run shows more of the program itself.";
      case VerdictKind::uneven_lasting:
        return "Uneven work" + of_suspect(Uneven::lasting) + " The others wait for that " +
               share(losses_.lasting_s) + " of the time.";
      case VerdictKind::serial:
        return "A serial section" + of_suspect(Uneven::serial) + " The others wait for that " +
               share(losses_.serial_s) + " of the time.";
      case VerdictKind::uneven_drifting:
        return "Uneven work that moves: which ranks are late changes over the run. Ranks wait for that " +
               share(losses_.drifting_s) + " of the time." + dearest();
      case VerdictKind::uneven_intermittent:
        return "Uneven work that comes and goes: which ranks are late changes from one iteration to the "
               "next. Ranks wait for that " +
               share(losses_.intermittent_s) + " of the time." + dearest();
      case VerdictKind::messages:
        return "Communication: ranks wait " + share(losses_.messages_s) + " of the time" + where() +
               " and none is consistently slower than the others.";
      case VerdictKind::io:
        return "Input and output take " + share(losses_.io_s) + " of the time" + io();
      case VerdictKind::threads_idle:
        return "Idle threads: threads wait for others of their process " + share(losses_.threads_s) +
               " of the time.";
      case VerdictKind::too_short:
        break;
    }
    return "Too short to say: " + keep(counted(losses_.samples, "sample")) + " of " +
           keep(counted(losses_.threads, "thread")) +
           ". Measure a longer run, or sample faster (hpcrun-lite -e REALTIME@f1000).";
  }

  [[nodiscard]] std::string healthy() const {
    const double waiting_s = diagnosis_.idle_s;
    if (waiting_s <= 0) return "Healthy: no waiting was seen.";
    return "Healthy: " + share(losses_.total_s - waiting_s) + " of the time is work, " + share(waiting_s) +
           " waiting.";
  }

  [[nodiscard]] std::string starved() const {
    std::vector<std::uint32_t> who;
    for (const database::MachineSuspect& suspect : experiment_.machine().suspects) {
      if (suspect.kind != database::MachineKind::slow)
        who.insert(who.end(), suspect.locations.begin(), suspect.locations.end());
    }
    std::ranges::sort(who);
    who.erase(std::unique(who.begin(), who.end()), who.end());
    return threads_phrase(experiment_, who) + " had none for " + share(losses_.processors_s) +
           " of the time though " + (who.size() == 1 ? "it" : "they") + " could have worked.";
  }

  /// ` in smooth at a.c:20: 3.2 times the others' work on rank 0.`, `: assemble works only on rank 0.`
  [[nodiscard]] std::string of_suspect(Uneven what) const {
    const database::Suspect* const suspect = first_[static_cast<std::size_t>(what)];
    if (suspect == nullptr) return ": some ranks do more than the others.";
    const SuspectFacts facts = examine(figures_, *suspect);
    const std::string name = name_of(experiment_, suspect_names(experiment_, width_, unicode_), *suspect);
    const std::string more = more_work_phrase(facts.more_work, facts.only_here);
    return (more.starts_with("works") ? ": " + name + ' ' : " in " + name + ": ") + more + ' ' +
           threads_phrase(experiment_, suspect->locations) + '.';
  }

  /// What made others wait most, from a trace.
  [[nodiscard]] std::string dearest() const {
    if (const std::optional<CommonCause> common = common_cause(experiment_))
      return " Most of it comes from " + scope_phrase(experiment_, common->context, true, width_, unicode_) +
             '.';
    return {};
  }

  [[nodiscard]] std::string where() const {
    return diagnosis_.where.empty() ? "" : ", most of that in " + diagnosis_.where.front().name + ",";
  }

  [[nodiscard]] std::string io() const {
    const database::Suspect* const suspect = first_[static_cast<std::size_t>(Uneven::io)];
    if (suspect == nullptr) return ".";
    return ", with the waiting for " + threads_phrase(experiment_, suspect->locations) + ", which " +
           (suspect->locations.size() == 1 ? "does" : "do") + " it in " +
           scope_phrase(experiment_, suspect->suspect, true, width_, unicode_) + '.';
  }

  const views::Figures& figures_;
  const database::Contents& experiment_;
  const Diagnosis& diagnosis_;
  std::size_t width_;
  bool unicode_;
  std::optional<std::uint32_t> time_, idleness_;
  Losses losses_;
  double left_s_ = 0;                                ///< waiting in MPI that nothing explains so far
  std::array<const database::Suspect*, 3> first_{};  ///< by Uneven
};

}  // namespace

std::string verdict_name(VerdictKind kind) {
  static constexpr std::array kNames = {
      "healthy", "starved",  "startup", "uneven-lasting", "uneven-drifting", "uneven-intermittent",
      "serial",  "messages", "io",      "threads-idle",   "too-short"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Late who_is_late(const database::TimeMap& map) {
  constexpr std::size_t kParts = 8;
  if (map.rows.size() < 2 || map.bins < kParts) return {};
  const auto beyond_least = [&](std::size_t first, std::size_t end) {
    double least = std::numeric_limits<double>::max(), sum = 0;
    for (const database::TimeMap::Row& row : map.rows) {
      double in_calls = 0;
      for (std::size_t bin = first; bin < end; ++bin) in_calls += seconds_of(row.calls_ns[bin]);
      least = std::min(least, in_calls);
      sum += in_calls;
    }
    return sum - least * static_cast<double>(map.rows.size());
  };
  Late late{.lasting_s = beyond_least(0, map.bins)};
  for (std::size_t part = 0; part < kParts; ++part)
    late.drifting_s += beyond_least(part * map.bins / kParts, (part + 1) * map.bins / kParts);
  late.drifting_s -= late.lasting_s;
  return late;
}

VerdictKind decide(const Losses& losses) {
  if (losses.total_s <= 0 || losses.samples < kFewSamples * losses.threads) return VerdictKind::too_short;
  const double lost_s = losses.sum() - losses.startup_s;
  const bool little = lost_s < kLittle * (losses.total_s - losses.startup_s);
  if (losses.few_processors && (!little || losses.processors_s >= kLittle * losses.total_s))
    return VerdictKind::starved;
  const std::array<std::pair<double, VerdictKind>, 7> kinds = {{
      {losses.io_s, VerdictKind::io},
      {losses.serial_s, VerdictKind::serial},
      {losses.lasting_s, VerdictKind::uneven_lasting},
      {losses.drifting_s, VerdictKind::uneven_drifting},
      {losses.intermittent_s, VerdictKind::uneven_intermittent},
      {losses.messages_s, VerdictKind::messages},
      {losses.threads_s, VerdictKind::threads_idle},
  }};
  const auto largest = *std::ranges::max_element(kinds, {}, [](const auto& kind) { return kind.first; });
  if (losses.startup_s >= kMuchStartup * losses.total_s && losses.startup_s > largest.first)
    return VerdictKind::startup;
  return little ? VerdictKind::healthy : largest.second;
}

Verdict find_verdict(const views::Figures& figures, const Diagnosis& diagnosis, std::size_t width,
                     bool unicode) {
  return Finder(figures, diagnosis, width, unicode).find();
}

}  // namespace culprit::viewer
