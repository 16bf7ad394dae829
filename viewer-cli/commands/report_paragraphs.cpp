// What the report says, sentence by sentence, and where its parts lead (docs/diagnosis.md, docs/blame.md).
#include "commands/report_parts.hpp"
#include "database/procedure_name.hpp"
#include "findings/coverage.hpp"
#include "findings/idleness_parts.hpp"
#include "findings/input_output.hpp"
#include "findings/machine.hpp"
#include "findings/mpi_calls.hpp"
#include "findings/phrases.hpp"
#include "findings/quality.hpp"
#include "findings/suspect_names.hpp"
#include "findings/thread_causes.hpp"
#include "findings/verdict.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace culprit::viewer {
namespace {

constexpr std::size_t kCallsListed = 3;
constexpr std::size_t kGapsListed = 2;
constexpr std::size_t kWorkNamed = 3;
constexpr std::size_t kAnyWidth = 100;
constexpr double kMostlyCpu = 0.8;  // of the work: below, the report says so
constexpr double kHardlyRunnable = 0.1;

using Tone = ReportParagraph::Tone;
using PlaceKind = ReportPlace::Kind;

class Report {
 public:
  Report(const views::Figures& figures, const std::string& database, bool without_startup, std::size_t width,
         bool unicode, const ReplayedSuspects& replayed)
      : figures_(figures),
        experiment_(figures.experiment()),
        diagnosis_(diagnose(figures, without_startup)),
        verdict_(find_verdict(figures, diagnosis_, width / 2, unicode)),
        out_(experiment_, width, unicode),
        blame_({.figures = figures,
                .database = database,
                .diagnosis = diagnosis_,
                .no_processor_s = verdict_.losses.no_processor_s,
                .perhaps_no_processor_s = verdict_.losses.perhaps_no_processor_s,
                .replayed = replayed},
               out_) {}

  std::vector<ReportParagraph> make() {
    const bool healthy = verdict_.kind == VerdictKind::healthy;
    verdict();
    machine();
    headline();
    if (sampled()) {
      input_and_output();
      const bool thread_causes_named = thread_causes();
      roles();
      if (healthy) work();  // which matters more then
      if (diagnosis_.idle_share() >= kWorthReporting)
        blame_.write(several_roles() || healthy, thread_causes_named);
      if (diagnosis_.idle_share() >= kWorthReporting) varying_gaps();
      messages();
      if (traced()) write_time_lines(figures_, diagnosis_.without_startup, out_);
      if (!healthy) work();
      busy_machine();
    }
    out_.gap();
    if (const std::string programs = programs_text(experiment_); !programs.empty())
      out_.add(Tone::quality, capitalized(programs) + '.', 0, 0);
    out_.add(Tone::quality, quality_text(experiment_), 0, 0);
    for (const std::string& line : quality_warnings(experiment_)) out_.add(Tone::warning, line, 0, 2);
    return out_.take();
  }

  /// After make().
  [[nodiscard]] const std::vector<SuspectGroup>& groups() const { return blame_.groups(); }

 private:
  /// Where sampling was refused, waits that the wrappers stamp are known, but not of how much time.
  [[nodiscard]] bool sampled() const {
    return nothing_sampled_phrase(experiment_, diagnosis_.total_s, verdict_.losses.samples).empty();
  }

  /// What the run's time is counted in: one rank's seconds, rank-seconds, or thread-seconds.
  [[nodiscard]] std::string unit() const {
    std::uint64_t threads = 0;
    std::size_t roles = 0;
    for (const RoleIdleness& role : diagnosis_.roles) {
      threads += role.threads;
      roles += role.threads > 0 ? 1 : 0;
    }
    if (threads <= 1) return "seconds";
    return roles == 1 && experiment_.run.ranks > 0 ? "rank-seconds" : "thread-seconds";
  }

  /// Two amounts with as many decimals as the larger one needs: `2 544 of 8 000`.
  [[nodiscard]] static std::string of(double part, double whole) {
    const int decimals = whole >= 1000 ? 0 : whole >= 10 ? 1 : 2;
    return keep(grouped(part, decimals) + " of " + grouped(whole, decimals));
  }

  /// Several processes are often copies of a program that was not built with the launcher's MPI.
  [[nodiscard]] std::string without_mpi() const {
    std::uint64_t processes = 0;
    for (std::uint32_t i = 0; i < experiment_.locations.size(); ++i)
      processes += experiment_.locations[i].thread == 0 ? 1 : 0;
    return processes > 1
               ? "none of its " + keep(grouped(static_cast<double>(processes)) + " processes") + " called MPI"
               : "it ran without MPI";
  }

