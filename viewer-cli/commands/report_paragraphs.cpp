// What the report says, sentence by sentence, and where its parts lead (docs/diagnosis.md, docs/blame.md).
#include "commands/critical_path.hpp"
#include "commands/list.hpp"
#include "commands/report_text.hpp"
#include "database/procedure_name.hpp"
#include "findings/causes.hpp"
#include "findings/coverage.hpp"
#include "findings/idleness_parts.hpp"
#include "findings/input_output.hpp"
#include "findings/machine.hpp"
#include "findings/mpi_calls.hpp"
#include "findings/phrases.hpp"
#include "findings/quality.hpp"
#include "findings/segment_picture.hpp"
#include "findings/suspect_names.hpp"
#include "findings/thread_causes.hpp"
#include "findings/verdict.hpp"
#include "print/text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

namespace culprit::viewer {
namespace {

constexpr double kWorthListing = 0.05;  // of the idleness: blamed contexts and calls
constexpr double kWorthNaming = 0.1;    // of a blamed context's idleness: suspects after the first
constexpr std::size_t kBlamedListed = 3;
constexpr std::size_t kSuspectsListed = 4;
constexpr std::size_t kCallsListed = 3;
constexpr std::size_t kGapsListed = 2;
constexpr std::size_t kWorkNamed = 3;
constexpr double kUnexplained = 0.25;  // of a blamed context's idleness
constexpr double kUndecided = 0.5;
constexpr std::size_t kAnyWidth = 100;
constexpr double kMostlyCpu = 0.8;  // of the work: below, the report says so

using Tone = ReportParagraph::Tone;
using PlaceKind = ReportPlace::Kind;

/// What stands around a part of a text that leads somewhere: kLink, the number of the place, kOf, the part,
/// kEnd. They occur in no text of ours, and names of others are spelled without them.
constexpr char kLink = '\x1c', kOf = '\x1d', kEnd = '\x1e';

class Report {
 public:
  Report(const views::Figures& figures, const std::string& database, bool without_startup, std::size_t width,
         bool unicode, const ReplayedSuspects& replayed)
      : replayed_(replayed),
        unicode_(unicode),
        width_(width),
        figures_(figures),
        experiment_(figures.experiment()),
        database_(database),
        diagnosis_(diagnose(figures, without_startup)),
        verdict_(find_verdict(figures, diagnosis_, width_ / 2, unicode)),
        names_(suspect_names(experiment_, std::max<std::size_t>(width_ / 3, 24), unicode)) {}

  std::vector<ReportParagraph> make() {
    const bool healthy = verdict_.kind == VerdictKind::healthy;
    verdict();
    machine();
    headline();
    if (sampled()) {
      input_and_output();
      thread_causes();
      roles();
      if (healthy) work();  // which matters more then
      if (diagnosis_.idle_share() >= kWorthTelling) blamed();
      if (diagnosis_.idle_share() >= kWorthTelling) varying_gaps();
      messages();
      if (traced()) time_lines();
      if (!healthy) work();
      busy_machine();
    }
    gap();
    add(Tone::quality, quality_text(experiment_), 0, 0);
    for (const std::string& line : quality_warnings(experiment_)) add(Tone::warning, line, 0, 2);
    return std::move(paragraphs_);
  }

  /// After make().
  [[nodiscard]] const std::vector<SuspectGroup>& groups() const { return groups_; }

 private:
  void say(const std::string& text, std::size_t indent = 0) { say(text, indent, indent); }
  void say(const std::string& text, std::size_t indent, std::size_t hanging) {
    add(Tone::sentence, text, indent, hanging);
  }
  void add(Tone tone, const std::string& text, std::size_t indent, std::size_t hanging) {
    paragraphs_.push_back({tone, indent, hanging, parts_of(text)});
  }
  void gap() { paragraphs_.push_back({Tone::gap, 0, 0, {}}); }

  /// The same text, leading to a place.
  [[nodiscard]] std::string link(const std::string& text, const ReportPlace& place) const {
    places_.push_back(place);
    return kLink + std::to_string(places_.size() - 1) + kOf + text + kEnd;
  }
  [[nodiscard]] std::string link(const std::string& text, PlaceKind kind, std::uint32_t scope = 0) const {
    return link(text, ReportPlace{.kind = kind, .scope = scope});
  }

