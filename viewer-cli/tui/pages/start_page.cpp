#include "findings/coverage.hpp"
#include "findings/idleness_parts.hpp"
#include "findings/long_segments.hpp"
#include "findings/machine.hpp"
#include "findings/phrases.hpp"
#include "findings/quality.hpp"
#include "findings/segment_picture.hpp"
#include "findings/suspect_names.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/pages/finding_pages.hpp"
#include "tui/pages/page_parts.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace culprit::viewer::tui {
namespace {

constexpr double kWorthListing = 0.05;  // of the idleness: blamed contexts; of the run: work
constexpr double kMostlyLacked = 0.5;   // of what is unexplained: without a processor
constexpr std::size_t kBlamedListed = 3, kWorkListedHere = 4, kCallsNamed = 3;

class StartPage {
 public:
  StartPage(const Workspace& workspace, const Findings& findings, int width)
      : workspace_(workspace),
        experiment_(workspace.experiment()),
        findings_(findings),
        diagnosis_(findings.diagnosis),
        width_(width),
        names_(suspect_names(experiment_, static_cast<std::size_t>(width), workspace.unicode())) {}

  Page make() {
    headline();
    if (diagnosis_.total_s > 0) {
      const bool healthy = findings_.verdict.kind == VerdictKind::healthy;
      if (healthy) work();  // which matters more then
      if (diagnosis_.idle_share() >= kWorthReporting) blamed();
      if (names_thread_causes())
        add_thread_causes(page_, workspace_, findings_.thread_causes, kBlamedListed, true, width_);
      if (experiment_.trace().traced > 0) time_lines();
      if (!healthy) work();
    }
    quality();
    return std::move(page_);
  }

 private:
  [[nodiscard]] std::string time(double seconds) const { return seconds_text(workspace_, seconds); }
  [[nodiscard]] std::string scope(database::ContextId context) const {
    return scope_phrase(experiment_, context, false, static_cast<std::size_t>(width_), workspace_.unicode());
  }
  [[nodiscard]] std::string cause(database::ContextId context) const {
    return cause_phrase(experiment_, context, false, static_cast<std::size_t>(width_), workspace_.unicode());
  }
  void link(const std::string& name, const std::string& right, const Target& target, int indent) {
    page_.add(link_line(name, right, target, width_, indent, workspace_.unicode()));
  }

  /// A link to code between two texts. Where it does not fit, the code lacks its place, which Enter shows,
  /// and then the list of ranks, before the name lacks a part.
  void link_to_code(const std::string& before, std::string name, std::string after, const std::string& right,
                    const Target& target) {
    constexpr int kMargin = 4, kLeast = 16;  // the sign of a link, and a gap before what stands on the right
    const auto room = [&] { return width_ - kMargin - static_cast<int>(columns(before + after + right)); };
    const auto fits = [&] { return static_cast<int>(columns(name)) <= room(); };
    if (!fits()) name = without_place(name);
    if (!fits() && after.ends_with("...)")) after.resize(after.rfind(" ("));
    const auto shown = static_cast<std::size_t>(std::max(room(), kLeast));
    link(before + shorten_name(name, shown, workspace_.unicode()) + after, right, target, 0);
  }
  /// `compute` of `compute at p.c:5`, `compute in liblammps.so` or `compute (in pair at p.c:6)`; of a loop
  /// that has no line, where the address says less than the procedure, `loop in compute`.
  static std::string without_place(const std::string& name) {
    const std::size_t last = name.rfind(" in ");
    std::size_t place = std::min(name.find(" (in "), last);
    if (!name.starts_with("loop at ") && !name.starts_with("call at "))
      place = std::min(place, name.find(" at "));
    if (place == std::string::npos) return name;
    const std::string alone = name.substr(0, place);
    const bool nameless = alone.find('@') != std::string::npos;
    const bool without_line = alone == "a loop" || (alone.starts_with("loop at ") && nameless);
    if (without_line && last != std::string::npos) return "loop" + name.substr(last);
    return nameless ? name : alone;
  }

