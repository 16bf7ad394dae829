// The verdict (docs/diagnosis.md): the largest loss, unless the run is too short to say, lacks processors, or
// loses little; and the words for it.
#include "findings/verdict.hpp"

#include "findings/causes.hpp"
#include "findings/coverage.hpp"
#include "findings/crowded.hpp"
#include "findings/diagnosis.hpp"
#include "findings/ends.hpp"
#include "findings/mpi_calls.hpp"
#include "findings/phrases.hpp"
#include "findings/quality.hpp"
#include "findings/suspect_names.hpp"
#include "findings/thread_causes.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace culprit::viewer {
namespace {

using database::Confidence;

/// Samples per thread below which nothing is said.
constexpr std::uint64_t kFewSamples = 20;
/// Of the run without start-up: what is little to lose. Of the run: start-up that is worth a verdict; short
/// runs of what runs for hours have some.
constexpr double kLittle = 0.1, kMuchStartup = 0.2;
/// Of the run without start-up: below, a loss of several kinds, each of which is little, is not worth a
/// verdict.
constexpr double kScattered = 0.2;
constexpr double kMostOfTheRun = 0.95;
/// How much more waiting suspects must explain than the machine for the verdict to begin with them.
constexpr double kPlainlyMore = 3;
/// Of the run, without a processor: whatever else it waits for, it cannot go on.
constexpr double kMostlyStarved = 0.5;
/// Of the run, of all threads that share too few processors: who waits for other threads waits for processors
/// then; and where it may.
constexpr double kCrowdStarved = 0.25, kCrowdNotable = 0.1;
/// Of waiting for messages: what a reader should know first.
constexpr double kLargePart = 1.0 / 3;
/// Of the run: other waiting that is worth a clause.
constexpr double kNotableWaiting = 0.01;

bool is_little(double lost_s, const Losses& losses) {
  return lost_s < kLittle * (losses.total_s - losses.startup_s);
}

/// Beside start-up, with all that threads wait for others.
double lost_to_any_s(const Losses& losses) {
  return losses.sum() - losses.threads_lost_s + losses.threads_s - losses.startup_s;
}

/// Whether lacking processors is a notable part of what the run loses. Who lacks one makes others wait, but
/// does not read and write for longer.
bool lacks_processors(const Losses& losses) {
  const double lost_s = lost_to_any_s(losses);
  if (!losses.few_processors || losses.io_s >= std::max(lost_s - losses.io_s, losses.processors_s))
    return false;
  if (losses.processors_s >= kLittle * losses.total_s) return true;
  const double lacked_s = std::max({losses.processors_s, losses.machine_explains_s,
                                    losses.no_processor_s + losses.perhaps_no_processor_s});
  return !is_little(lost_s, losses) && lacked_s >= kLittle * lost_s;
}

/// Whether waiting for messages is for processes of another world, in the first place.
bool mostly_elsewhere(const Losses& losses) {
  return losses.elsewhere_s >= kLargePart * losses.messages_s;
}

/// Input and output of all threads, where it is worth saying of a healthy run: those of a pool may read from
/// pipes what others write.
double notable_io_s(const database::Contents& experiment, const Losses& losses) {
  const double io_s = std::max(0.0, total_seconds(experiment, "io") - losses.late_for_files_s);
  return io_s >= kLittle * losses.total_s ? io_s : 0;
}

/// The words for each kind.
class VerdictWords {
 public:
  /// `details`: what to say beside how long threads idle, or ranks wait, or start-up takes.
  VerdictWords(const database::Contents& experiment, const Diagnosis& diagnosis,
               const MeasuredLosses& measured, std::string details, std::size_t width, bool unicode)
      : experiment_(experiment),
        details_(std::move(details)),
        diagnosis_(diagnosis),
        measured_(measured),
        losses_(measured.losses),
        width_(width),
        unicode_(unicode) {}

