// The report's paragraphs on blamed contexts and their suspects (docs/blame.md).
#include "commands/report_parts.hpp"
#include "database/procedure_name.hpp"
#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "print/text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>

namespace culprit::viewer {
namespace {

constexpr std::size_t kBlamedListed = 3;
constexpr double kUnexplained = 0.25;  // of a blamed context's idleness
constexpr double kUndecided = 0.5;
constexpr double kNothing = 0.005;  // of the run time: not worth a figure
constexpr double kMostly = 0.5;     // of what is unexplained
constexpr double kWholeOfIt = 0.995, kAlmostWhole = 0.95;

}  // namespace

BlameParagraphs::BlameParagraphs(const Of& of, ReportWriter& out)
    : of_(of),
      experiment_(of.figures.experiment()),
      out_(out),
      names_(suspect_names(experiment_, std::max<std::size_t>(out.width() / 3, 24), out.unicode())) {}

void BlameParagraphs::write(bool apart, bool thread_causes_named) {
  thread_causes_named_ = thread_causes_named;
  std::size_t listed = 0;
  double rest = 0;
  std::uint64_t others = 0;
  for (const Blamed& blamed : of_.diagnosis.blamed) {
    if (!blamed.counts()) continue;
    if (listed < kBlamedListed && (listed == 0 || blamed.idle_s >= kWorthListing * of_.diagnosis.idle_s)) {
      if (listed != 0 || apart) out_.gap();
      blame(blamed, listed++ == 0);
    } else {
      rest += blamed.idle_s;
      ++others;
    }
  }
  if (rest < kWorthListing * of_.diagnosis.idle_s) return;
  out_.say(keep(counted(others, "smaller place")) + ": " + out_.time(rest) + " (viewer-cli " +
           print::shell_path(of_.database) + " blame).");
}

std::string BlameParagraphs::name_of_place(const Blamed& blamed) const {
  return scope_phrase(experiment_, blamed.context, true, out_.width() / 2, out_.unicode());
}

/// Where places to be listed have one name, such as that of an interpreter's function: ` in MPI_Send`, the
/// call that holds half of this place's waiting or more. Else empty.
std::string BlameParagraphs::call_in(const Blamed& blamed) const {
  const auto idleness = views::metric_named(experiment_, "idleness");
  const std::span<const Blamed> all = of_.diagnosis.blamed;
  const std::string name = name_of_place(blamed);
  const auto alike = std::ranges::count_if(all.first(std::min(all.size(), kBlamedListed)),
                                           [&](const Blamed& each) { return name_of_place(each) == name; });
  if (alike < 2 || !idleness) return {};
  std::map<std::string, double> calls;
  const std::uint32_t end = experiment_.contexts[blamed.context].end;
  for (database::ContextId at = blamed.context; at < end; ++at) {
    if ((experiment_.contexts[at].flags & database::kFrontier) == 0) continue;
    const views::Frame frame = views::frame_of(experiment_, experiment_.contexts[at]);
    calls[without_parameters(label(frame))] +=
        static_cast<double>(of_.figures.context(blamed.role, *idleness, at, true).sum) / kNsPerSecond;
  }
  if (calls.empty()) return {};
  const auto most = std::ranges::max_element(calls, {}, [](const auto& each) { return each.second; });
  return 2 * most->second < blamed.idle_s ? "" : " in " + most->first;
}

/// Whether who makes its threads wait stands in what was said of threads, as of waits in MPI it does not.
bool BlameParagraphs::is_named_already(const Blamed& blamed) const {
  return thread_causes_named_ && suspects_below(experiment_, blamed).empty() &&
         !waits_in_mpi(of_.figures, blamed);
}

/// `1.75 s of waiting happen`: no amount where it is that of all waiting, which was just stated.
std::string BlameParagraphs::how_much_happens(const Blamed& blamed, bool first) const {
  const double share = blamed.share(of_.diagnosis.idle_s);
  if (share >= kWholeOfIt) return "All of the waiting happens";
  if (share >= kAlmostWhole) return "Almost all of the waiting happens";
  return out_.time(blamed.idle_s) + (first ? " of waiting happen" : " more happen");
}

void BlameParagraphs::blame(const Blamed& blamed, bool first) {
  const bool whole = experiment_.contexts[blamed.context].kind == database::ContextKind::root;
  const bool several = experiment_.roles[blamed.role].threads > 1;  // one thread is no slower than another
  const std::string equally = std::string(" equally long on all ") + counted_by(blamed.role);
  std::string text = how_much_happens(blamed, first) + call_in(blamed) + " inside " +
                     out_.scope(blamed.context, true, out_.width() / 2);
  if (is_named_already(blamed)) return out_.say(text + ", for the code named above.");
  if (whole) {
    text += ": no smaller part that holds the waiting takes" + equally + '.';
  } else if (first && several) {
    // Without any, opposite waits may cancel within it that have causes elsewhere.
    const bool known = !suspects_below(experiment_, blamed).empty();
    text += ", which takes" + equally + (known ? ": the cause is inside it." : ".");
  } else {
    text += '.';
  }
  out_.say(text);
  if (undecided_share(of_.figures, blamed) >= kUndecided) {
    out_.say(
        "Scopes inside it hold too few samples to say more: measure longer, or sample faster "
        "(hpcrun-lite -e REALTIME@f1000).",
        2);
  }
  suspects(blamed);
}

bool BlameParagraphs::is_of_ranks(std::uint32_t role) const {
  return experiment_.roles[role].name == "main" && experiment_.run.ranks > 0;
}

void BlameParagraphs::suspects(const Blamed& blamed) {
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
    here.push_back({examine(of_.figures, *charged.suspect), charged.explains_s});
  }
  suspect_lines(here);
  for (const Listed& each : here) {
    if (each.facts.parts.empty()) continue;
    out_.say("Of the extra " + out_.time(seconds_of(each.facts.suspect->excess_ns)) + " in " +
                 linked(*each.facts.suspect) + ", " +
                 parts_phrase(experiment_, each.facts.parts, out_.width() / 3, out_.unicode()) + '.',
             2);
  }
  if (known > 0) out_.say("Suspects named above explain " + out_.time(known) + " of it.", 2);
  for (const Listed& each : here) {
    if (each.facts.suspect->doubt == database::Doubt::pools)
      out_.say(other_pool_phrase(experiment_, *each.facts.suspect), 2);
  }
  if (!here.empty()) worth(here, blamed);
  for (const Listed& each : here) cpu(each.facts, here.size() > 1);
  const double left = blamed.idle_s - explained;
  if (left < kUnexplained * blamed.idle_s) return;
  if (const double lacked = lacked_processors(blamed); lacked >= kMostly * left) {
    const bool alone = experiment_.roles[blamed.role].threads == 1;  // has no others to wait for
    return out_.say(unexplained_without_processor(explained > 0, alone, left, lacked), 2);
  }
  const bool again = explained == 0 && !said_why_none_.insert(blamed.role).second;
  if (again && experiment_.roles[blamed.role].threads == 1) return;
  out_.say(again ? none_slower_phrase(experiment_, blamed.role) + " either."
                 : unexplained_phrase(of_.figures, blamed, explained == 0 ? "" : out_.time(left),
                                      explained / blamed.idle_s),
           2);
}