  void headline() {
    if (diagnosis_.total_s == 0) {
      page_.say("No time was sampled, so there is nothing to diagnose. 2 Calls shows what was measured.",
                width_);
      return;
    }
    page_.say(findings_.verdict.text, width_, 0, Tone::strong);
    page_.say("", width_);
    for (const std::string& phrase :
         is_starved()
             ? phrases_beyond_starved(experiment_, diagnosis_.idle_s, workspace_.unicode())
             : machine_phrases(experiment_, findings_.verdict, diagnosis_.idle_s, workspace_.unicode())) {
      page_.say(phrase, width_, 0, Tone::warning);
      page_.say("", width_);
    }
    const std::string amount =
        keep(time(diagnosis_.idle_s) + " of " + time(diagnosis_.total_s)) + " over all threads";
    std::string text =
        reads_alike(findings_.verdict.stated_waiting_s, diagnosis_.idle_s, diagnosis_.total_s)
            ? "Waiting takes " + amount
            : keep(percent(diagnosis_.idle_share())) + " of the run is spent waiting (" + amount + ')';
    std::vector<std::string> parts;
    for (const IdleIn& call : diagnosis_.where) {
      const double part = diagnosis_.idle_s > 0 ? call.seconds / diagnosis_.idle_s : 0;
      if (parts.size() == kCallsNamed || (part < kWorthListing && !parts.empty())) break;
      parts.push_back(keep(round_percent(part) + " of it in ") + call.name);
    }
    if (!parts.empty()) text += ": " + enumerate(parts);
    text += '.';
    if (diagnosis_.idle_share() < kWorthReporting) {
      text += ' ' + little_idleness_phrase(experiment_);
    } else if (const std::string kinds = idleness_parts_phrase(findings_.verdict.waiting);
               !kinds.empty() && !is_starved()) {
      text += " It is " + kinds + '.';
    }
    page_.say(text + start_up_phrase(findings_.verdict, diagnosis_.without_startup), width_);
    for (const std::string& phrase : findings_.threads) page_.say(phrase, width_);
    for (const std::string& phrase : findings_.messages) page_.say(phrase, width_);
  }

  /// Then the machine is to be mended first, and what code could save is not on the first screen.
  [[nodiscard]] bool is_starved() const { return findings_.verdict.kind == VerdictKind::starved; }

  /// Whether the page says who makes threads of a process idle.
  [[nodiscard]] bool names_thread_causes() const {
    return findings_.verdict.kind == VerdictKind::threads_idle || !findings_.threads.empty();
  }

  void blamed() {
    add_heading(page_, "WHAT MAKES THEM WAIT", "waiting in it", width_);
    const views::Figures all(workspace_.source());  // whatever ranks are selected
    const Waiters waiting(all);
    std::size_t listed = 0;
    double rest_s = diagnosis_.idle_s;
    for (const Blamed& each : diagnosis_.blamed) {
      if (!each.counts()) continue;
      if (listed == kBlamedListed || (listed > 0 && each.idle_s < kWorthListing * diagnosis_.idle_s)) break;
      ++listed;
      rest_s -= each.idle_s;
      link(scope(each.context), time(each.idle_s) + "  " + round_percent(each.share(diagnosis_.idle_s)),
           to_context(each.context, waiting.of(each)), 0);
      suspects(all, each);
    }
    const bool matters = !is_starved() || rest_s >= kWorthListing * diagnosis_.idle_s;
    if (diagnosis_.blamed.size() > listed && matters)
      link("show all " + counted(diagnosis_.blamed.size(), "place"), "",
           {Target::Kind::finding, static_cast<std::uint32_t>(Finding::blame), {}, -1, 0, 0, {}}, 0);
  }

