#include "commands/report.hpp"
#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "findings/suspect_names.hpp"
#include "findings/thread_causes.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace culprit::viewer {
namespace {

using database::ContextId;

constexpr std::size_t kParagraphIndent = 4;
constexpr std::size_t kAmount = 8, kShare = 5;  // columns
constexpr std::size_t kPlacesListed = 50;       // nobody reads on, and who waits costs a look at each thread

std::string paragraph(const std::string& text, const Screen& screen) {
  return std::string(kParagraphIndent, ' ') + wrap(text, screen.width, kParagraphIndent, kParagraphIndent);
}

/// Code that makes other threads of its process wait: it is blamed beside what is above, not within it.
void write_thread_causes(std::ostream& out, const Screen& screen, const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const ThreadCauses causes = find_thread_causes(figures);
  const auto write = [&](const char* title, double whole_s, const std::vector<ThreadCause>& list) {
    if (list.empty()) return;
    out << '\n' << wrap(title + keep(duration(whole_s, screen.unicode)) + ':', screen.width) << '\n';
    for (const ThreadCause& cause : std::span(list).first(std::min(list.size(), kPlacesListed))) {
      out << align_right(duration(cause.caused_s, screen.unicode), kAmount) << ' '
          << align_right(round_percent(std::min(1.0, cause.caused_s / whole_s)), kShare) << "  "
          << screen.bold(scope_phrase(experiment, cause.context, false, screen.width / 2, screen.unicode))
          << "  " << screen.dim("[c" + std::to_string(cause.context) + ']')
          << role_suffix(experiment, cause.role) << '\n'
          << screen.dim(paragraph(path_text(experiment, cause.context, screen), screen)) << '\n';
    }
  };
  write("Threads idle because others of their process work in this code (idleness-caused), ", causes.idle_s,
        causes.idleness);
  write("Threads wait for locks that this code holds (lock-wait-caused), ", causes.lock_waited_s,
        causes.locks);
}

/// What the text leaves out.
void write_further_places(std::ostream& out, const Screen& screen, std::span<const Blamed> further) {
  if (further.empty()) return;
  double rest = 0;
  for (const Blamed& each : further) rest += each.idle_s;
  out << wrap("and " + keep(counted(further.size(), "further place")) + " with " +
                  keep(duration(rest, screen.unicode)) + " (--format csv or json lists all)",
              screen.width, 2)
      << '\n';
}

}  // namespace

double idleness_of(const views::Figures& figures, bool without_startup) {
  const database::Contents& experiment = figures.experiment();
  std::vector<ContextId> left_out;
  if (without_startup) left_out = views::mpi_start_up(experiment);
  try {
    return views::total_without(figures, views::find_column(experiment, "idleness"), left_out);
  } catch (const views::UnknownMetric&) {
    return 0;
  }
}

void write_blame(std::ostream& out, const Screen& screen, const views::Figures& figures,
                 bool without_startup) {
  const database::Contents& experiment = figures.experiment();
  const std::vector<Blamed> blamed = find_blamed(figures, without_startup);
  const double idle = idleness_of(figures, without_startup);
  if (blamed.empty()) {
    out << "No waiting, hence no blame.\n";
    write_thread_causes(out, screen, figures);
    return;
  }
  const Scale scale = scale_for(blamed.front().idle_s, "s", screen.unicode);
  const std::size_t width = columns(scale.write(blamed.front().idle_s));
  const Waiters waiting(figures);
  const std::size_t listed = std::min(blamed.size(), kPlacesListed);
  for (const Blamed& each : std::span(blamed).first(listed)) {
    const std::string amount = scale.write(each.idle_s);
    const std::string share = grouped(100 * each.share(idle), 1);
    out << align_right(amount, width) << ' ' << scale.unit
        << std::string(share.size() < 7 ? 7 - share.size() : 1, ' ') << share << " %  "
        << screen.bold(scope_phrase(experiment, each.context, false, screen.width / 2, screen.unicode))
        << "  " << screen.dim("[c" + std::to_string(each.context) + ']') << '\n';
    const std::vector<std::uint32_t> waited = waiting.of(each);
    std::string waiters = "waited: ";
    waiters += waited.empty() ? "nobody in particular" : threads_phrase(experiment, waited);
    out << paragraph(waiters + role_suffix(experiment, each.role), screen) << '\n'
        << screen.dim(paragraph(path_text(experiment, each.context, screen), screen)) << '\n';
  }
  write_further_places(out, screen, std::span(blamed).subspan(listed));
  if (without_startup) out << '\n' << screen.dim(wrap(kBlameSharesWithoutStartUp, screen.width)) << '\n';
  write_thread_causes(out, screen, figures);
}