  /// What ended the run, where a rank did: before whatever the run loses.
  [[nodiscard]] std::string gone() const {
    if (const std::string crash = crash_phrase(experiment_); !crash.empty())
      return capitalized(crash) +
             (experiment_.quality.cut_short > 1 ? ", for which the launcher killed the others. " : ". ");
    const std::vector<std::uint32_t> left = ranks_that_left(experiment_);
    if (left.empty() || experiment_.quality.cut_short == 0) return {};
    return capitalized(threads_phrase(experiment_, left)) + " ended" + exit_status_phrase(experiment_, left) +
           " without MPI_Finalize, for which the launcher killed the others. ";
  }

  /// What the run loses.
  [[nodiscard]] std::string loss(VerdictKind kind) const {
    switch (kind) {
      case VerdictKind::healthy:
        return healthy();
      case VerdictKind::starved:
        return "Starved of processors: " + starved();
      case VerdictKind::startup:
        return "Starting up: MPI_Init and MPI_Finalize take " + share(losses_.startup_s) + " of the time" +
               starts_apart() + ". " + details_ + "A longer run shows more of the program itself.";
      case VerdictKind::uneven_lasting:
        return "Uneven work" + of_suspect(measured_.lasting) +
               others_wait(measured_.lasting, losses_.lasting_s) + (measured_.lasting ? "" : dearest()) +
               lacking_too();
      case VerdictKind::serial:
        return "A serial section" + of_suspect(measured_.serial) +
               others_wait(measured_.serial, losses_.serial_s) + lacking_too();
      case VerdictKind::uneven_drifting:
        return "Uneven work that moves: which ranks are late changes over the run. Ranks wait for that " +
               share(losses_.drifting_s) + " of the time." + dearest();
      case VerdictKind::uneven_intermittent:
        return std::string("Uneven work that comes and goes: which ranks are late changes ") +
               (experiment_.trace().traced > 0 ? "from one iteration to the next" : "while the run lasts") +
               ". Ranks wait for that " + share(losses_.intermittent_s) + " of the time." + dearest();
      case VerdictKind::messages:
        if (mostly_elsewhere(losses_)) return elsewhere();
        return messages();
      case VerdictKind::io:
        return "Input and output take " + share(losses_.io_s) + " of the time" + io();
      case VerdictKind::threads_idle:
        if (losses_.overhead_s > losses_.threads_s) return "Overhead of threads:" + details_;
        return "Idle threads: threads wait for others of their process " + share(losses_.threads_lost_s) +
               " of the time" + without_free_processor() + '.' + details_;
      case VerdictKind::too_short:
        break;
    }
    if (std::string nothing = nothing_sampled_phrase(experiment_, losses_.total_s, losses_.samples);
        !nothing.empty())
      return nothing;
    if (losses_.mostly_lost())
      return "Not enough was recorded to say more: " + lost_paths_text(experiment_) + '.';
    if (const std::string refused = refused_sampling_text(experiment_); !refused.empty())
      return "Not sampled enough to say more. The system refused it: " + refused + '.';
    return "Too short to say: " + keep(counted(losses_.samples, "sample")) + " of " +
           keep(counted(losses_.threads, "thread")) +
           ". Measure a longer run, or sample faster (hpcrun-lite -e REALTIME@f1000).";
  }

 private:
  /// What some ranks spend in MPI_Init and MPI_Finalize longer than the one that is there for the shortest
  /// time: they wait for those that come later.
  [[nodiscard]] std::string starts_apart() const {
    const std::optional<std::uint32_t> time = views::metric_named(experiment_, "REALTIME");
    double apart_s = 0;
    for (const database::ContextId call : views::mpi_start_up(experiment_)) {
      for (std::uint32_t role = 0; time && role < experiment_.roles.size(); ++role) {
        const metrics::Accumulator of = experiment_.context_summaries.get(role, *time, call, true);
        if (of.observers == experiment_.roles[role].threads)
          apart_s += seconds_of(static_cast<std::uint64_t>(of.sum) - of.observers * of.min);
      }
    }
    if (2 * apart_s < losses_.startup_s) return {};
    return ", " + share(apart_s) + " since some ranks come to them later than others";
  }

