// What the run would be with other work: finds the code that is meant and the measurement directory, whose
// traces hold every call (a database holds sums), has it replayed (lib/merge/what_if.cpp), and writes it.
#include "commands/what_if.hpp"

#include "commands/list.hpp"
#include "findings/coverage.hpp"
#include "findings/ends.hpp"
#include "findings/mpi_calls.hpp"
#include "merge/input/marker.hpp"
#include "metrics/wait_pattern.hpp"
#include "print/text.hpp"
#include "request/errors.hpp"
#include "request/progress_line.hpp"
#include "structure/structure.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/calling_context.hpp"
#include "views/figures.hpp"
#include "views/flat.hpp"
#include "views/node_path.hpp"
#include "views/rank_list.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

namespace fs = std::filesystem;
using database::ContextId;
using ChangeKind = merge::WhatIfChange::Kind;
using ChangedWait = merge::WhatIfAnswer::Wait;

/// Contexts of MPI, whose calls keep their own cost.
bool is_communication(const database::Contents& experiment, ContextId context) {
  return (experiment.contexts[context].flags & (database::kFrontier | database::kInWait)) != 0;
}

/// The code that a path or an id of `view` names: wherever it runs. Of the flat view, its outermost
/// instances.
std::vector<database::ContextRange> find_code(const views::Figures& figures, const std::string& name) {
  const database::Contents& experiment = figures.experiment();
  std::vector<ContextId> contexts;
  if (const auto node = views::CallingContext(figures).find(name)) {
    contexts.push_back(static_cast<ContextId>(*node));
  } else if (const auto scope = views::Flat(figures).find(name)) {
    contexts = views::outermost_instances(experiment, *scope);
  } else {
    try {
      contexts = views::find_contexts(figures, name);
    } catch (const views::NoSuchNode& missing) {
      throw UsageError("what-if: " + name + ": " + missing.what());
    }
  }
  const auto communicates = [&](ContextId context) { return is_communication(experiment, context); };
  if (std::ranges::all_of(contexts, communicates))
    throw CommandError("what-if: " + name +
                       ": is communication, which a replay does not change (name code that computes; "
                       "waits follow from it)");
  std::vector<database::ContextRange> ranges;
  ranges.reserve(contexts.size());
  for (const ContextId context : contexts) ranges.push_back({context, experiment.contexts[context].end});
  return ranges;
}

/// What `--speedup` may divide by: less, and times of long runs would overflow; more is as good as none.
constexpr double kSlowest = 0.001, kFastest = 1e6;

/// `PATH=2`; the path may hold a `=` itself.
std::pair<std::string, double> parse_speedup(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string number = equals == std::string::npos ? "" : text.substr(equals + 1);
  char* end = nullptr;
  const double factor = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !(factor > 0) || equals == 0)
    throw UsageError("--speedup: '" + text + "' (write PATH=FACTOR: 2 halves its time)");
  if (factor < kSlowest || factor > kFastest)
    throw UsageError("--speedup: '" + text +
                     "': the factor is out of range (give one from 0.001 to 1000000, or --remove)");
  return {text.substr(0, equals), factor};
}

/// The directory that the database was merged from: it was named, or lies beside the database.
fs::path measurement_of(const database::Contents& experiment, const std::string& named) {
  std::error_code error;
  if (fs::is_directory(named, error)) return named;
  fs::path beside = named;
  const std::string why = "a database holds sums, and a replay needs each call";
  if (beside.extension() != ".db")
    throw CommandError("what-if: " + named + ": " + why +
                       " (give the measurement directory: viewer-cli DIR what-if)");
  beside.replace_extension();
  if (!fs::is_directory(beside, error))
    throw CommandError("what-if: " + named + ": " + why + ", and there is no measurement " + beside.string() +
                       " (give the directory: viewer-cli DIR what-if; or measure again with --trace)");
  const std::string run = merge::marked_run(beside);
  if (!run.empty() && run != experiment.run.run_id)
    throw CommandError("what-if: " + named + ": belongs to another run than " + beside.string() +
                       " (prof-mpi --force " + print::shell_path(beside.string()) + " merges that one)");
  return beside;
}

bool has_loops(const database::Contents& experiment) {
  for (ContextId x = 0; x < experiment.contexts.size(); ++x) {
    if (experiment.contexts[x].kind == database::ContextKind::loop) return true;
  }
  return false;
}