/// What is said where most of what is left was waited without a processor.
std::string BlameParagraphs::unexplained_without_processor(bool some_explained, bool alone, double left_s,
                                                           double lacked_s) const {
  const std::string left = out_.time(left_s), lacked = out_.time(std::min(lacked_s, left_s));
  const std::string begin = some_explained ? left + " remain unexplained" : "No code explains it";
  const std::string at_most = "up to " + (left == lacked ? "all" : lacked);
  if (of_.perhaps_no_processor_s > 0)
    return begin + ". " +
           (alone ? "For " + at_most + " of it, the rank had no processor."
                  : perhaps_lacking_phrase(at_most));
  return begin + ": " +
         (left == lacked ? "ranks had no processor meanwhile."
                         : "for about " + lacked + ", ranks had no processor.");
}

/// Its part of what ranks waited without a processor, as all waiting has it.
double BlameParagraphs::lacked_processors(const Blamed& blamed) const {
  const double lacked_s = of_.no_processor_s + of_.perhaps_no_processor_s;
  return is_of_ranks(blamed.role) ? lacked_s * blamed.idle_s / of_.diagnosis.idle_s : 0;
}

/// What a suspect explains of the waiting in one place, and in all where that is more: savings are of all.
std::string BlameParagraphs::explained(const Listed& listed) const {
  constexpr double kSame = 1.05;
  const double all_s = seconds_of(listed.facts.suspect->explains_ns);
  std::string here = duration(listed.explains_s, out_.unicode());
  if (all_s <= kSame * listed.explains_s) return here;
  return here + " here, " + duration(all_s, out_.unicode()) + " in all";
}

void BlameParagraphs::suspect_lines(const std::vector<Listed>& here) {
  for (const Listed& each : here) {
    const database::Suspect& suspect = *each.facts.suspect;
    const std::string work = more_work_phrase(each.facts) + ' ';
    const std::string doubt = confidence_phrase(experiment_, each.facts);
    out_.add({ReportParagraph::Tone::suspect,
              2,
              2,
              {{name_of(experiment_, names_, suspect),
                {.kind = ReportPlace::Kind::context, .scope = scope_of_name(experiment_, suspect)}},
               {work + threads_phrase(experiment_, suspect.locations), {}},
               {"explains " + explained(each) + (doubt.empty() ? "" : " (" + doubt + ')'), {}}}});
  }
}