  void suspects(const views::Figures& all, const Blamed& blamed) {
    SuspectGroup listed, mended;
    double known = 0;
    for (const Charged& charged : suspects_below(experiment_, blamed)) {
      const database::Suspect& suspect = *charged.suspect;
      if (listed_.contains(&suspect)) {
        known += charged.explains_s;
        continue;
      }
      const bool matters = listed.empty() || charged.explains_s >= kWorthNaming * blamed.idle_s;
      if (!matters || listed.size() == kSuspectsListed) continue;
      listed_.insert(&suspect);
      listed.push_back(&suspect);
      const SuspectFacts facts = examine(all, suspect);
      if (may_save(experiment_, facts)) mended.push_back(&suspect);
      const std::string doubt = confidence_phrase(experiment_, facts);
      const std::string who = more_work_phrase(facts) + ' ' + threads_phrase(experiment_, suspect.locations) +
                              (is_starved() && !doubt.empty() ? " (" + doubt + ')' : "");
      const std::string name = "suspect " + name_of(experiment_, names_, suspect);
      const std::string worth = "explains " + time(charged.explains_s);
      const Target target = to_context(suspect.suspect, suspect.locations);
      const auto taken = static_cast<int>(columns(name) + columns(who) + columns(worth));
      if (taken + 11 <= width_) {
        link(name, std::string(who).append(", ").append(worth), target, 2);
      } else {
        link(name, worth, target, 2);
        page_.say(who, width_, 6);
      }
      if (!doubt.empty() && !is_starved()) page_.say(doubt, width_, 6, Tone::dim);
    }
    if (known > 0) {
      page_.say("Suspects named above explain " + keep(time(known)) + " of it.", width_, 4, Tone::dim);
    } else if (listed.empty()) {
      say_why_none(all, blamed);
    }
    for (const database::Suspect* const each : listed) {
      if (each->doubt == database::Doubt::pools)
        page_.say(other_pool_phrase(experiment_, *each), width_, 4, Tone::dim);
    }
    if (!mended.empty() && !is_starved()) worth(mended, listed.size(), blamed);
  }

  /// As the report has it.
  void say_why_none(const views::Figures& all, const Blamed& blamed) {
    if (names_thread_causes() && !waits_in_mpi(all, blamed)) return;  // which says why
    const bool of_ranks = experiment_.run.ranks > 0 && experiment_.roles[blamed.role].name == "main";
    const Losses& losses = findings_.verdict.losses;
    const double lacked_s = losses.no_processor_s + losses.perhaps_no_processor_s;
    const double lacked =
        of_ranks && diagnosis_.idle_s > 0 ? lacked_s * blamed.idle_s / diagnosis_.idle_s : 0;
    if (lacked >= kMostlyLacked * blamed.idle_s) {
      const std::string amount = keep(time(std::min(lacked, blamed.idle_s)));
      page_.say(
          losses.perhaps_no_processor_s > 0
              ? perhaps_lacking_phrase("up to " + amount)
              : "About " + amount + " of it is waited without a processor, for which no code is to blame.",
          width_, 4, Tone::dim);
      return;
    }
    const bool again = std::exchange(said_that_delays_move_, true);
    if (again && experiment_.roles[blamed.role].threads == 1) return;
    page_.say(again ? none_slower_phrase(experiment_, blamed.role) + " either."
                    : unexplained_phrase(all, blamed, "", 0),
              width_, 4, Tone::dim);
  }

  /// As the report has it.
  void worth(const SuspectGroup& mended, std::size_t listed, const Blamed& blamed) {
    const double run_s = diagnosis_.elapsed_s;
    double by_sums = 0;
    for (const database::Suspect* const each : mended) by_sums += seconds_of(each->save_balanced_ns);
    std::optional<ReplayedSaving> replayed;
    if (const auto found = findings_.replayed.find(mended); found != findings_.replayed.end())
      replayed = found->second;
    if (run_s <= 0 || std::max(by_sums, replayed ? replayed->seconds() : 0) <= 0) return;
    if (waits_for_locks(experiment_, blamed)) {
      page_.say(lock_saving_sentence(by_sums, run_s), width_, 4, Tone::dim);
      return;
    }
    std::vector<std::string> names;
    for (const database::Suspect* const each : mended) names.push_back(name_of(experiment_, names_, *each));
    const std::string which = mended.size() < listed ? enumerate(names) : listed > 1 ? "they" : "it";
    page_.say("Balanced, " + which + " would save " +
                  saving_phrase(experiment_, by_sums, replayed, run_s, workspace_.unicode()) + '.',
              width_, 4, Tone::dim);
  }