  /// Takes the marks of link() out.
  [[nodiscard]] std::vector<ReportPart> parts_of(std::string_view text) const {
    std::vector<ReportPart> parts;
    while (!text.empty()) {
      const std::size_t plain = std::min(text.find(kLink), text.size());
      if (plain > 0) parts.push_back({std::string(text.substr(0, plain)), {}});
      text.remove_prefix(plain);
      if (text.empty()) break;
      const std::size_t of = text.find(kOf), end = text.find(kEnd);
      const std::size_t place = std::stoul(std::string(text.substr(1, of - 1)));
      parts.push_back({std::string(text.substr(of + 1, end - of - 1)), places_.at(place)});
      text.remove_prefix(end + 1);
    }
    return parts;
  }

  [[nodiscard]] std::string time(double seconds) const { return keep(duration(seconds, unicode_)); }
  [[nodiscard]] static std::string share(double value) { return keep(percent(value)); }
  [[nodiscard]] std::string scope(database::ContextId context, bool article, std::size_t width) const {
    return link(scope_phrase(experiment_, context, article, width, unicode_), PlaceKind::context, context);
  }

  /// Where sampling was refused, waits that the wrappers stamp are known, but not of how much time.
  [[nodiscard]] bool sampled() const {
    return diagnosis_.total_s > 0 &&
           (verdict_.losses.samples > 0 || refused_sampling_text(experiment_).empty());
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

  /// What to do where there is nothing to diagnose.
  [[nodiscard]] std::string why_nothing() const {
    if (traced() && verdict_.losses.samples == 0) {
      return "Nothing was sampled, but its time lines hold every MPI call: see `waits`, `causes` and "
             "`critical-path`.";
    }
    // Where only other events are sampled, there is the time of waits, which wrappers stamp.
    const std::vector<std::string>& events = experiment_.run.events;
    const bool timed = events.empty() || std::ranges::any_of(events, [](const std::string& event) {
                         return event.starts_with("REALTIME@");
                       });
    if (!timed) {
      return "Time was not measured, so waiting cannot be distinguished from work: measure with the event "
             "REALTIME. "
             "`view` shows the events that were.";
    }
    if (const std::string refused = refused_sampling_text(experiment_); !refused.empty())
      return "Nothing was sampled: the system refused it: " + refused + '.';
    return "Nothing was sampled, so there is nothing to diagnose. The program may have ended within its "
           "first "
           "sampling period, or have been measured with sampling switched off.";
  }

  void headline() {
    if (!sampled()) {
      say(why_nothing());
      return;
    }
    const std::string amount = of(diagnosis_.idle_s, diagnosis_.total_s) + ' ' + unit();
    if (diagnosis_.idle_s == 0) {
      const bool alone = experiment_.run.ranks == 0;
      say("None of the run is waiting (" + amount + ')' +
          (alone ? ": it ran without MPI, and no thread was seen to wait." : ": no waiting was seen.") +
          (partly_measured(experiment_).empty() ? "" : ' ' + little_idleness_phrase(experiment_)));
      return;
    }
    std::string text = link(share(diagnosis_.idle_share()) + " of the run is waiting", PlaceKind::waiting) +
                       " (" + amount + ")";
    const std::string where = calls(diagnosis_.where, diagnosis_.idle_s);
    text += where.empty() ? "." : "; " + where + '.';
    if (diagnosis_.idle_share() < kWorthTelling) {
      text += ' ' + little_idleness_phrase(experiment_);
    } else if (const std::string parts =
                   idleness_parts_phrase(divide_idleness(figures_, diagnosis_, verdict_.losses));
               !parts.empty()) {
      text += " It is " + parts + '.';
    }
    if (diagnosis_.without_startup) text += " MPI_Init and MPI_Finalize are left out.";
    say(text);
  }

  /// Waiting for files, which is none for others.
  void input_and_output() {
    const std::optional<InputAndOutput> io = viewer::input_and_output(figures_);
    if (!io || io->seconds < kWorthTelling * diagnosis_.total_s) return;
    std::string text = share(io->seconds / diagnosis_.total_s) + " of the run is input and output (" +
                       of(io->seconds, diagnosis_.total_s) + ' ' + unit() + ')';
    if (io->where != 0) {
      text += "; " + keep(round_percent(io->there_s / io->seconds)) + " of that in ";
      if (io->call != database::kNone)
        text += procedure_name(experiment_, io->call, width_ / 3, unicode_) + " from ";
      text += scope(io->where, true, width_ / 3);
      if (io->file != database::kNone) {
        const views::Frame file = views::frame_of(experiment_, experiment_.contexts[io->file]);
        text += ", on " + std::string(database::file_of_region(file.name));
      }
    }
    say(text + '.');
  }

  /// What of communication itself takes time.
  void messages() {
    const std::vector<std::string> phrases =
        message_pattern_phrases(figures_, diagnosis_, width_ / 3, unicode_);
    if (!phrases.empty()) gap();
    for (const std::string& phrase : phrases) say(link(phrase, PlaceKind::communication));
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
    if (!sampled()) return;
    add(Tone::verdict, link(verdict_.text, place_of_verdict()), 0, 0);
    gap();
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
    const std::vector<std::string> phrases = machine_phrases(experiment_, diagnosis_.idle_s, unicode_);
    for (const std::string& phrase : phrases) say(phrase);
    if (!phrases.empty()) gap();
  }

  [[nodiscard]] static bool took_time(const RoleIdleness& role) {
    return role.threads > 0 && role.total_s > 0;
  }
  [[nodiscard]] bool several_roles() const {
    return std::count_if(diagnosis_.roles.begin(), diagnosis_.roles.end(), took_time) > 1;
  }

  void roles() {
    if (!several_roles()) return;
    for (const RoleIdleness& role : diagnosis_.roles) {
      if (!took_time(role)) continue;
      std::string text = role_phrase(experiment_, role.role) +
                         keep(" (" + std::to_string(role.threads) + "): ") +
                         share(role.idle_s / role.total_s) + " waiting";
      const std::string where = role.idle_s > 0 ? calls(role.where, role.idle_s) : std::string{};
      if (!where.empty()) text += ", " + where;
      say(text, 2, 4);
    }
  }

  /// Which code makes the threads of a process idle, or wait for locks.
  void thread_causes() {
    if (verdict_.kind == VerdictKind::threads_idle) return;  // it has said so
    const std::vector<std::string> phrases =
        thread_cause_phrases(figures_, diagnosis_.total_s, width_ / 2, unicode_);
    for (const std::string& phrase : phrases) say(phrase);
  }

  void blamed() {
    std::size_t listed = 0;
    double rest = 0;
    for (const Blamed& blamed : diagnosis_.blamed) {
      if (listed < kBlamedListed && (listed == 0 || blamed.idle_s >= kWorthListing * diagnosis_.idle_s)) {
        blame(blamed, listed++ == 0);
      } else {
        rest += blamed.idle_s;
      }
    }
    if (rest < kWorthListing * diagnosis_.idle_s) return;
    const std::uint64_t others = diagnosis_.blamed.size() - listed;
    say(keep(counted(others, "smaller place")) + ": " + time(rest) + " (viewer-cli " +
        print::shell_path(database_) + " blame).");
  }

  void blame(const Blamed& blamed, bool first) {
    const bool whole = experiment_.contexts[blamed.context].kind == database::ContextKind::root;
    const bool after_section = several_roles() || verdict_.kind == VerdictKind::healthy;
    if (!first || after_section) gap();
    const bool several = experiment_.roles[blamed.role].threads > 1;  // one thread is no slower than another
    const std::string equally = std::string(" equally long on all ") + counted_by(blamed.role);
    std::string text = time(blamed.idle_s) + (first ? " of waiting happen" : " more happen") + " inside " +
                       scope(blamed.context, true, width_ / 2);
    if (whole) {
      text += ": no smaller part that holds the waiting takes" + equally + '.';
    } else if (first && several) {
      text += ", which takes" + equally + ": the cause is inside it.";
    } else {
      text += '.';
    }
    say(text);
    if (undecided_share(figures_, blamed) >= kUndecided) {
      say("Scopes inside it hold too few samples to say more: measure longer, or sample faster "
          "(hpcrun-lite -e REALTIME@f1000).",
          2);
    }
    suspects(blamed);
  }

  [[nodiscard]] bool is_of_ranks(std::uint32_t role) const {
    return experiment_.roles[role].name == "main" && experiment_.run.ranks > 0;
  }
  [[nodiscard]] const char* counted_by(std::uint32_t role) const {
    return is_of_ranks(role) ? "ranks" : "threads";
  }

  /// A suspect with what it explains here.
  struct Listed {
    SuspectFacts facts;
    double explains_s = 0;
  };

  void suspects(const Blamed& blamed) {
    std::vector<Listed> here;
    double explained = 0;
    double known = 0;
    for (const Charged& charged : suspects_below(experiment_, blamed)) {
      explained += charged.explains_s;
      if (listed_.contains(charged.suspect)) {
        known += charged.explains_s;
        continue;
      }
      const bool matters = here.empty() || charged.explains_s >= kWorthNaming * blamed.idle_s;
      if (!matters || here.size() == kSuspectsListed) continue;
      listed_.insert(charged.suspect);
      here.push_back({examine(figures_, *charged.suspect), charged.explains_s});
    }
    suspect_lines(here);
    if (known > 0) say("Suspects named above explain " + time(known) + " of it.", 2);
    if (!here.empty()) worth(here, blamed.role);
    for (const Listed& each : here) cpu(each.facts, here.size() > 1);
    const double left = blamed.idle_s - explained;
    if (left < kUnexplained * blamed.idle_s) return;
    const bool again = explained == 0 && !told_why_none_.insert(blamed.role).second;
    say(again ? none_slower_phrase(experiment_, blamed.role) + " either."
              : unexplained_phrase(experiment_, blamed.role, explained == 0 ? "" : time(left)),
        2);
  }

  void suspect_lines(const std::vector<Listed>& here) {
    for (const Listed& each : here) {
      const database::Suspect& suspect = *each.facts.suspect;
      const std::string work = more_work_phrase(each.facts.more_work, each.facts.only_here) + ' ';
      const std::string doubt = confidence_phrase(experiment_, each.facts);
      paragraphs_.push_back(
          {Tone::suspect,
           2,
           2,
           {{name_of(experiment_, names_, suspect),
             {.kind = PlaceKind::context, .scope = scope_of_name(experiment_, suspect)}},
            {work + threads_phrase(experiment_, suspect.locations), {}},
            {"explains " + duration(each.explains_s, unicode_) + (doubt.empty() ? "" : " (" + doubt + ')'),
             {}}}});
    }
  }

  [[nodiscard]] static std::string about(double share) {
    return keep((share >= 0.005 ? "about " : "") + round_percent(share));
  }

  /// Run time that mending the suspects saves, as shares of it (docs/algorithms.md 5.5, or 18 where the time
  /// lines were replayed).
  void worth(const std::vector<Listed>& here, std::uint32_t role) {
    const RoleIdleness& threads = diagnosis_.roles[role];
    const double run_s = threads.threads > 0 ? threads.total_s / static_cast<double>(threads.threads) : 0;
    if (run_s <= 0) return;
    double balanced = 0;
    for (const Listed& each : here) balanced += seconds_of(each.facts.suspect->save_balanced_ns);
    const double removed = seconds_of(here.front().facts.suspect->save_removed_ns);
    const bool several = here.size() > 1;
    const database::Suspect& first = *here.front().facts.suspect;
    say("Balanced over the " + std::string(counted_by(role)) + ", " + (several ? "they" : "it") +
            " would save " + saved(balanced / run_s, replayed_saving(here, role), run_s) + "; if " +
            threads_phrase(experiment_, first.locations) + " did no more " +
            (several ? "of the first " : "") + "than the others, up to " +
            keep(round_percent(removed / run_s)) + '.',
        2);
  }

  /// In seconds, where the time lines were replayed; remembers that they are asked for.
  std::optional<double> replayed_saving(const std::vector<Listed>& here, std::uint32_t role) {
    if (!is_of_ranks(role)) return std::nullopt;
    SuspectGroup group;
    for (const Listed& each : here) group.push_back(each.facts.suspect);
    const auto found = replayed_.find(group);
    groups_.push_back(std::move(group));
    return found == replayed_.end() ? std::nullopt : std::optional(static_cast<double>(found->second) / 1e9);
  }

  /// `33 % of the run time (0.96 s, by a replay of the time lines)`.
  [[nodiscard]] std::string saved(double by_sums, std::optional<double> replayed_s, double run_s) const {
    constexpr double kNothing = 0.005, kAlike = 0.5;
    if (!replayed_s) return about(by_sums) + " of the run time";
    const double share = *replayed_s / run_s;
    const std::string by_replay = ", by a replay of the time lines";
    const std::string text = share < kNothing ? "nothing" + by_replay
                                              : keep(round_percent(share)) + " of the run time (" +
                                                    time(*replayed_s) + by_replay + ')';
    // Programs that poll, or take messages as they come, do so as they did in a replay.
    return share >= kAlike * by_sums ? text : text + ", and " + about(by_sums) + " by the sums of its ranks";
  }

  void cpu(const SuspectFacts& facts, bool several) {
    const database::Suspect& suspect = *facts.suspect;
    const std::string extra = "the extra " + time(seconds_of(suspect.excess_ns));
    if (reads_or_writes(facts)) {
      say((several ? "In " + scope(suspect.suspect, true, width_ / 3) + ", " : std::string()) +
              keep(round_percent(*facts.excess_io_share)) + " of " + extra + (several ? " is" : " there is") +
              " input and output.",
          2);
    }
    if (!lacks_cpu(facts)) return;
    say((several ? "In " + scope(suspect.suspect, true, width_ / 3) + ", only " : std::string("Only ")) +
            keep(round_percent(*facts.excess_cpu_share)) + " of " + extra + " was on a processor" +
            usual_cpu_phrase(facts) +
            ": there the code was preempted, slept or did I/O, and changing its work would not help.",
        2);
  }

  void varying_gaps() {
    std::size_t listed = 0;
    for (const std::string& phrase : varying_gap_phrases(experiment_, width_ / 3, unicode_)) {
      if (listed++ == kGapsListed) return;
      gap();
      say(phrase);
    }
  }

  /// CPU time beside wall time (docs/algorithms.md 5.6), where nothing was said of the machine.
  void busy_machine() {
    if (!experiment_.machine().suspects.empty()) return;
    for (const RoleIdleness& role : diagnosis_.roles) {
      const std::optional<double> share = cpu_share_of_work(figures_, role.role);
      const double work_s = role.total_s - role.idle_s;
      if (!share || *share >= kMostlyCpu || work_s < kWorthListing * diagnosis_.total_s) continue;
      const bool only = diagnosis_.roles.size() == 1;
      say("Outside waits, " + (only ? "the run" : "the " + role_phrase(experiment_, role.role)) +
          " had a processor only " + keep(round_percent(*share)) +
          " of the time: " + what_stretches(role.role) + " stretch it.");
    }
  }

  [[nodiscard]] std::string what_stretches(std::uint32_t role) const {
    const std::optional<double> preempted = preempted_share(experiment_, role);
    return preempted && *preempted < kWorthNaming ? "sleep, I/O or page faults"
                                                  : "more threads than free cores, sleep or I/O";
  }

  [[nodiscard]] bool traced() const { return experiment_.trace().traced > 0; }

  /// Who waited for whom most, why, and what the run's length depends on.
  void time_lines() {
    const std::string text = longest_wait() + dearest_cause() + critical() + outliers();
    if (text.empty()) return;
    gap();
    say("From the time lines:" + text);
  }

  /// Whether time lines show waiting, be its cause known or not.
  [[nodiscard]] bool waited() const {
    const database::TraceAnalyses& trace = experiment_.trace();
    return trace.unattributed_ns > 0 || !trace.causes.empty();
  }

  [[nodiscard]] std::string longest_wait() const {
    for (const database::Wait& wait : experiment_.waits()) {
      if (!wait.exact || wait.cause_location == database::kNone) continue;
      return " " +
             link(location_label(experiment_, wait.location) + " waited " + time(seconds_of(wait.ns)) +
                      " for " + location_label(experiment_, wait.cause_location),
                  PlaceKind::waits) +
             " in " + scope(wait.context, false, width_ / 3) +
             (wait.count > 1 ? keep(" (" + counted(wait.count, "wait")) + "), longer than any other."
                             : ", the longest of all waits.");
    }
    if (waited() || experiment_.run.world_size < 2) return "";
    std::string text = no_waits_phrase(experiment_);
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return ' ' + text;
  }

  [[nodiscard]] std::string dearest_cause() const {
    const std::vector<database::Cause> causes = causes_by_scope(experiment_, &users_scope);
    std::uint64_t sum = experiment_.trace().unattributed_ns;
    for (const database::Cause& cause : causes) sum += cause.cost_ns();
    if (causes.empty() || sum == 0) return "";
    if (const std::optional<CommonCause> common = common_cause(experiment_)) {
      return ' ' + capital(common_cause_phrase(experiment_, *common, width_ / 3, unicode_)) + ", caused " +
             share(static_cast<double>(common->who.sum()) / static_cast<double>(sum)) + " of " +
             time(seconds_of(sum)) + " of waiting.";
    }
    const database::Cause& first = causes.front();
    return ' ' + capital(scope(first.scope.context, true, width_ / 3)) + " on " +
           location_label(experiment_, first.location) + " caused " +
           share(static_cast<double>(first.cost_ns()) / static_cast<double>(sum)) + " of " +
           time(seconds_of(sum)) + " of waiting" +
           (first.long_term_ns > 0 ? ", " + time(seconds_of(first.long_term_ns)) + " of it indirectly."
                                   : ".");
  }
  /// `the loop` begins a sentence as `The loop`; names stay as they are.
  [[nodiscard]] static std::string capital(std::string text) {
    const std::size_t first = text.starts_with(kLink) ? text.find(kOf) + 1 : 0;
    const std::string_view words = std::string_view(text).substr(first);
    if (words.starts_with("the ") || words.starts_with("a "))
      text[first] = static_cast<char>(text[first] - 'a' + 'A');
    return text;
  }

  [[nodiscard]] std::string critical() const {
    if (!are_ranks_comparable(experiment_))
      return "";  // it leads over ranks that were not measured, or has no choice
    const std::vector<database::CriticalScope> paths = critical_by_scope(experiment_, &users_scope);
    const std::uint64_t length = experiment_.trace().critical_end_ns - experiment_.trace().critical_begin_ns;
    if (paths.empty() || length == 0) return "";
    return " " + link("The critical path", PlaceKind::critical_path) + " spends " +
           share(static_cast<double>(paths.front().ns) / static_cast<double>(length)) + " of its " +
           time(seconds_of(length)) + " in " + scope(paths.front().scope.context, true, width_ / 3) + ".";
  }

  [[nodiscard]] std::string outliers() const {
    if (experiment_.trace().variations.empty()) return "";
    const database::Variation& variation = experiment_.trace().variations.front();
    if (variation.outliers.empty()) return "";
    const database::Variation::Outlier& first = variation.outliers.front();
    const std::string what = segment_name(experiment_, variation);
    return " " + keep(counted(variation.outliers.size(), what)) +
           (variation.outliers.size() == 1 ? " is" : " are") + " far above the median of " +
           time(seconds_of(variation.median_ns)) + ", the longest " +
           link(keep("rank " + std::to_string(first.rank) + "'s " + what + ' ' +
                     std::to_string(first.segment)),
                {.kind = PlaceKind::segment, .scope = first.segment, .rank = first.rank}) +
           " with " + time(seconds_of(first.sos_ns)) + ".";
  }

  void work() {
    std::vector<std::string> parts;
    for (const Work& work : diagnosis_.work) {
      const double part = work.seconds / diagnosis_.total_s;
      if (parts.size() == kWorkNamed || part < kWorthListing) break;
      const views::Frame frame = views::frame_of(experiment_, experiment_.flat[work.scope]);
      const std::string where = place(frame);
      std::string name = shorten_name(without_parameters(label(frame)), width_ / 2, unicode_);
      if (!where.empty()) name += " at " + where;
      parts.push_back(link(name, PlaceKind::flat, work.scope) + keep(" (" + round_percent(part) + ')'));
    }
    if (parts.empty()) return;
    gap();
    say("Most work is done in " + enumerate(parts) + '.');
  }

  const ReplayedSuspects& replayed_;
  bool unicode_;
  std::size_t width_;
  const views::Figures& figures_;
  const database::Contents& experiment_;
  const std::string& database_;
  Diagnosis diagnosis_;
  Verdict verdict_;
  std::vector<std::string> names_;             // of all suspects
  std::vector<SuspectGroup> groups_;           // that were said to save something
  std::set<const database::Suspect*> listed_;  // that were named
  std::set<std::uint32_t> told_why_none_;      // roles, of which a blamed context had no suspect
  mutable std::vector<ReportPlace> places_;    // that texts lead to
  std::vector<ReportParagraph> paragraphs_;
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