  [[nodiscard]] std::string share(double seconds) const {
    return keep(round_percent(losses_.total_s > 0 ? std::min(1.0, seconds / losses_.total_s) : 0));
  }

  [[nodiscard]] std::string healthy() const {
    const double waiting_s = diagnosis_.idle_s;
    const std::string healthy =
        std::string(experiment_.quality.cut_short == 0 ? "Healthy" : "Healthy up to its last sample") +
        (ranks_without_mpi(experiment_) ? ", but started as several ranks that call no MPI: " : ": ");
    const bool moves = losses_.moving_s >= kNotableWaiting * losses_.total_s;
    const bool sleeps = losses_.asleep_s >= kLittle * losses_.total_s;
    const double io_s = notable_io_s(experiment_, losses_);
    if (waiting_s <= 0 && io_s <= 0 && !moves && !sleeps) return healthy + "no waiting was seen.";
    const double moving_s = moves ? losses_.moving_s : 0, asleep_s = sleeps ? losses_.asleep_s : 0;
    const bool burdened = losses_.overhead_s >= kNotableWaiting * losses_.total_s;
    const double overhead_s = burdened ? losses_.overhead_s : 0;
    const double work_s = losses_.total_s - waiting_s - moving_s - asleep_s - io_s - overhead_s;
    return healthy + share(std::max(0.0, work_s)) + " of the time is work, " +
           (moves ? share(moving_s) + " work of MPI calls, " : "") +
           (burdened ? share(overhead_s) + " in OpenMP's run-time library, " : "") +
           (io_s > 0 ? share(io_s) + " input and output, " : "") +
           (sleeps ? share(asleep_s) + " sleep, " : "") + share(waiting_s) + " waiting" +
           harmless_waiting(waiting_s);
  }

  /// Beside the waiting of threads that is lost.
  [[nodiscard]] std::string without_free_processor() const {
    const double rest_s = losses_.threads_s - losses_.threads_lost_s;
    if (rest_s < kNotableWaiting * losses_.total_s) return {};
    return ", and another " + share(rest_s) + " while no processor is free for them";
  }

  [[nodiscard]] std::string harmless_waiting(double waiting_s) const {
    if (2 * losses_.hidden_s >= waiting_s)
      return ", mostly of threads that communicate while main threads work.";
    if (2 * (losses_.threads_s - losses_.threads_lost_s) >= waiting_s)
      return ", mostly of threads for which no processor was free, as others of the run kept all busy.";
    return ".";
  }

  [[nodiscard]] static std::string in_calls(const std::string& name) {
    return name.empty() ? "" : ", most of that in " + name;
  }

  /// Waiting, and what MPI calls work themselves.
  [[nodiscard]] std::string messages() const {
    const double moving_s = losses_.moving_s, waiting_s = losses_.messages_s - moving_s;
    const bool uneven = losses_.serial_s + losses_.lasting_s >= kNotableWaiting * losses_.total_s;
    const bool alone = experiment_.run.ranks == 1;
    const std::string even = uneven || alone ? "" : ", and none is consistently slower than the others";
    if (moving_s > waiting_s) {
      const std::string all = share(losses_.messages_s), work = share(moving_s);
      return "Communication takes " + all + " of the time: " + (work == all ? "" : "in " + work + ' ') +
             "MPI calls work, such as copying messages" + in_calls(hardest_working_call(experiment_)) +
             "; in " + share(waiting_s) + (alone ? " the rank waits" : " ranks wait") + even +
             other_waiting(waiting_s) + '.';
    }
    // The largest of all waiting is most of this part only where it is that large.
    const bool most = !diagnosis_.where.empty() && 2 * diagnosis_.where.front().seconds >= waiting_s;
    std::string detail = most ? in_calls(diagnosis_.where.front().name) : "";
    if (moving_s >= kNotableWaiting * losses_.total_s)
      detail += ", MPI calls work in another " + share(moving_s);
    const bool unknown = experiment_.trace().traced == 0 && 2 * losses_.undivided_s >= waiting_s &&
                         are_ranks_comparable(experiment_);
    return std::string("Communication: ") + (alone ? "the rank waits " : "ranks wait ") + share(waiting_s) +
           " of the time" + detail + even + other_waiting(waiting_s) +
           (unknown ? ". What for, only hpcrun-lite --trace shows." : ".");
  }