  void headline() {
    if (!sampled()) return;
    const std::string amount = of(diagnosis_.idle_s, diagnosis_.total_s) + ' ' + unit();
    if (diagnosis_.idle_s == 0) {
      const bool alone = experiment_.run.ranks == 0;
      out_.say("None of the run is waiting (" + amount + ')' + (alone ? ": " + without_mpi() : "") + '.' +
               (partly_measured(experiment_).empty() ? "" : ' ' + little_idleness_phrase(experiment_)));
      return;
    }
    std::string text =
        reads_alike(verdict_.stated_waiting_s, diagnosis_.idle_s, diagnosis_.total_s)
            ? out_.link("Waiting", PlaceKind::waiting) + " takes " + amount
            : out_.link(capitalized(out_.share(diagnosis_.idle_share())) + " of the run is waiting",
                        PlaceKind::waiting) +
                  " (" + amount + ")";
    const std::string where = calls(diagnosis_.where, diagnosis_.idle_s);
    text += where.empty() ? "." : "; " + where + '.';
    if (diagnosis_.idle_share() < kWorthReporting) {
      text += ' ' + little_idleness_phrase(experiment_);
    } else if (const std::string parts = idleness_parts_phrase(verdict_.waiting); !parts.empty()) {
      text += " It is " + parts + '.';
    }
    out_.say(text + start_up_phrase(verdict_, diagnosis_.without_startup));
  }

  /// Waiting for files, which is none for others.
  void input_and_output() {
    const std::optional<InputAndOutput> io = viewer::input_and_output(figures_);
    if (!io || io->seconds < kWorthReporting * diagnosis_.total_s) return;
    // In collective calls; less is lost in sampling.
    const double late_s = std::min(verdict_.losses.late_for_files_s, io->seconds);
    const bool waits = late_s >= kWorthReporting * io->seconds;
    const double own_s = waits ? io->seconds - late_s : io->seconds;
    const std::string amount = of(own_s, diagnosis_.total_s) + ' ' + unit();
    std::string text =
        reads_alike(verdict_.stated_io_s, own_s, diagnosis_.total_s)
            ? "Input and output take " + amount
            : out_.share(own_s / diagnosis_.total_s) + " of the run is input and output (" + amount + ')';
    if (waits) text += ", beside " + out_.time(late_s) + " of waiting for late ranks in such calls";
    if (io->where != 0) {
      text +=
          "; " + keep(round_percent(io->there_s / io->seconds)) + (waits ? " of both in " : " of that in ");
      text += place_of(*io);
      if (io->file != database::kNone) {
        const views::Frame file = views::frame_of(experiment_, experiment_.contexts[io->file]);
        text += ", on " + std::string(database::file_of_region(file.name));
      }
    }
    out_.say(text + '.' + moved(*io));
  }

  /// ` In save: 3.42 GB written.`
  [[nodiscard]] std::string moved(const InputAndOutput& io) const {
    std::vector<std::string> parts;
    if (io.written > 0) parts.push_back(keep(bytes(io.written) + " written"));
    if (io.read > 0) parts.push_back(keep(bytes(io.read) + " read"));
    if (parts.empty()) return "";
    const std::string where =
        io.around == 0 ? "all" : procedure_name(experiment_, io.around, out_.width() / 3, out_.unicode());
    return " In " + where + ": " + enumerate(parts) + '.';
  }

  /// `fsync at checkpoint.py:12 in save`, `write from save at a.c:3`.
  [[nodiscard]] std::string place_of(const InputAndOutput& io) {
    constexpr std::string_view kCall = "the call at ";
    const std::size_t width = out_.width() / 3;
    const std::string where = scope_phrase(experiment_, io.where, true, width, out_.unicode());
    const bool is_call = experiment_.contexts[io.where].kind == database::ContextKind::call;
    const std::string site = views::place(views::frame_of(experiment_, experiment_.contexts[io.where]));
    if (io.call != database::kNone && is_call && where.ends_with(" (" + site + ')'))  // several calls
      return out_.link(procedure_name(experiment_, io.call, width, out_.unicode()) + " at " + site + " in " +
                           where.substr(0, where.size() - site.size() - 3),
                       PlaceKind::context, io.where);
    if (io.call == database::kNone || (is_call && !where.starts_with(kCall)))
      return out_.scope(io.where, true, width);
    const std::string call = procedure_name(experiment_, io.call, width, out_.unicode());
    if (!where.starts_with(kCall)) return call + " from " + out_.scope(io.where, true, width);
    return out_.link(call + " at " + where.substr(kCall.size()), PlaceKind::context, io.where);
  }