std::string times(double factor) {
  if (factor == std::floor(factor)) return grouped(factor, 0);
  return grouped(factor, factor < 0.1 ? 4 : 2);
}

/// `smooth took no time`, as a condition.
std::string condition_of(const Invocation& invocation) {
  const bool one = invocation.ranks.find_first_not_of("0123456789") == std::string::npos;
  const std::string ranks = (one ? "rank " : "ranks ") + invocation.ranks;
  const std::string on = invocation.ranks.empty() ? "" : " on " + ranks;
  std::vector<std::string> parts;
  for (const std::string& path : invocation.what_if.removed)
    parts.push_back(fmt::format("{} took no time{}", path, on));
  for (const std::string& text : invocation.what_if.sped_up) {
    const auto [path, factor] = parse_speedup(text);
    parts.push_back(fmt::format("{} were {} as fast{}", path, keep(times(factor) + " times"), on));
  }
  const std::string balanced = invocation.ranks.empty() ? "all ranks" : ranks;
  for (const std::string& path : invocation.what_if.balanced)
    parts.push_back(invocation.what_if.each
                        ? fmt::format("{} were even over {} in each interval", path, balanced)
                        : fmt::format("{} took the same time on {}", path, balanced));
  return enumerate(parts);
}

/// The code of each change, in their order.
std::vector<std::string> names_of(const Invocation& invocation) {
  std::vector<std::string> names = invocation.what_if.removed;
  for (const std::string& text : invocation.what_if.sped_up) names.push_back(parse_speedup(text).first);
  names.insert(names.end(), invocation.what_if.balanced.begin(), invocation.what_if.balanced.end());
  return names;
}

std::string change_text(double before, double after) {
  if (before <= 0) return {};
  const double share = (before - after) / before;
  return keep(percent(std::abs(share))) + (share >= 0 ? " less" : " more");
}

/// What is written of an answer.
class Writer {
 public:
  Writer(std::ostream& out, const Screen& screen, const database::Contents& experiment,
         const Invocation& invocation, const merge::WhatIfAnswer& answer)
      : out_(out), screen_(screen), experiment_(experiment), invocation_(invocation), answer_(answer) {}

  void write() {
    run();
    code();
    waits(true, "Waits that get shorter");
    waits(false, "Waits that get longer");
    incomplete();
    if (answer_.contradictions > 0)
      paragraph(screen_.warning(counted(answer_.contradictions, "wait") +
                                " left out of the replay: calls would have waited for each other for ever."));
  }

  void paragraph(const std::string& text) { out_ << '\n' << wrap(text, screen_.width) << '\n'; }
  [[nodiscard]] std::string time(double ns) const {
    return keep(duration(ns / kNsPerSecond, screen_.unicode));
  }

 private:
  void run() {
    const auto before = static_cast<double>(answer_.run_ns),
               after = static_cast<double>(answer_.predicted_ns);
    out_ << wrap("If " + condition_of(invocation_) + ", the run would take " + screen_.bold(time(after)) +
                     " in place of " + time(before) + ": " +
                     screen_.bold(time(std::abs(before - after)) + ", " + change_text(before, after)) + '.',
                 screen_.width)
         << '\n';
  }

  /// What the traces lack.
  void incomplete() {
    const database::TraceAnalyses& trace = experiment_.trace();
    if (const std::string unmatched = unmatched_requests_phrase(experiment_, "the prediction");
        !unmatched.empty())
      paragraph(screen_.warning(unmatched));
    if (trace.traced < experiment_.run.ranks)
      paragraph(screen_.warning("Only " + keep(counted(trace.traced, "rank")) + " of " +
                                grouped(static_cast<double>(experiment_.run.ranks)) +
                                " have time lines: waits for the others are not replayed."));
    if (trace.stopped > 0)
      paragraph(screen_.warning(keep(counted(trace.stopped, "time line")) +
                                " of them ended before the process did: what came then is not replayed."));
    for (const std::string& text : {last_calls_phrase(experiment_), no_partner_phrase(experiment_)})
      if (!text.empty()) paragraph(screen_.warning(text));
    if (other_threads_call_mpi(experiment_))
      paragraph(
          screen_.warning("Other threads than main ones call MPI, too. How the threads of a process wait for "
                          "each other is not replayed, so the "
                          "run may gain more, or less."));
    if (sampling_was_stopped(experiment_))
      paragraph(screen_.warning(
          "Sampling was stopped for a time, which is replayed as part of the code before or after it."));
  }