  /// Where the machine would be the verdict if code did not explain plainly more.
  [[nodiscard]] std::string lacking_too() const {
    return lacks_processors(losses_) ? " Processors lack, too: " + starved() : "";
  }

  [[nodiscard]] std::string starved() const {
    std::vector<std::uint32_t> who;
    for (const database::MachineSuspect& suspect : experiment_.machine().suspects) {
      if (suspect.kind != database::MachineKind::slow)
        who.insert(who.end(), suspect.locations.begin(), suspect.locations.end());
    }
    std::ranges::sort(who);
    who.erase(std::unique(who.begin(), who.end()), who.end());
    // Commands that a script runs between lack them, too, and nobody knows their names.
    const auto is_rank = [&](std::uint32_t location) { return experiment_.locations[location].rank >= 0; };
    if (std::ranges::any_of(who, is_rank)) std::erase_if(who, std::not_fn(is_rank));
    double lacked_s = who.empty() ? std::max(losses_.runnable_s, losses_.crowded_s) : 0, lived_s = 0;
    for (const database::ScheduledThread& thread : experiment_.machine().threads) {
      if (!std::ranges::binary_search(who, thread.location)) continue;
      lacked_s += runnable_s(thread);
      lived_s += static_cast<double>(thread.lived_ns) / 1e9;
    }
    // Of the time of those that are named; what is known of the whole run is of all of it.
    const bool some = !who.empty() && lived_s < kMostOfTheRun * losses_.total_s;
    const std::string part = some ? keep(round_percent(std::min(1.0, lacked_s / lived_s)))
                                  : share(std::max(lacked_s, losses_.processors_s + losses_.no_processor_s +
                                                                 losses_.perhaps_no_processor_s));
    std::string crowded = who.empty() ? crowded_hosts_phrase(experiment_) : std::string{};
    if (who.empty() && crowded.empty()) {
      const std::vector<Crowd> crowds = find_crowds(experiment_);
      if (!crowds.empty()) crowded = crowd_phrase(experiment_, crowds.front());
    }
    std::vector<std::uint32_t> where = who;
    if (who.empty() && crowded.empty()) {
      where.resize(experiment_.locations.size());
      std::iota(where.begin(), where.end(), 0U);
    }
    return crowded + (crowded.empty() ? "" : "; ") +
           (who.empty()                         ? std::string("threads")
            : experiment_.locations.size() == 1 ? std::string("the program")
                                                : threads_phrase(experiment_, who)) +
           on_hosts_phrase(experiment_, where) + (who.size() == 1 ? " was" : " were") +
           " ready to run, without one, for " + part +
           (some ? (who.size() == 1 ? " of its time." : " of their time.") : " of the time.");
  }

  /// ` in smooth at a.c:20: 3.2 times the others' work on rank 0.`, `: assemble works only on rank 0.`
  [[nodiscard]] std::string of_suspect(const std::optional<SuspectFacts>& facts) const {
    if (!facts) return ": some ranks do more than the others.";
    const database::Suspect& suspect = *facts->suspect;
    const std::string name = name_of(experiment_, suspect_names(experiment_, width_, unicode_), suspect);
    const std::string more = more_work_phrase(*facts);
    const bool verb = more.starts_with("works") || more.starts_with("moves") || more.starts_with("takes") ||
                      more.starts_with("spends");
    return (verb ? ": " + name + ' ' : " in " + name + ": ") + more + ' ' +
           threads_phrase(experiment_, suspect.locations) + '.';
  }