  /// What of communication itself takes time.
  void messages() {
    const std::vector<std::string> phrases = message_pattern_phrases(
        figures_, diagnosis_, verdict_.kind == VerdictKind::starved, out_.width() / 3, out_.unicode());
    if (!phrases.empty()) out_.gap();
    for (const std::string& phrase : phrases) out_.say(out_.link(phrase, PlaceKind::communication));
  }

  /// `79 % of that in MPI_Allreduce, 12 % in MPI_Wait`.
  [[nodiscard]] static std::string calls(const std::vector<IdleIn>& where, double idle_s) {
    std::vector<std::string> parts;
    for (const IdleIn& call : where) {
      const double part = call.seconds / idle_s;
      if (parts.size() == kCallsListed || (part < kWorthListing && !parts.empty())) break;
      parts.push_back(keep(round_percent(part)) + (parts.empty() ? " of that in " : " in ") + call.name);
    }
    return enumerate(parts);
  }

  /// What a reader should take home, before all details (docs/diagnosis.md).
  void verdict() {
    if (!sampled()) {
      out_.say(verdict_.text);
      return;
    }
    const std::string loss = verdict_.text.substr(verdict_.end.size());
    out_.add(Tone::verdict, verdict_.end + out_.link(loss, place_of_verdict()), 0, 0);
    out_.gap();
  }

  /// Of uneven work the suspect that explains most, of what else happens in calls these.
  [[nodiscard]] ReportPlace place_of_verdict() const {
    switch (verdict_.kind) {
      case VerdictKind::uneven_lasting:
      case VerdictKind::uneven_drifting:
      case VerdictKind::uneven_intermittent:
      case VerdictKind::serial:
        if (!experiment_.suspects().empty())
          return {.kind = PlaceKind::context,
                  .scope = scope_of_name(experiment_, experiment_.suspects().front())};
        break;
      case VerdictKind::messages:
        return {.kind = PlaceKind::communication};
      case VerdictKind::healthy:
        if (!diagnosis_.work.empty())
          return {.kind = PlaceKind::flat, .scope = diagnosis_.work.front().scope};
        break;
      default:
        break;
    }
    if (!diagnosis_.blamed.empty())
      return {.kind = PlaceKind::context, .scope = diagnosis_.blamed.front().context};
    return {};
  }

  /// Before any code is accused (docs/algorithms.md 5.6).
  void machine() {
    if (!sampled()) return;
    const std::vector<std::string> phrases =
        machine_phrases(experiment_, verdict_, diagnosis_.idle_s, out_.unicode());
    for (const std::string& phrase : phrases) out_.say(phrase);
    if (!phrases.empty()) out_.gap();
  }

  [[nodiscard]] static bool took_time(const RoleIdleness& role) {
    return role.threads > 0 && role.total_s > 0;
  }
  [[nodiscard]] bool hardly_waits(const RoleIdleness& role) const {
    constexpr double kShown = 0.005;  // less is written as 0 %
    return experiment_.roles[role.role].name != "main" && role.idle_s < kShown * role.total_s;
  }
  [[nodiscard]] bool several_roles() const {
    return std::count_if(diagnosis_.roles.begin(), diagnosis_.roles.end(), took_time) > 1;
  }

  void roles() {
    if (!several_roles()) return;
    constexpr std::size_t kFewRoles = 4;
    const auto all = std::count_if(diagnosis_.roles.begin(), diagnosis_.roles.end(), took_time);
    const bool many = static_cast<std::size_t>(all) > kFewRoles;
    std::uint64_t threads = 0;
    for (const RoleIdleness& role : diagnosis_.roles) {
      if (!took_time(role)) continue;
      // Such as the commands of a script that starts the program.
      if (many && hardly_waits(role)) {
        threads += role.threads;
        continue;
      }
      std::string text = role_phrase(experiment_, role.role) +
                         keep(" (" + std::to_string(role.threads) + "): ") +
                         out_.share(role.idle_s / role.total_s) + " waiting";
      if (role.serves) text += " to be needed (in no share above)";
      const std::string where = role.idle_s > 0 ? calls(role.where, role.idle_s) : std::string{};
      if (!where.empty()) text += ", " + where;
      out_.say(text, 2, 4);
    }
    if (threads > 0) out_.say("threads of other roles (" + std::to_string(threads) + "): 0 % waiting", 2, 4);
  }

  /// Says which code makes threads of a process idle, or wait for locks. Returns whether the report has said
  /// it.
  bool thread_causes() {
    if (verdict_.kind == VerdictKind::threads_idle) return true;  // it has said so
    const std::vector<std::string> phrases =
        thread_cause_phrases(figures_, diagnosis_.total_s, out_.width() / 2, out_.unicode());
    for (const std::string& phrase : phrases) out_.say(phrase);
    return !phrases.empty();
  }