  void costly(const std::string& what, const CostlyCode& code, const char* beyond) {
    const std::vector<std::uint32_t> who = code.who.locations();
    link_to_code(what, cause(code.scope.context), beyond + (" on " + threads_phrase(experiment_, who)),
                 time(seconds_of(code.cost_ns)), to_context(code.scope.context, who));
  }

  /// Who waited for whom, and what the run's length depends on.
  void time_lines() {
    const auto before = static_cast<std::ptrdiff_t>(page_.lines.size());
    add_heading(page_, "FROM THE TIME LINES", "", width_);
    const std::size_t behind = page_.lines.size();
    if (findings_.common_cause) {
      const CommonCause& common = *findings_.common_cause;
      const std::vector<std::uint32_t> who = common.who.locations();
      link_to_code("made others wait most: ", scope(common.context),
                   " on " + threads_phrase(experiment_, who), time(seconds_of(common.who.sum())),
                   to_context(common.context, who));
    } else if (findings_.costliest_code) {
      const CostliestCode& costliest = *findings_.costliest_code;
      costly("made others wait most: ", costliest.code, costliest.in_call ? ", beyond its waits," : "");
      if (costliest.of_program) costly("most of the program's code: ", *costliest.of_program, "");
    }
    if (!findings_.critical.rows.empty() && are_ranks_comparable(experiment_)) {
      const ListRow& first = findings_.critical.rows.front();
      const database::ContextId context = first.paths.front().context;
      link_to_code("longest on the critical path: ", cause(context), "",
                   round_percent(share_of(findings_.critical, first).value_or(0)) + " of it",
                   to_context(context));
    }
    outlier();
    if (page_.lines.size() == behind) page_.lines.erase(page_.lines.begin() + before, page_.lines.end());
  }

  void outlier() {
    const std::vector<database::Variation>& levels = experiment_.trace().variations;
    if (levels.empty() || !are_worth_reporting(experiment_, levels.front())) return;
    const database::Variation::Outlier& first = levels.front().outliers.front();
    const std::size_t number = levels.front().outliers.size();
    link(counted(number, segment_name(experiment_, levels.front())) + ' ' + longer_phrase(levels.front()) +
             " the median" + slow_ranks_phrase(levels.front()) + ", " +
             (number > 1 ? "the longest on " : "on ") + outlier_phrase(experiment_, first),
         time(seconds_of(first.sos_ns)), {Target::Kind::time, 0, {}, first.rank, first.segment, 0, {}}, 0);
  }

  void work() {
    bool first = true;
    std::size_t listed = 0;
    for (const Work& work : diagnosis_.work) {
      const double part = diagnosis_.work_share(work);
      if (listed++ == kWorkListedHere || part < kWorthListing) break;
      if (first)
        add_heading(page_, "WHERE THE WORK IS DONE",
                    diagnosis_.work_on_processor ? "of the time on a processor" : "of the run", width_);
      first = false;
      link(work_phrase(experiment_, work, kWholeName, workspace_.unicode()) + (work.asleep ? ", asleep" : ""),
           round_percent(part), {Target::Kind::flat, work.scope, {}, -1, 0, 0, {}}, 0);
    }
  }

  void quality() {
    const std::string text = quality_text(experiment_);
    if (is_starved()) {
      page_.say("", width_);
      page_.say(text.substr(0, text.find(';')) + '.', width_, 0, Tone::dim);
    } else {
      add_heading(page_, "HOW GOOD THE DATA IS", "", width_);
      page_.say(text, width_, 0, Tone::dim);
    }
    for (const std::string& line : quality_warnings(experiment_)) page_.say(line, width_, 0, Tone::warning);
  }

  const Workspace& workspace_;
  const database::Contents& experiment_;
  const Findings& findings_;
  const Diagnosis& diagnosis_;
  int width_;
  std::vector<std::string> names_;  // of all suspects
  std::set<const database::Suspect*> listed_;
  bool said_that_delays_move_ = false;  // what is said of one place in full is said of others shortly
  Page page_;
};

}  // namespace

Page start_page(const Workspace& workspace, const Findings& findings, int width) {
  return StartPage(workspace, findings, width).make();
}

}  // namespace culprit::viewer::tui