  void code() {
    std::string text;
    const std::vector<std::string> names = names_of(invocation_);
    for (std::size_t i = 0; i < answer_.codes.size(); ++i) {
      const merge::WhatIfAnswer::Code& code = answer_.codes[i];
      text += "Computing in " + (i < names.size() ? names[i] : std::string("it"));
      if (code.before_ns <= 0) {
        const std::size_t others = names.size() - invocation_.what_if.balanced.size();
        text += i >= others && other_threads_call_mpi(experiment_)
                    ? ": none by the main threads of these ranks, which are all that --balance compares. "
                    : ": none on these ranks by threads that call MPI, nor while they waited for others. ";
        continue;
      }
      text += ": " + time(code.before_ns) + " on " + keep(counted(code.threads, "time line")) + ", at most " +
              time(code.largest_ns) + " on one; then " + time(std::max(0.0, code.after_ns)) + " in all. ";
      if (code.placed_blindly)
        text +=
            "Ranks that never compute between the same MPI calls take on their part wherever they compute. ";
    }
    const auto before = static_cast<double>(answer_.waiting_ns);
    const auto after = static_cast<double>(answer_.predicted_waiting_ns);
    text += "All ranks' waiting: " + time(before) + ", then " + time(after);
    if (before > 0) text += " (" + change_text(before, after) + ")";
    paragraph(text + '.');
  }

  static std::uint64_t by(const ChangedWait& wait) {
    return std::max(wait.before_ns, wait.after_ns) - std::min(wait.before_ns, wait.after_ns);
  }

  /// Those that get shorter, or longer.
  void waits(bool shorter, const char* title) {
    std::vector<ChangedWait> changed;
    for (const ChangedWait& wait : answer_.waits) {
      if (wait.before_ns != wait.after_ns && (wait.after_ns < wait.before_ns) == shorter)
        changed.push_back(wait);
    }
    const std::size_t shown = rows_to_show(
        changed, static_cast<double>(std::max(answer_.waiting_ns, answer_.predicted_waiting_ns)), by);
    if (shown == 0) return;
    List list{.introduction = screen_.bold(title), .left_out = changed.size() - shown};
    if (list.left_out > 0) list.largest_left_ns = by(changed[shown]);
    for (const ChangedWait& wait : std::span(changed).first(shown)) {
      list.rows.push_back({.ns = by(wait),
                           .name = std::string(metrics::name_of(wait.pattern)),
                           .text = time(static_cast<double>(wait.before_ns)) + ", then " +
                                   time(static_cast<double>(wait.after_ns)),
                           .paths = {{.context = wait.context}}});
    }
    out_ << '\n';
    write_list(out_, screen_, experiment_, list);
  }

  std::ostream& out_;
  const Screen& screen_;
  const database::Contents& experiment_;
  const Invocation& invocation_;
  const merge::WhatIfAnswer& answer_;
};

Table changes_table(const merge::WhatIfAnswer& answer) {
  Table table{{{"pattern"}, {"path"}, {"before_s"}, {"after_s"}}, {}};
  for (const ChangedWait& wait : answer.waits) {
    table.rows.push_back({std::string(metrics::name_of(wait.pattern)), Table::Path{wait.context},
                          seconds_of(wait.before_ns), seconds_of(wait.after_ns)});
  }
  return table;
}

/// Where balancing the sums over the run saves much less than balancing each interval would.
std::string note_on_intervals(const Writer& writer, const merge::WhatIfAnswer& answer,
                              const merge::WhatIfAnswer& each) {
  constexpr double kWorthSaying = 0.02;  // of the run
  const double more = static_cast<double>(answer.predicted_ns) - static_cast<double>(each.predicted_ns);
  if (more < kWorthSaying * static_cast<double>(answer.run_ns)) return {};
  return "Its imbalance changes from one interval to the next: even in each interval between MPI calls, not "
         "only over the run, the run would take " +
         writer.time(static_cast<double>(each.predicted_ns)) + " (--each).";
}