  void varying_gaps() {
    std::size_t listed = 0;
    for (const std::string& phrase :
         varying_gap_phrases(experiment_, verdict_.losses.intermittent_s, out_.width() / 3, out_.unicode())) {
      if (listed++ == kGapsListed) return;
      out_.gap();
      out_.say(phrase);
    }
  }

  /// CPU time beside wall time (docs/algorithms.md 5.6), where nothing was said of the machine.
  /// Where neither the verdict nor the sleep that work() names says it.
  void busy_machine() {
    if (!experiment_.machine().suspects.empty() || verdict_.kind == VerdictKind::starved) return;
    constexpr double kNearlyAll = 0.8;
    double without_s = 0;
    for (const RoleIdleness& role : diagnosis_.roles) {
      if (const std::optional<WorkTime> work = work_time(figures_, role.role))
        without_s += std::max(0.0, work->wall_s - work->cpu_s);
    }
    const Losses& losses = verdict_.losses;
    if (losses.asleep_s + losses.io_s - losses.io_waited_s >= kNearlyAll * without_s) return;
    for (const RoleIdleness& role : diagnosis_.roles) {
      const std::optional<WorkTime> work = work_time(figures_, role.role);
      if (!work || work->cpu_share() >= kMostlyCpu || work->wall_s < kWorthListing * diagnosis_.total_s)
        continue;
      const bool only = diagnosis_.roles.size() == 1;
      out_.say("Outside waits, " + (only ? "the run" : "the " + role_phrase(experiment_, role.role)) +
               " used a processor only " + keep(round_percent(work->cpu_share())) +
               " of the time; the rest is " + off_processor(role.role) + '.');
    }
  }

  [[nodiscard]] std::string off_processor(std::uint32_t role) const {
    const std::optional<double> runnable = runnable_share(experiment_, role);
    return std::string("sleep, input and output, or ") +
           (runnable && *runnable < kHardlyRunnable ? "page faults" : "waiting for a free processor");
  }

  [[nodiscard]] bool traced() const { return experiment_.trace().traced > 0; }

  void work() {
    std::vector<std::string> work_in, sleep_in;
    for (const Work& work : diagnosis_.work) {
      const double part = diagnosis_.work_share(work);
      if (work_in.size() + sleep_in.size() == kWorkNamed || part < kWorthListing) break;
      const std::string name = work_phrase(experiment_, work, out_.width() / 2, out_.unicode());
      (work.asleep ? sleep_in : work_in)
          .push_back(out_.link(name, PlaceKind::flat, work.scope) + keep(" (" + round_percent(part) + ')'));
    }
    if (!work_in.empty() || !sleep_in.empty()) out_.gap();
    if (!work_in.empty()) {
      out_.say(std::string("Most work is done in ") + enumerate(work_in) +
               (diagnosis_.work_on_processor ? ", as shares of the time on a processor." : "."));
    }
    if (!sleep_in.empty())
      out_.say("Asleep, or waiting for a device, threads are mostly in " + enumerate(sleep_in) + '.');
  }

  const views::Figures& figures_;
  const database::Contents& experiment_;
  Diagnosis diagnosis_;
  Verdict verdict_;
  ReportWriter out_;
  BlameParagraphs blame_;
};

}  // namespace

std::vector<ReportParagraph> report_paragraphs(const views::Figures& figures, const std::string& database,
                                               bool without_startup, std::size_t width, bool unicode) {
  const ReplayedSuspects replayed = replayed_suspects(figures, database, without_startup);
  return Report(figures, database, without_startup, width, unicode, replayed).make();
}

ReplayedSuspects replayed_suspects(const views::Figures& figures, const std::string& database,
                                   bool without_startup) {
  if (figures.experiment().trace().traced == 0) return {};
  const ReplayedSuspects none;
  Report asking(figures, database, without_startup, kAnyWidth, true, none);
  asking.make();
  const std::vector<SuspectGroup>& groups = asking.groups();
  const auto savings = replayed_savings(figures.experiment(), database, groups);
  ReplayedSuspects found;
  for (std::size_t i = 0; savings && i < groups.size(); ++i) found.emplace(groups[i], (*savings)[i]);
  return found;
}

std::string report_tone_name(ReportParagraph::Tone tone) {
  constexpr std::array<const char*, 6> kNames = {"verdict", "sentence", "suspect",
                                                 "quality", "warning",  "gap"};
  return kNames.at(static_cast<std::size_t>(tone));
}

}  // namespace culprit::viewer
