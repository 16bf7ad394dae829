// Which gaps vary and what waiting that explains, in words (docs/algorithms.md 5.8).
#include "findings/phrases.hpp"

#include "findings/input_output.hpp"
#include "text/frame_json.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/frame.hpp"
#include "views/rank_list.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace culprit::viewer {

namespace {

using database::ContextId;
using database::ContextKind;
using database::kNone;

constexpr std::size_t kThreadsNamed = 4, kRankParts = 6, kFirstParts = 3;

/// Of these threads, ascending, each once; those without a rank are -1.
std::vector<std::int32_t> ranks_of(const database::Contents& experiment,
                                   std::span<const std::uint32_t> locations) {
  std::vector<std::int32_t> ranks;
  ranks.reserve(locations.size());
  for (const std::uint32_t location : locations) ranks.push_back(experiment.locations[location].rank);
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

std::string ranks_phrase(std::span<const std::int32_t> ranks) {
  const std::vector<std::string> parts = views::parts_of_ranks(ranks);
  std::string list;
  for (const std::string& part : std::span(parts).first(std::min(parts.size(), kRankParts)))
    list += (list.empty() ? "" : ", ") + part;
  if (parts.size() <= kRankParts) return (ranks.size() == 1 ? "rank " : "ranks ") + list;
  list.clear();
  for (const std::string& part : std::span(parts).first(kFirstParts)) list += part + ", ";
  return counted(ranks.size(), "rank") + " (" + list + "...)";
}

namespace {

std::string procedure_phrase(const database::Contents& experiment, ContextId context, std::size_t width,
                             bool unicode) {
  const views::Frame frame = views::frame_of(experiment, experiment.contexts[context]);
  const std::string name = procedure_name(experiment, context, width, unicode);
  if (const std::string where = place(frame); !where.empty()) return name + " at " + where;
  const std::string_view module = views::base_name(frame.module);
  return module.empty() || views::is_named_for_module(frame) ? name : name + " in " + std::string(module);
}

bool same_process(const database::LocationEntry& a, const database::LocationEntry& b) {
  return a.rank == b.rank && a.pid == b.pid && a.host == b.host;
}

bool is_one_process(const database::Contents& experiment) {
  const auto last = static_cast<std::uint32_t>(experiment.locations.size() - 1);
  return same_process(experiment.locations[0], experiment.locations[last]);
}

/// Several threads of one process, as `threads 2-5 of rank 1`; without the process where the run has no
/// other.
std::string threads_of_process_phrase(const database::Contents& experiment,
                                      std::span<const std::uint32_t> locations) {
  const database::LocationEntry first = experiment.locations[locations.front()];
  std::vector<std::int32_t> threads;
  for (const std::uint32_t location : locations)
    threads.push_back(static_cast<std::int32_t>(experiment.locations[location].thread));
  std::ranges::sort(threads);
  const std::vector<std::string> parts = views::parts_of_ranks(threads);
  std::string list;
  for (const std::string& part : std::span(parts).first(std::min(parts.size(), kRankParts)))
    list += (list.empty() ? "" : ", ") + part;
  std::string text = parts.size() <= kRankParts ? "threads " + list : counted(threads.size(), "thread");
  if (is_one_process(experiment)) return text;
  return text + " of " +
         (first.rank < 0 ? std::string(first.host) + ':' + std::to_string(first.pid)
                         : "rank " + std::to_string(first.rank));
}

/// `threads 0, 1 of ranks 0, 1`; empty unless these are the same several threads of each of several ranks.
std::string same_threads_phrase(const database::Contents& experiment,
                                std::span<const std::uint32_t> locations) {
  std::map<std::int32_t, std::vector<std::int32_t>> threads_of;
  for (const std::uint32_t location : locations) {
    const database::LocationEntry self = experiment.locations[location];
    threads_of[self.rank].push_back(static_cast<std::int32_t>(self.thread));
  }
  const std::vector<std::int32_t>& threads = threads_of.begin()->second;
  const bool same = std::ranges::all_of(threads_of, [&](const auto& of) { return of.second == threads; });
  if (!same || threads.size() == 1 || threads_of.size() == 1 || threads_of.begin()->first < 0) return {};
  std::string list;
  for (const std::string& part : views::parts_of_ranks(threads)) list += (list.empty() ? "" : ", ") + part;
  return "threads " + list + " of " + ranks_phrase(ranks_of(experiment, locations));
}

/// What a call site calls, where that is one function of a run-time library, past an interpreter's insides;
/// kNone: it is not.
ContextId library_callee(const database::Contents& experiment, ContextId site) {
  const ContextId end = experiment.contexts[site].end;
  for (ContextId at = site + 1; at < end && experiment.contexts[at].end == end; ++at) {
    const database::Context& self = experiment.contexts[at];
    if (self.kind != ContextKind::procedure) continue;
    if (passes_calls_on(views::frame_of(experiment, self))) continue;
    const bool of_library = (self.flags & (database::kRunTime | database::kInWait)) == database::kRunTime;
    return of_library ? at : kNone;
  }
  return kNone;
}

/// A call site is named by what it calls; several calls on one line by the procedure that has it: `step
/// (a.c:5)`; where lines are unknown, all calls of a scope are one site.
std::string call_phrase(const database::Contents& experiment, ContextId context, bool article,
                        const std::string& where, const std::string& around) {
  const std::string in = around.empty() ? "" : " in " + around;
  if (const ContextId callee = library_callee(experiment, context); callee != kNone && !where.empty())
    return without_parameters(label(views::frame_of(experiment, experiment.contexts[callee]))) + " at " +
           where + in;
  const bool leaf = experiment.contexts[context].end == context + 1;
  const bool one_callee = !leaf && experiment.contexts[context + 1].end == experiment.contexts[context].end;
  if (!where.empty() && !around.empty() && !leaf && !one_callee) return around + " (" + where + ')';
  if (!where.empty()) return (article ? "the call at " : "call at ") + where + in;
  if (!one_callee) return "calls" + in;
  const std::string callee =
      without_parameters(label(views::frame_of(experiment, experiment.contexts[context + 1])));
  return (article ? "the call of " : "call of ") + callee + in;
}

/// Of a stripped module: an address stands for its name. Also where there is no procedure.
bool is_nameless(const database::Contents& experiment, ContextId procedure) {
  return procedure == kNone ||
         views::is_named_for_module(views::frame_of(experiment, experiment.contexts[procedure]));
}

/// Where `context` is, beside a name: `pause_for at a.c:11`.
std::string inside_phrase(const database::Contents& experiment, ContextId context, std::size_t width,
                          bool unicode) {
  const ContextId procedure = enclosing_procedure(experiment, context);
  std::string phrase = procedure == kNone ? "" : procedure_name(experiment, procedure, width, unicode);
  const std::string where = place(views::frame_of(experiment, experiment.contexts[context]));
  if (!where.empty()) phrase.append(phrase.empty() ? "" : " at ").append(where);
  return phrase;
}

}  // namespace

ContextId enclosing_procedure(const database::Contents& experiment, ContextId context) {
  for (ContextId at = context; at != kNone; at = experiment.contexts[at].parent) {
    const ContextKind kind = experiment.contexts[at].kind;
    if (kind == ContextKind::procedure || kind == ContextKind::inlined) return at;
  }
  return kNone;
}

std::string procedure_name(const database::Contents& experiment, ContextId context, std::size_t width,
                           bool unicode) {
  return shorten_name(name_in_prose(label(views::frame_of(experiment, experiment.contexts[context]))), width,
                      unicode);
}

std::string work_phrase(const database::Contents& experiment, const Work& work, std::size_t width,
                        bool unicode) {
  const auto name_of_scope = [&](database::FlatId at) {
    return shorten_name(without_parameters(label(views::frame_of(experiment, experiment.flat[at]))), width,
                        unicode);
  };
  database::FlatId around = work.scope;
  while (experiment.flat[around].kind != ContextKind::procedure && experiment.flat[around].parent != kNone)
    around = experiment.flat[around].parent;
  if (around != work.scope) return name_of_scope(work.scope) + " in " + name_of_scope(around);
  if (work.caller != kNone)
    return name_of_scope(work.scope) + ", called from " +
           procedure_name(experiment, work.caller, width, unicode);
  const std::string where = place(views::frame_of(experiment, experiment.flat[work.scope]));
  return name_of_scope(work.scope) + (where.empty() ? "" : " at " + where);
}

namespace {

/// Where a procedure is called.
struct CallSite {
  std::string around, where;  ///< `solve`, `a.c:12`; empty where it is not known
  friend bool operator==(const CallSite&, const CallSite&) = default;
};

CallSite site_of(const database::Contents& experiment, ContextId procedure, std::size_t width, bool unicode) {
  const ContextId site = experiment.contexts[procedure].parent;
  const ContextId around = enclosing_procedure(experiment, site);
  return {around == database::kNone ? std::string() : procedure_name(experiment, around, width, unicode),
          views::place(views::frame_of(experiment, experiment.contexts[site]))};
}

/// `solve (a.c:12)`.
std::string site_phrase(const CallSite& site) {
  if (site.where.empty()) return site.around;
  return site.around + (site.around.empty() ? "(" : " (") + site.where + ')';
}

/// An MPI call whose source is not known, which the library's name would not tell from others:
/// `MPI_Barrier in solve (a.c:12)`.
bool is_known_by_its_site(const views::Frame& frame) {
  return frame.kind == ContextKind::procedure && frame.name.starts_with("MPI_") && place(frame).empty();
}

std::string call_with_site(const database::Contents& experiment, ContextId call, std::size_t width,
                           bool unicode) {
  const std::string site = site_phrase(site_of(experiment, call, width, unicode));
  return procedure_name(experiment, call, width, unicode) + (site.empty() ? "" : " in " + site);
}

}  // namespace

std::string scope_phrase(const database::Contents& experiment, ContextId context, bool article,
                         std::size_t width, bool unicode) {
  const views::Frame frame = views::frame_of(experiment, experiment.contexts[context]);
  const std::string where = place(frame);
  const ContextId around = enclosing_procedure(experiment, experiment.contexts[context].parent);
  const std::string procedure = around == kNone ? "" : procedure_name(experiment, around, width, unicode);
  const std::string in = around == kNone ? "" : " in " + procedure;
  switch (frame.kind) {
    case ContextKind::root:
      return context == 0 ? "the whole run" : "the whole program";
    case ContextKind::thread_root:
      return "the threads as a whole";
    case ContextKind::partial:
      return "incompletely unwound code";
    case ContextKind::loop:
      if (where.empty() && frame.name.empty()) return "a loop" + in;
      return (article ? "the " : "") + label(frame) + in;
    case ContextKind::region:
      return procedure_name(experiment, context, width, unicode);
    case ContextKind::call:
      return call_phrase(experiment, context, article, where, procedure);
    case ContextKind::statement:
      if (!where.empty() || around == kNone) return label(frame) + in;
      return procedure_phrase(experiment, around, width, unicode);
    default:
      return is_known_by_its_site(frame) ? call_with_site(experiment, context, width, unicode)
                                         : procedure_phrase(experiment, context, width, unicode);
  }
}

std::string suspect_phrase(const database::Contents& experiment, ContextId named, ContextId inside,
                           std::size_t width, bool unicode) {
  std::string phrase;
  if (named == inside) {
    phrase = scope_phrase(experiment, named, false, width, unicode);
  } else {
    const std::string where = inside_phrase(experiment, inside, width, unicode);
    phrase =
        is_nameless(experiment, named) && !is_nameless(experiment, enclosing_procedure(experiment, inside))
            ? where
            : procedure_name(experiment, named, width, unicode) + " (in " + where + ')';
  }
  // The program's own caller of library code is what the user can change.
  const std::string& program = experiment.run.program;
  const auto own = [&](ContextId at) {
    const database::Context& self = experiment.contexts[at];
    const std::string_view module = experiment.strings[self.module];
    const bool interpreter = (self.flags & database::kRunTime) != 0;  // the program may be python3
    return module == database::kPythonModule || (module == program && !interpreter);
  };
  if (program.empty() || own(named)) return phrase;
  for (ContextId at = named; at != kNone; at = experiment.contexts[at].parent) {
    if (experiment.contexts[at].kind == ContextKind::procedure && own(at)) {
      const std::string name = procedure_name(experiment, at, width, unicode);
      // What a Python function has others do, such as numpy's C functions, is its own doing.
      if (experiment.strings[experiment.contexts[at].module] == database::kPythonModule)
        return name + " (in " + procedure_name(experiment, named, width, unicode) + ')';
      // A stripped program's names (`app@0x1240`) say nothing.
      if (name != "main" && !name.starts_with(views::base_name(program)))
        phrase.append(", under ").append(name);
      return phrase;
    }
  }
  return phrase;
}

std::string more_work_phrase(const SuspectFacts& facts) {
  if (facts.moves_data) return "moves data for longer on";
  if (facts.in_mpi) return "spends more time in MPI calls on";
  constexpr double kAsleep = 0.1;  // it sleeps, reads or writes rather than works
  const bool asleep = facts.excess_cpu_share.value_or(1) < kAsleep;
  if (facts.only_this_place) return "takes longer on";
  if (facts.only_here) return asleep ? "takes time only on" : "works only on";
  const std::optional<double>& more_work = facts.more_work;
  if (!more_work) return "more work on";
  if (asleep) return "takes longer on";
  constexpr double kNotable = 0.005;  // with processors lacking, work is CPU time
  if (*more_work < kNotable) return "takes longer on";
  constexpr double kTwice = 1;
  constexpr double kAlmostOnly = 99;  // the others' work is a sample or two: no figure to state
  if (*more_work >= kAlmostOnly) return "works almost only on";
  if (*more_work >= kTwice) return grouped(*more_work + 1, 1) + " times the others' work on";
  return round_percent(*more_work) + " more work on";
}

bool are_ranks(const database::Contents& experiment, std::span<const std::uint32_t> locations) {
  return std::ranges::all_of(locations, [&](std::uint32_t location) {
    const database::LocationEntry self = experiment.locations[location];
    return self.thread == 0 && self.rank >= 0;
  });
}

std::string threads_phrase(const database::Contents& experiment, std::span<const std::uint32_t> locations) {
  if (locations.empty()) return "many threads, a little on each";
  if (are_ranks(experiment, locations)) return ranks_phrase(ranks_of(experiment, locations));
  const std::size_t number = locations.size();
  const bool one_process = std::ranges::all_of(locations, [&](std::uint32_t location) {
    return same_process(experiment.locations[location], experiment.locations[locations.front()]);
  });
  if (one_process && number > 1) return threads_of_process_phrase(experiment, locations);
  if (const auto ranks = ranks_of(experiment, locations); number > kThreadsNamed && ranks.front() >= 0)
    return counted(number, "thread") + " of " + ranks_phrase(ranks);
  if (std::string same = same_threads_phrase(experiment, locations); !same.empty()) return same;
  std::string text;
  for (const std::uint32_t location : locations.first(std::min(number, kThreadsNamed)))
    text += (text.empty() ? "" : ", ") + thread_phrase(experiment, location);
  if (number > kThreadsNamed) text += " and " + std::to_string(number - kThreadsNamed) + " more";
  return text;
}

std::string thread_phrase(const database::Contents& experiment, std::uint32_t location) {
  const database::LocationEntry self = experiment.locations[location];
  if (self.rank < 0 && experiment.locations.size() > 1 && is_one_process(experiment))
    return "thread " + std::to_string(self.thread);
  return location_label(experiment, location);
}

std::string role_phrase(const database::Contents& experiment, std::uint32_t role) {
  const std::string& name = experiment.roles[role].name;
  return name == "main" ? "main threads" : name + " threads";
}

std::string role_suffix(const database::Contents& experiment, std::uint32_t role) {
  return experiment.roles.size() > 1 ? " (" + role_phrase(experiment, role) + ')' : std::string{};
}

std::string surer_with(const database::Contents& experiment, const SuspectFacts& facts) {
  switch (facts.suspect->doubt) {
    case database::Doubt::sampling:
      return "a longer run";
    case database::Doubt::rivals:
    case database::Doubt::varying:
      return experiment.trace().traced > 0 ? "causes" : "--trace";
    case database::Doubt::pools:
    case database::Doubt::none:
      break;
  }
  return facts.longer_for_all ? "-e PAPI_TOT_INS" : "";
}

std::string other_pool_phrase(const database::Contents& experiment, const database::Suspect& suspect) {
  return "Besides " + threads_phrase(experiment, suspect.locations) +
         ", threads with the same start function hardly work. If they serve other work, nothing is uneven; "
         "if "
         "not, this work could be divided among them, too. No saving can be stated.";
}

std::string perhaps_lacking_phrase(const std::string& amount) {
  return "For " + amount +
         " of it, ranks had no processor; whether they waited for late ranks then, only hpcrun-lite --trace "
         "shows.";
}

std::string confidence_name(database::Confidence confidence) {
  switch (confidence) {
    case database::Confidence::hint:
      return "hint";
    case database::Confidence::likely:
      return "likely";
    case database::Confidence::sure:
      break;
  }
  return "sure";
}

std::string confidence_phrase(const database::Contents& experiment, const SuspectFacts& facts) {
  std::string text;
  switch (confidence_of(facts)) {
    case database::Confidence::sure:
      return text;
    case database::Confidence::likely:
      text = "likely";
      break;
    case database::Confidence::hint:
      text = "a hint";
      break;
  }
  const std::string with = surer_with(experiment, facts);
  if (with.empty()) return text;
  return text + (with == "causes" ? ", see causes" : ", surer with " + keep(with));
}

std::string usual_cpu_phrase(const SuspectFacts& facts) {
  return facts.usual_cpu_share ? " (" + keep(round_percent(*facts.usual_cpu_share)) + " is typical here)"
                               : "";
}

std::string mending_phrase(const database::Contents& experiment, const SuspectFacts& facts, bool unicode) {
  const auto time = [&](std::uint64_t ns) { return keep(duration(seconds_of(ns), unicode)); };
  std::string text =
      facts.suspect->doubt == database::Doubt::pools ? other_pool_phrase(experiment, *facts.suspect)
      : !may_save(experiment, facts)
          ? "Balanced, the run need not be shorter."
          : "Balanced, the run is " + time(facts.suspect->save_balanced_ns) +
                " shorter; without the extra time, up to " + time(facts.suspect->save_removed_ns) + '.';
  if (reads_or_writes(facts))
    text += ' ' + keep(round_percent(*facts.excess_io_share)) + " of the extra time is input and output.";
  if (!facts.excess_cpu_share) return text;
  constexpr double kHardlyAny = 0.01;  // less is no figure to state
  const double on_processor = *facts.excess_cpu_share;
  return text + ' ' + (on_processor < kHardlyAny ? "Hardly any" : keep(round_percent(on_processor))) +
         " of the extra time was on a processor" + usual_cpu_phrase(facts) + '.';
}

namespace {

using database::ContextId;

/// `MPI_Barrier in solve (a.c:12)`; where the `other` call reads the same, with the innermost caller that
/// differs: `MPI_Barrier in solve (a.c:12) called from main (a.c:20)`.
std::string call_phrase(const database::Contents& experiment, ContextId call, ContextId other,
                        std::size_t width, bool unicode) {
  const auto site = [&](ContextId procedure) { return site_of(experiment, procedure, width, unicode); };
  std::string phrase = call_with_site(experiment, call, width, unicode);
  if (other == call || other == database::kNone || site(call) != site(other)) return phrase;
  const auto caller = [&](ContextId at) {
    return enclosing_procedure(experiment, experiment.contexts[at].parent);
  };
  for (ContextId a = caller(call), b = caller(other); a != b && a != database::kNone && b != database::kNone;
       a = caller(a), b = caller(b)) {
    if (site(a) != site(b)) return phrase + " called from " + site_phrase(site(a));
  }
  return phrase;
}

/// `from MPI_Bcast in main (a.c:5) to MPI_Allreduce in solve (a.c:12)`; of calls of one function in one
/// procedure `between calls of MPI_Allreduce in solve, from a.c:12 to a.c:15,`, or, where they read the same,
/// `between calls of MPI_Allreduce in solve (a.c:12)`.
std::string gap_phrase(const database::Contents& experiment, const database::VaryingGap& gap,
                       std::size_t width, bool unicode) {
  const std::string to = call_phrase(experiment, gap.context, gap.after, width, unicode);
  if (gap.after == database::kNone) return "from the start to " + to;
  const std::string from = call_phrase(experiment, gap.after, gap.context, width, unicode);
  if (from == to) return "between calls of " + to;
  const std::string name = procedure_name(experiment, gap.context, width, unicode);
  const CallSite begin = site_of(experiment, gap.after, width, unicode);
  const CallSite end = site_of(experiment, gap.context, width, unicode);
  const bool alike = name == procedure_name(experiment, gap.after, width, unicode) &&
                     begin.around == end.around && !end.around.empty();
  if (alike && begin.where != end.where && !begin.where.empty() && !end.where.empty())
    return "between calls of " + name + " in " + end.around + ", from " + begin.where + " to " + end.where +
           ',';
  return "from " + from + " to " + to;
}

}  // namespace

std::vector<std::string> varying_gap_phrases(const database::Contents& experiment, double most_s,
                                             std::size_t width, bool unicode) {
  constexpr double kWorthSaying = 0.05;  // of what a gap explains
  std::vector<std::string> phrases;
  if (experiment.trace().traced > 0) return phrases;
  const auto time = [=](std::uint64_t ns) { return keep(duration(seconds_of(ns), unicode)); };
  for (const database::VaryingGap& gap : experiment.varying_gaps()) {
    const double explained_s = std::min(seconds_of(gap.unexplained_ns), most_s);
    if (explained_s <= kWorthSaying * seconds_of(gap.unexplained_ns)) break;
    most_s -= explained_s;
    std::string& phrase = phrases.emplace_back("The time ");
    phrase.append(gap_phrase(experiment, gap, width, unicode));
    phrase.append(" varies from one iteration to the next: ").append(time(gap.mean_ns));
    phrase.append(" on average, with a standard deviation of ").append(time(gap.deviation_ns));
    phrase.append(". That explains up to ").append(keep(duration(explained_s, unicode)));
    if (explained_s <= seconds_of(gap.idle_ns)) {
      phrase.append(" of the ").append(time(gap.idle_ns)).append(" of waiting in that call");
    } else {
      phrase.append(" of waiting, in that call and in others after it");
    }
    phrase.append(": hpcrun-lite --trace shows who made whom wait.");
  }
  return phrases;
}

std::string parts_phrase(const database::Contents& experiment, std::span<const SuspectPart> parts,
                         std::size_t width, bool unicode) {
  std::vector<std::string> texts;
  texts.reserve(parts.size());
  for (const SuspectPart& part : parts)
    texts.push_back(procedure_name(experiment, part.context, width, unicode) +
                    (texts.empty() ? " takes " : " ") + keep(duration(part.excess_s, unicode)));
  return enumerate(texts);
}

}  // namespace culprit::viewer