  /// For the suspect that is named, else for all of `kind_s`; and for all late ranks.
  [[nodiscard]] std::string others_wait(const std::optional<SuspectFacts>& facts, double kind_s) const {
    constexpr double kMostOfAll = 0.9;
    const double one_s = facts ? seconds_of(facts->suspect->explains_ns) : kind_s, all_s = losses_.late_s();
    if (one_s >= kMostOfAll * all_s) return " The others wait for that " + share(all_s) + " of the time.";
    return " The others wait for that " + share(one_s) +
           " of the time; together with other code that makes ranks late, " + share(all_s) + '.';
  }

  [[nodiscard]] std::string elsewhere() const {
    return "Communication: ranks wait " + share(losses_.elsewhere_s) +
           " of the time for processes of another world, which they started or connected to" +
           other_waiting(losses_.elsewhere_s) + ". What these do, their own measurement shows.";
  }

  /// What made others wait most, from a trace.
  [[nodiscard]] std::string dearest() const {
    if (const std::optional<CommonCause> common = common_cause(experiment_))
      return " Most of it comes from " + cause_phrase(experiment_, common->context, true, width_, unicode_) +
             '.';
    if (!details_.empty()) return " It comes mostly from " + details_ + '.';
    return {};
  }

  /// Beside that in the verdict: for late ranks, other threads or start-up.
  [[nodiscard]] std::string other_waiting(double said_s) const {
    const double others_s = diagnosis_.idle_s - said_s;
    return others_s < kNotableWaiting * losses_.total_s ? "" : "; other waiting takes " + share(others_s);
  }

  [[nodiscard]] std::string io() const {
    if (!measured_.io) return ".";
    const database::Suspect& suspect = *measured_.io->suspect;
    const bool one = suspect.locations.size() == 1;
    return "; in " + share(losses_.io_waited_s) + " others wait for " +
           threads_phrase(experiment_, suspect.locations) + ", which " +
           (one ? "reads or writes" : "read or write") + " more than the others in " +
           name_of(experiment_, suspect_names(experiment_, width_, unicode_), suspect) + '.';
  }

  const database::Contents& experiment_;
  std::string details_;  ///< of idle threads: who and why; of uneven work that moves: its causes; of
                         ///< start-up: the verdict without it
  const Diagnosis& diagnosis_;
  const MeasuredLosses& measured_;
  const Losses& losses_;
  std::size_t width_;
  bool unicode_;
};

/// Whether a run counts as starved only by what threads may have waited for late ranks as well.
bool rests_on_perhaps(const Losses& losses) {
  Losses known = losses;
  known.perhaps_no_processor_s = 0;
  return decide(known) != VerdictKind::starved;
}

/// docs/diagnosis.md, "How sure".
Confidence confidence(VerdictKind kind, const MeasuredLosses& measured, bool traced) {
  const auto of_suspect = [](const std::optional<SuspectFacts>& facts) {
    return facts ? confidence_of(*facts) : Confidence::likely;
  };
  switch (kind) {
    case VerdictKind::uneven_lasting:
      return of_suspect(measured.lasting);
    case VerdictKind::serial:
      return of_suspect(measured.serial);
    case VerdictKind::uneven_drifting:
    case VerdictKind::uneven_intermittent:
    case VerdictKind::messages:
      return traced ? Confidence::sure : Confidence::likely;
    case VerdictKind::too_short:
      return Confidence::hint;
    case VerdictKind::healthy:
    case VerdictKind::startup:
    case VerdictKind::io:
      break;
    case VerdictKind::starved:
      return rests_on_perhaps(measured.losses) ? Confidence::likely : Confidence::sure;
    case VerdictKind::threads_idle:
      if (measured.losses.crowded_s >= kCrowdNotable * measured.losses.total_s) return Confidence::likely;
      break;
  }
  return Confidence::sure;
}

}  // namespace

