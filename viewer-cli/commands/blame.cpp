#include "commands/report.hpp"
#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "findings/serving_threads.hpp"
#include "findings/suspect_names.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/difference.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace culprit::viewer {
namespace {

using database::ContextId;

constexpr std::size_t kPlacesListed = 50;  // nobody reads on, and who waits costs a look at each thread

std::uint64_t to_ns(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * kNsPerSecond));
}

std::string id_of(ContextId context) {
  return 'c' + std::to_string(context);
}

ListOptions options_of(const Screen& screen) {
  return {
      .unicode = screen.unicode, .most = kPlacesListed, .least_share = 0, .name_columns = screen.width / 2};
}

/// A list, and below it code that makes other threads of its process wait: it is blamed beside what is above,
/// not within it.
void write_with_thread_causes(std::ostream& out, const Screen& screen, const views::Figures& figures,
                              const List& list) {
  const database::Contents& experiment = figures.experiment();
  write_list(out, screen, experiment, list);
  for (const List& causes : thread_cause_lists(experiment, find_thread_causes(figures), options_of(screen))) {
    out << '\n';
    write_list(out, screen, experiment, causes);
  }
}

/// Of a cause: what no code below has a good part of.
bool is_root(const database::Contents& experiment, ContextId context) {
  const database::ContextKind kind = experiment.contexts[context].kind;
  return kind == database::ContextKind::root || kind == database::ContextKind::thread_root;
}

}  // namespace

std::vector<List> thread_cause_lists(const database::Contents& experiment, const ThreadCauses& causes,
                                     const ListOptions& options) {
  std::vector<List> lists;
  const auto time = [&](double seconds) { return keep(duration(seconds, options.unicode)); };
  const std::string served = causes.served_s < kWorthReporting * causes.idle_s
                                 ? ""
                                 : " (" + time(causes.served_s) + " of it only waiting to be needed)";
  const auto add = [&](List list, double whole_s, const std::vector<ThreadCause>& found) {
    if (found.empty()) return;
    list.introduction += ':';
    list.whole_ns = to_ns(whole_s);
    const auto caused_ns = [](const ThreadCause& cause) { return to_ns(cause.caused_s); };
    add_rows(list, found, options, caused_ns, [&](const ThreadCause& cause) {
      return ListRow{
          .ns = caused_ns(cause),
          .counted_ns = std::min(caused_ns(cause), list.whole_ns),
          .name = (is_root(experiment, cause.context) ? "other code"
                                                      : scope_phrase(experiment, cause.context, false,
                                                                     options.name_columns, options.unicode)) +
                  role_suffix(experiment, cause.role),
          .id = id_of(cause.context),
          .paths = {{.context = cause.context}}};
    });
    lists.push_back(std::move(list));
  };
  add({.title = "THREADS IDLE WHILE OTHERS ARE IN",
       .amount = "caused",
       .introduction = "Threads idle because others of their process work in this code (idleness-caused), " +
                       time(causes.idle_s) + served},
      causes.idle_s, causes.idleness);
  add({.title = "THREADS WAIT FOR LOCKS HELD IN",
       .amount = "caused",
       .introduction =
           "Threads wait for locks that this code holds (lock-wait-caused), " + time(causes.lock_waited_s)},
      causes.lock_waited_s, causes.locks);
  return lists;
}

double idleness_of(const views::Figures& figures, bool without_startup) {
  const database::Contents& experiment = figures.experiment();
  std::vector<ContextId> left_out;
  if (without_startup) left_out = views::mpi_start_up(experiment);
  const std::optional<std::uint32_t> idleness = views::metric_named(experiment, "idleness");
  if (!idleness) return 0;
  double sum = 0;
  const std::vector<bool> serving = serving_roles(figures);
  for (std::uint32_t role = 0; role < serving.size(); ++role) {
    if (serving[role]) continue;
    const auto idle_s = [&](ContextId context) {
      return static_cast<double>(figures.context(role, *idleness, context, true).sum) / kNsPerSecond;
    };
    sum += idle_s(0);
    for (const ContextId context : left_out) sum -= idle_s(context);
  }
  return std::max(sum, 0.0);
}

List blame_list(const views::Figures& figures, const std::vector<Blamed>& blamed, double idle_s,
                bool without_startup, const ListOptions& options) {
  const database::Contents& experiment = figures.experiment();
  List list{.command = "blame",
            .title = "BALANCED CODE",
            .amount = "waiting in it",
            .introduction = blamed.empty() ? "No waiting, hence no blame." : "",
            .whole_ns = to_ns(idle_s),
            .apart = true};
  const Waiters waiting(figures);
  const auto idle_ns = [](const Blamed& each) { return to_ns(each.idle_s); };
  std::vector<Blamed> listed = blamed;
  std::stable_partition(listed.begin(), listed.end(), [](const Blamed& each) { return !each.serves; });
  add_rows(list, listed, options, idle_ns, [&](const Blamed& each) {
    const std::vector<std::uint32_t> waited = waiting.of(each);
    const std::string who = waited.empty() ? "nobody in particular" : threads_phrase(experiment, waited);
    return ListRow{
        .ns = idle_ns(each),
        .counted_ns = to_ns(each.counted_s),
        .name = scope_phrase(experiment, each.context, false, options.name_columns, options.unicode),
        .id = id_of(each.context),
        .text = (each.serves ? "waited to be needed (in no share): " : "waited: ") + who +
                role_suffix(experiment, each.role),
        .paths = {{.context = each.context, .locations = waited}}};
  });
  if (without_startup && !blamed.empty()) list.notes.emplace_back(kBlameSharesWithoutStartUp);
  return list;
}