Table blame_table(const views::Figures& figures, const std::vector<Blamed>& blamed, double idle_s) {
  using enum Table::In;
  Table table{
      {{"id"}, {"path"}, {"idleness_s"}, {"share"}, {"role"}, {"waiter_ranks", csv}, {"waiters", json}}, {}};
  const Waiters waiting(figures);
  for (const Blamed& each : blamed) {
    const std::vector<std::uint32_t> waiters = waiting.of(each);
    table.rows.push_back({'c' + std::to_string(each.context), Table::Path{each.context}, each.idle_s,
                          each.share(idle_s), figures.experiment().roles[each.role].name,
                          Table::Ranks{waiters}, waiters});
  }
  return table;
}

void write_suspects(std::ostream& out, const Screen& screen, const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  if (experiment.suspects().empty()) {
    out << wrap(no_suspects_phrase(experiment), screen.width) << '\n';
    write_thread_causes(out, screen, figures);
    return;
  }
  const std::vector<std::string> names = suspect_names(experiment, screen.width / 2, screen.unicode);
  const bool limited = lacks_processors(experiment);
  std::size_t number = 0;
  for (const database::Suspect& suspect : experiment.suspects()) {
    if (number == kPlacesListed) {
      out << wrap("and " + keep(counted(experiment.suspects().size() - number, "further suspect")) +
                      ", which explain less (--format csv or json lists all)",
                  screen.width, 2)
          << '\n';
      break;
    }
    const SuspectFacts facts = examine(figures, suspect);
    const auto time = [&](std::uint64_t ns) { return keep(duration(seconds_of(ns), screen.unicode)); };
    const std::string name = name_of(experiment, names, suspect), id = 'c' + std::to_string(suspect.suspect);
    const std::string start = std::to_string(++number) + ". ";
    out << start << screen.bold(wrap(name, screen.width, kParagraphIndent, start.size()))
        << (name.ends_with('[' + id + ']') ? "" : "  " + screen.dim('[' + id + ']')) << '\n';
    std::string text = keep(more_work_phrase(facts)) + ' ';
    text += threads_phrase(experiment, suspect.locations) + role_suffix(experiment, suspect.role) + ": " +
            time(suspect.excess_ns) + " above the mean, explains " + (limited ? "at most " : "") +
            time(suspect.explains_ns) + " of the waiting inside " +
            scope_phrase(experiment, suspect.balanced, true, screen.width / 2, screen.unicode) + '.';
    text += ' ' + mending_phrase(facts, screen.unicode);
    if (const std::string doubt = confidence_phrase(experiment, facts); !doubt.empty())
      text += " This is " + doubt + '.';
    out << paragraph(text, screen) << '\n'
        << screen.dim(paragraph(path_text(experiment, suspect.suspect, screen), screen)) << '\n';
  }
  write_thread_causes(out, screen, figures);
}

Table suspects_table(const views::Figures& figures) {
  using enum Table::In;
  const database::Contents& experiment = figures.experiment();
  Table table{{{"balanced"},
               {"suspect"},
               {"balanced_id", json},
               {"suspect_id", json},
               {"named_id", json},
               {"name"},
               {"role"},
               {"ranks"},
               {"locations", json},
               {"excess_s"},
               {"explains_s"},
               {"save_balanced_s"},
               {"save_removed_s"},
               {"confidence"},
               {"surer_with"},
               {"more_work"},
               {"usual_cpu_share", json},
               {"excess_cpu_share"},
               {"excess_io_share"}},
              {}};
  const std::vector<std::string> names = suspect_names(experiment, kWholeName, true);
  for (const database::Suspect& suspect : experiment.suspects()) {
    const SuspectFacts facts = examine(figures, suspect);
    table.rows.push_back({Table::Path{suspect.balanced}, Table::Path{suspect.suspect},
                          'c' + std::to_string(suspect.balanced), 'c' + std::to_string(suspect.suspect),
                          'c' + std::to_string(suspect.named), name_of(experiment, names, suspect),
                          experiment.roles[suspect.role].name, Table::Ranks{suspect.locations},
                          suspect.locations, seconds_of(suspect.excess_ns), seconds_of(suspect.explains_ns),
                          seconds_of(suspect.save_balanced_ns), seconds_of(suspect.save_removed_ns),
                          confidence_name(confidence_of(facts)), surer_with(experiment, facts),
                          Table::cell(facts.more_work), Table::cell(facts.usual_cpu_share),
                          Table::cell(facts.excess_cpu_share), Table::cell(facts.excess_io_share)});
  }
  return table;
}

}  // namespace culprit::viewer