std::string verdict_name(VerdictKind kind) {
  static constexpr std::array kNames = {
      "healthy", "starved",  "startup", "uneven-lasting", "uneven-drifting", "uneven-intermittent",
      "serial",  "messages", "io",      "threads-idle",   "too-short"};
  return kNames.at(static_cast<std::size_t>(kind));
}

namespace {

/// Where processors are what lacks, threads wait for that, too: all their waiting counts.
bool is_starved(const Losses& losses) {
  const bool of_code = losses.suspects_s >= kPlainlyMore * losses.machine_explains_s &&
                       losses.suspects_s >= losses.processors_s;
  if (lacks_processors(losses) && !of_code) return true;
  if (losses.processors_s + losses.no_processor_s + losses.perhaps_no_processor_s >=
      kMostlyStarved * losses.total_s)
    return true;
  // Then the scheduler makes now one rank late, now another, unless time lines show that their code does.
  if (losses.runnable_s >= kMostlyStarved * losses.total_s && 2 * losses.late_code_s < losses.passing_s() &&
      losses.passing_s() >= std::max({kLittle * losses.total_s, losses.io_s, losses.threads_s,
                                      losses.serial_s + losses.lasting_s}))
    return true;
  const bool little = is_little(lost_to_any_s(losses), losses);
  // Those that wait for threads, spinning, take the processors that these lack.
  const double other_s = std::max({losses.io_s, losses.serial_s, losses.lasting_s, losses.drifting_s,
                                   losses.intermittent_s, losses.messages_s, losses.startup_s});
  return losses.crowded_s >= kCrowdStarved * losses.total_s && !little && losses.threads_s >= other_s;
}

using Loss = std::pair<double, VerdictKind>;

/// Of late ranks: all that is waited for them, by the largest of its kinds.
Loss loss_to_late_ranks(const Losses& losses) {
  const Loss largest = std::max({Loss(losses.serial_s, VerdictKind::serial),
                                 Loss(losses.lasting_s, VerdictKind::uneven_lasting),
                                 Loss(losses.drifting_s, VerdictKind::uneven_drifting),
                                 Loss(losses.intermittent_s, VerdictKind::uneven_intermittent)});
  return {losses.late_s(), largest.second};
}

/// But for start-up. Without time lines, waiting that nothing explains may be for messages, or not: what is
/// known goes before, unless it is much less.
Loss largest_loss(const Losses& losses) {
  const Loss largest = std::max({Loss(losses.io_s, VerdictKind::io), loss_to_late_ranks(losses),
                                 Loss(losses.threads_lost_s + losses.overhead_s, VerdictKind::threads_idle)});
  const double perhaps_s = std::min(losses.undivided_s, losses.messages_s - losses.moving_s);
  const bool leads = !is_little(largest.first, losses) && 2 * largest.first >= perhaps_s &&
                     largest.first >= losses.messages_s - perhaps_s;
  if (leads || largest.first >= losses.messages_s) return largest;
  return {losses.messages_s, VerdictKind::messages};
}

}  // namespace

VerdictKind decide(const Losses& losses) {
  if (losses.total_s <= 0 || losses.samples < kFewSamples * losses.threads || losses.mostly_lost())
    return VerdictKind::too_short;
  if (is_starved(losses)) return VerdictKind::starved;
  const double lost_s = losses.sum() - losses.startup_s;
  const auto [largest_s, largest] = largest_loss(losses);
  if (losses.startup_s >= kMuchStartup * losses.total_s && losses.startup_s > largest_s)
    return VerdictKind::startup;
  const bool scattered =
      lost_s < kScattered * (losses.total_s - losses.startup_s) && is_little(largest_s, losses);
  return is_little(lost_s, losses) || scattered ? VerdictKind::healthy : largest;
}

namespace {

/// The verdict of a run without its start-up, as a sentence before others.
std::string verdict_of_the_rest(const views::Figures& figures, std::size_t width, bool unicode) {
  const Verdict rest = find_verdict(figures, diagnose(figures, true), width, unicode);
  std::string loss = rest.text.substr(rest.end.size());
  loss.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(loss.front())));
  const bool adjective = rest.kind == VerdictKind::healthy || rest.kind == VerdictKind::starved;
  return (adjective ? "Without them the run is " : "Without them: ") + loss + ' ';
}

}  // namespace