/// Run time that mending the suspects saves, as shares of it (docs/algorithms.md 5.5, or 18 where the time
/// lines were replayed); of those whose mending may save some.
void BlameParagraphs::worth(const std::vector<Listed>& here, const Blamed& blamed) {
  const std::uint32_t role = blamed.role;
  const double run_s = of_.diagnosis.elapsed_s;
  std::vector<Listed> mended;
  std::ranges::copy_if(here, std::back_inserter(mended),
                       [&](const Listed& each) { return may_save(experiment_, each.facts); });
  if (run_s <= 0 || mended.empty()) return;
  double balanced = 0;
  for (const Listed& each : mended) balanced += seconds_of(each.facts.suspect->save_balanced_ns);
  const double removed = seconds_of(mended.front().facts.suspect->save_removed_ns);
  const bool several = mended.size() > 1;
  const database::Suspect& first = *mended.front().facts.suspect;
  const std::string which = which_of(mended, here.size());
  const std::optional<ReplayedSaving> replayed = replayed_saving(mended, role);
  const double replayed_s = replayed ? replayed->seconds() : 0;
  if (std::max({balanced, removed, replayed_s}) < kNothing * run_s) {
    const std::string what = which == "they" ? "them" : which;
    out_.say("Mending " + what + " would save under 1 % of the run time.", 2);
    return;
  }
  const double by_sums = balanced / run_s;
  if (waits_for_locks(experiment_, blamed)) return out_.say(lock_saving_sentence(balanced, run_s), 2);
  const double share = replayed ? replayed_s / run_s : by_sums;
  std::string text = "Balanced over the " + std::string(counted_by(role)) + ", " + which + " would save " +
                     saving_phrase(experiment_, by_sums * run_s, replayed, run_s, out_.unicode());
  if (is_only_limit(by_sums * run_s, replayed)) return out_.say(text + '.', 2);
  if (removed / run_s > share) {
    text += "; if " + threads_phrase(experiment_, first.locations) + " did no more " +
            (several ? "of the first " : "") + "than the others, up to " +
            keep(round_percent(removed / run_s));
  }
  out_.say(text + '.', 2);
}

/// `they`, `it`; of some of those that are listed, their names.
std::string BlameParagraphs::which_of(const std::vector<Listed>& some, std::size_t listed) const {
  if (some.size() == listed) return listed > 1 ? "they" : "it";
  std::vector<std::string> names;
  names.reserve(some.size());
  for (const Listed& each : some) names.push_back(name_of(experiment_, names_, *each.facts.suspect));
  return enumerate(names);
}

/// Where the time lines were replayed; remembers that they are asked for.
std::optional<ReplayedSaving> BlameParagraphs::replayed_saving(const std::vector<Listed>& here,
                                                               std::uint32_t role) {
  if (!is_of_ranks(role)) return std::nullopt;
  SuspectGroup group;
  for (const Listed& each : here) group.push_back(each.facts.suspect);
  const auto found = of_.replayed.find(group);
  groups_.push_back(std::move(group));
  return found == of_.replayed.end() ? std::nullopt : std::optional(found->second);
}

std::string BlameParagraphs::linked(const database::Suspect& suspect) const {
  return out_.link(name_of(experiment_, names_, suspect),
                   {.kind = ReportPlace::Kind::context, .scope = scope_of_name(experiment_, suspect)});
}

/// Of the extra time: less is no figure to state.
constexpr double kHardlyAny = 0.01;

void BlameParagraphs::cpu(const SuspectFacts& facts, bool several) {
  const database::Suspect& suspect = *facts.suspect;
  const std::string extra = "the extra " + out_.time(seconds_of(suspect.excess_ns));
  if (reads_or_writes(facts)) {
    out_.say((several ? "In " + linked(suspect) + ", " : std::string()) +
                 keep(round_percent(*facts.excess_io_share)) + " of " + extra +
                 (several ? " is" : " there is") + " input and output.",
             2);
  }
  if (!lacks_cpu(facts)) return;
  const double on_processor = *facts.excess_cpu_share;
  const std::string how_much =
      on_processor < kHardlyAny ? "hardly any" : "only " + keep(round_percent(on_processor));
  const std::string where = several ? "In " + linked(suspect) + ", " : "";
  out_.say((several ? where + how_much : capitalized(how_much)) + " of " + extra + " was on a processor" +
               usual_cpu_phrase(facts) +
               ": there the code was preempted, slept or did I/O, and changing its work would not help.",
           2);
}

}  // namespace culprit::viewer