/// Of code that is changed twice only the last change would hold.
void check_apart(const merge::WhatIfQuestion& question, const Invocation& invocation) {
  std::map<ContextId, std::string> changed;
  const std::vector<std::string> names = names_of(invocation);
  for (std::size_t i = 0; i < question.changes.size(); ++i) {
    for (const database::ContextRange& range : question.changes[i].where) {
      const auto [other, added] = changed.emplace(range.first, names[i]);
      if (!added)
        throw UsageError("what-if: " + names[i] + ": is changed twice" +
                         (other->second == names[i] ? "" : ", as " + other->second + " too") +
                         " (give one change for it)");
    }
  }
}

}  // namespace

merge::Options what_if_options(const database::Contents& experiment, const std::string& named) {
  merge::Options options;
  options.measurement = measurement_of(experiment, named);
  options.structure_cache = structure::default_cache();
  options.loops = has_loops(experiment);
  return options;
}

merge::WhatIfQuestion what_if_question(const views::Source& source, const Invocation& invocation) {
  const views::Figures figures(source);
  merge::WhatIfQuestion question;
  for (const std::string& path : invocation.what_if.removed)
    question.changes.push_back({.kind = ChangeKind::remove, .where = find_code(figures, path)});
  for (const std::string& text : invocation.what_if.sped_up) {
    const auto [path, factor] = parse_speedup(text);
    question.changes.push_back(
        {.kind = ChangeKind::speed_up, .factor = factor, .where = find_code(figures, path)});
  }
  for (const std::string& path : invocation.what_if.balanced)
    question.changes.push_back({.kind = invocation.what_if.each ? ChangeKind::even_out : ChangeKind::balance,
                                .where = find_code(figures, path)});
  check_apart(question, invocation);
  constexpr std::size_t kMost = 200;
  if (question.changes.size() > kMost) throw UsageError("what-if: more than 200 changes (give fewer)");
  if (invocation.ranks.empty()) return question;
  try {
    question.ranks = views::parse_rank_list(invocation.ranks);
    views::locations_of_ranks(source.experiment(), question.ranks);
  } catch (const std::exception& refused) {
    throw UsageError("--ranks: " + std::string(refused.what()));
  }
  return question;
}

void write_what_if(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                   const Invocation& invocation, std::span<const merge::WhatIfAnswer> answers) {
  Writer writer(out, screen, experiment, invocation, answers.front());
  writer.write();
  if (answers.size() < 2) return;
  const std::string note = note_on_intervals(writer, answers.front(), answers.back());
  if (!note.empty()) writer.paragraph(note);
}

Json what_if_json(const database::Contents& experiment, const merge::WhatIfAnswer& answer) {
  return {{"run_s", seconds_of(answer.run_ns)},
          {"predicted_s", seconds_of(answer.predicted_ns)},
          {"waiting_s", seconds_of(answer.waiting_ns)},
          {"predicted_waiting_s", seconds_of(answer.predicted_waiting_ns)},
          {"changes", to_json(experiment, changes_table(answer))}};
}

void run_what_if(std::ostream& out, const Screen& screen, const views::Source& source,
                 const Invocation& invocation) {
  const database::Contents& experiment = source.experiment();
  require_trace(experiment, "what-if", invocation.database);
  std::vector<merge::WhatIfQuestion> questions{what_if_question(source, invocation)};
  const bool compares =
      invocation.format == Format::text && !invocation.what_if.balanced.empty() && !invocation.what_if.each;
  if (compares) {
    questions.push_back(questions.front());
    for (merge::WhatIfChange& change : questions.back().changes) {
      if (change.kind == ChangeKind::balance) change.kind = ChangeKind::even_out;
    }
  }
  std::vector<merge::WhatIfAnswer> answers;
  try {
    ProgressLine line("what if", invocation.quiet);
    answers = merge::what_if(
        what_if_options(experiment, invocation.database), experiment, questions,
        [&](const char* phase, std::uint64_t done, std::uint64_t total) { line.update(phase, done, total); });
  } catch (const merge::NotReplayable& why) {
    throw CommandError("what-if: " + invocation.database + ": " + why.what());
  }
  const merge::WhatIfAnswer& answer = answers.front();
  switch (invocation.format) {
    case Format::json:
      out << write(what_if_json(experiment, answer));
      break;
    case Format::csv:
      write_csv(out, experiment, changes_table(answer));
      break;
    case Format::text:
      write_what_if(out, screen, experiment, invocation, answers);
      break;
  }
}

}  // namespace culprit::viewer