namespace {

/// The waiting that a verdict states as a share of the time; none where it states another share.
std::optional<double> stated_waiting_s(VerdictKind kind, const Losses& losses, double idle_s) {
  switch (kind) {
    case VerdictKind::healthy:
      return idle_s;
    case VerdictKind::uneven_lasting:
    case VerdictKind::serial:
      return losses.late_s();
    case VerdictKind::uneven_drifting:
      return losses.drifting_s;
    case VerdictKind::uneven_intermittent:
      return losses.intermittent_s;
    case VerdictKind::messages:
      return mostly_elsewhere(losses) ? losses.elsewhere_s : losses.messages_s - losses.moving_s;
    case VerdictKind::threads_idle:
      if (losses.overhead_s <= losses.threads_s) return losses.threads_lost_s;
      break;
    default:
      break;
  }
  return std::nullopt;
}

/// The same of input and output.
std::optional<double> stated_io_s(VerdictKind kind, const Losses& losses,
                                  const database::Contents& experiment) {
  if (kind == VerdictKind::io) return losses.io_s;
  if (kind == VerdictKind::healthy) return notable_io_s(experiment, losses);
  return std::nullopt;
}

}  // namespace

Verdict find_verdict(const views::Figures& figures, const Diagnosis& diagnosis, std::size_t width,
                     bool unicode) {
  MeasuredLosses measured = measure_losses(figures, diagnosis);
  const IdlenessParts parts = divide_idleness(figures, diagnosis, measured.losses);
  measured.losses.no_processor_s = parts.no_processor_s;
  measured.losses.perhaps_no_processor_s = parts.perhaps_no_processor_s;
  measured.losses.elsewhere_s = parts.elsewhere_s;
  measured.losses.undivided_s = parts.undivided_s;
  const VerdictKind kind = decide(measured.losses);
  std::string details;
  if (kind == VerdictKind::threads_idle) {
    for (const std::string& phrase : thread_cause_phrases(figures, diagnosis.total_s, width, unicode))
      details += ' ' + phrase;
  } else if (kind == VerdictKind::uneven_drifting || kind == VerdictKind::uneven_intermittent ||
             (kind == VerdictKind::uneven_lasting && !measured.lasting)) {
    details = main_causes_phrase(figures.experiment(), width, unicode);
  } else if (kind == VerdictKind::startup) {
    details = verdict_of_the_rest(figures, width, unicode);
  }
  const VerdictWords words(figures.experiment(), diagnosis, measured, std::move(details), width, unicode);
  const std::string end = words.gone();
  return {.kind = kind,
          .end = end,
          .text = end + words.loss(kind),
          .stated_waiting_s = stated_waiting_s(kind, measured.losses, diagnosis.idle_s),
          .stated_io_s = stated_io_s(kind, measured.losses, figures.experiment()),
          .confidence = lost_paths_text(figures.experiment()).empty()
                            ? confidence(kind, measured, all_ranks_traced(figures.experiment()))
                            : Confidence::hint,
          .losses = measured.losses,
          .waiting = parts};
}

bool reads_alike(std::optional<double> stated_s, double seconds, double total_s) {
  return stated_s && total_s > 0 && round_percent(*stated_s / total_s) == round_percent(seconds / total_s);
}

std::string start_up_phrase(const Verdict& verdict, bool without_startup) {
  if (without_startup) return " MPI_Init and MPI_Finalize are left out.";
  const double share = verdict.losses.total_s > 0 ? verdict.losses.startup_s / verdict.losses.total_s : 0;
  if (verdict.kind == VerdictKind::startup || share < kLittle) return {};
  return " MPI_Init and MPI_Finalize take " + keep(round_percent(share)) +
         " of the run (--without-startup leaves them out).";
}

}  // namespace culprit::viewer