void write_blame(std::ostream& out, const Screen& screen, const views::Figures& figures,
                 bool without_startup) {
  write_with_thread_causes(
      out, screen, figures,
      blame_list(figures, find_blamed(figures, without_startup), idleness_of(figures, without_startup),
                 without_startup, options_of(screen)));
}

Table blame_table(const views::Figures& figures, const std::vector<Blamed>& blamed, double idle_s) {
  using enum Table::In;
  Table table{
      {{"id"}, {"path"}, {"idleness_s"}, {"share"}, {"role"}, {"waiter_ranks", csv}, {"waiters", json}}, {}};
  const Waiters waiting(figures);
  for (const Blamed& each : blamed) {
    const std::vector<std::uint32_t> waiters = waiting.of(each);
    table.rows.push_back({id_of(each.context), Table::Path{each.context}, each.idle_s, each.share(idle_s),
                          figures.experiment().roles[each.role].name, Table::Ranks{waiters}, waiters});
  }
  return table;
}

List suspects_list(const views::Figures& figures, const ListOptions& options) {
  const database::Contents& experiment = figures.experiment();
  List list{.command = "suspects",
            .title = "UNEVEN CODE",
            .amount = "explains",
            .introduction = experiment.suspects().empty() ? no_suspects_phrase(experiment) : "",
            .apart = true,
            .numbered = true};
  const std::vector<std::string> names = suspect_names(experiment, options.name_columns, options.unicode);
  const std::string at_most = views::lacks_processors(experiment) ? "at most " : "";
  const auto time = [&](std::uint64_t ns) { return keep(duration(seconds_of(ns), options.unicode)); };
  const auto explains_ns = [](const database::Suspect& suspect) { return suspect.explains_ns; };
  add_rows(list, experiment.suspects(), options, explains_ns, [&](const database::Suspect& suspect) {
    const SuspectFacts facts = examine(figures, suspect);
    const std::string name = name_of(experiment, names, suspect), id = id_of(suspect.suspect);
    const std::string doubt = confidence_phrase(experiment, facts);
    return ListRow{
        .ns = suspect.explains_ns,
        .name = name,
        .id = name.ends_with('[' + id + ']') ? "" : id,
        .text = keep(more_work_phrase(facts)) + ' ' + threads_phrase(experiment, suspect.locations) +
                role_suffix(experiment, suspect.role) + ": " + time(suspect.excess_ns) + " above the mean" +
                (facts.parts.empty()
                     ? ""
                     : " (" + parts_phrase(experiment, facts.parts, options.name_columns, options.unicode) +
                           ')') +
                ", explains " + at_most + time(suspect.explains_ns) + " of the waiting inside " +
                scope_phrase(experiment, suspect.balanced, true, options.name_columns, options.unicode) +
                ". " + mending_phrase(experiment, facts, options.unicode) +
                (doubt.empty() ? "" : " This is " + doubt + '.'),
        .paths = {{.context = suspect.suspect, .locations = suspect.locations}}};
  });
  return list;
}

void write_suspects(std::ostream& out, const Screen& screen, const views::Figures& figures) {
  write_with_thread_causes(out, screen, figures, suspects_list(figures, options_of(screen)));
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
               {"excess_io_share"},
               {"parts", json}},
              {}};
  const std::vector<std::string> names = suspect_names(experiment, kWholeName, true);
  for (const database::Suspect& suspect : experiment.suspects()) {
    const SuspectFacts facts = examine(figures, suspect);
    Table::Parts parts;
    for (const SuspectPart& part : facts.parts)
      parts.push_back(
          {procedure_name(experiment, part.context, kWholeName, true), id_of(part.context), part.excess_s});
    table.rows.push_back({Table::Path{suspect.balanced},
                          Table::Path{suspect.suspect},
                          id_of(suspect.balanced),
                          id_of(suspect.suspect),
                          id_of(suspect.named),
                          name_of(experiment, names, suspect),
                          experiment.roles[suspect.role].name,
                          Table::Ranks{suspect.locations},
                          suspect.locations,
                          seconds_of(suspect.excess_ns),
                          seconds_of(suspect.explains_ns),
                          seconds_of(suspect.save_balanced_ns),
                          seconds_of(suspect.save_removed_ns),
                          confidence_name(confidence_of(facts)),
                          surer_with(experiment, facts),
                          Table::cell(facts.more_work),
                          Table::cell(facts.usual_cpu_share),
                          Table::cell(facts.excess_cpu_share),
                          Table::cell(facts.excess_io_share),
                          std::move(parts)});
  }
  return table;
}

}  // namespace culprit::viewer
