#include "commands/html/findings_data.hpp"

#include "commands/efficiency.hpp"
#include "commands/list.hpp"
#include "commands/report.hpp"
#include "commands/report_text.hpp"
#include "findings/phrases.hpp"
#include "findings/serving_threads.hpp"
#include "metrics/wait_pattern.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace culprit::viewer {
namespace {

constexpr std::size_t kRowsListed = 60;   // rows of a list
constexpr std::size_t kProseWidth = 150;  // columns, of which names get a third
constexpr std::size_t kContextsNamed = 2000;

Screen page_screen() {
  Screen screen;
  constexpr std::size_t kWide = 4000;
  screen.width = kWide;
  return screen;
}

Json row_json(const PageTree& tree, views::NodeId node) {
  if (node == database::kNone) return nullptr;
  const std::optional<std::uint32_t> row = tree.row_of(node);
  return row ? Json(*row) : Json();
}

Json place_json(const ReportPlace& place, const PageTree& calls, const PageTree& flat) {
  switch (place.kind) {
    case ReportPlace::Kind::none:
      return nullptr;
    case ReportPlace::Kind::context:
      return {{"tab", "calls"}, {"row", row_json(calls, place.scope)}};
    case ReportPlace::Kind::flat:
      return {{"tab", "flat"}, {"row", row_json(flat, place.scope)}};
    case ReportPlace::Kind::waiting:
      return {{"tab", "calls"}, {"sort", "idleness:sum (I)"}};
    case ReportPlace::Kind::waits:
      return {{"tab", "waits"}};
    case ReportPlace::Kind::causes:
      return {{"tab", "causes"}};
    case ReportPlace::Kind::critical_path:
      return {{"tab", "critical"}};
    case ReportPlace::Kind::segment:
      return {{"tab", "time"}, {"rank", place.rank}, {"segment", place.scope}};
    case ReportPlace::Kind::communication:
      return {{"tab", "communication"}};
  }
  return nullptr;
}

Json paths_json(const database::Contents& experiment, const PageTree& calls,
                const std::vector<ListPath>& paths) {
  Json json = Json::array();
  for (const ListPath& path : paths) {
    json.push_back({{"before", path.before},
                    {"text", unwrapped(path_text(experiment, path.context, page_screen()))},
                    {"after", between_phrase(experiment, path)},
                    {"row", row_json(calls, path.context)}});
  }
  return json;
}

Json list_json(const database::Contents& experiment, const PageTree& calls, const List& list) {
  Json rows = Json::array();
  for (const ListRow& row : list.rows) {
    const std::optional<double> share = share_of(list, row);
    std::string meaning;
    for (const metrics::WaitPatternText& each : metrics::kWaitPatternTexts) {
      if (!row.topic.empty() && each.name == row.topic) meaning = each.meaning;
    }
    rows.push_back({{"s", short_number(seconds_of(row.ns))},
                    {"share", share ? short_number(*share) : Json()},
                    {"name", unwrapped(row.name)},
                    {"text", unwrapped(row.text)},
                    {"meaning", meaning},
                    {"paths", paths_json(experiment, calls, row.paths)}});
  }
  Json notes = Json::array();
  for (const std::string& note : list.notes) notes.push_back(unwrapped(note));
  return {{"amount", list.amount},
          {"introduction", unwrapped(list.introduction)},
          {"rows", std::move(rows)},
          {"left_out", list.left_out},
          {"largest_left_s", short_number(seconds_of(list.largest_left_ns))},
          {"notes", std::move(notes)}};
}

void add_fact(Json& facts, const char* name, const std::string& text) {
  if (!text.empty()) facts.push_back({name, unwrapped(text)});
}

/// A bar of an efficiency, with how far in it is.
template <typename Of>
Json bar_of(const FigureOf<Of>& figure, const Of& result) {
  std::string_view name = figure.short_name;
  std::size_t level = 0;
  while (name.starts_with("  ")) {
    name.remove_prefix(2);
    ++level;
  }
  return {{"name", name},
          {"level", level},
          {"value", short_number(result.*figure.value)},
          {"meaning", figure.meaning},
          {"when_low", figure.when_low}};
}

}  // namespace

std::unordered_set<views::NodeId> contexts_named(const database::Contents& experiment) {
  std::vector<database::ContextId> named;
  for (const database::Suspect& suspect : experiment.suspects()) {
    named.insert(named.end(), {suspect.balanced, suspect.suspect, suspect.named});
  }
  std::size_t taken = 0;
  for (const database::Cause& cause : experiment.trace().causes) {
    if (taken++ == kRowsListed) break;
    named.push_back(cause.scope.context);
  }
  taken = 0;
  for (const database::CriticalScope& scope : experiment.trace().critical) {
    if (taken++ == kRowsListed) break;
    named.push_back(scope.scope.context);
  }
  taken = 0;
  for (const database::Wait& wait : experiment.waits()) {
    if (taken++ == kRowsListed) break;
    named.push_back(wait.context);
  }
  std::unordered_set<views::NodeId> all;
  for (const database::ContextId each : named) {
    if (all.size() > kContextsNamed) break;
    for (database::ContextId at = each; at != database::kNone && all.insert(at).second;)
      at = experiment.contexts[at].parent;
  }
  return all;
}

Json report_data(const views::Figures& figures, const std::string& database, const PageTree& calls,
                 const PageTree& flat) {
  Json paragraphs = Json::array();
  for (const ReportParagraph& paragraph : report_paragraphs(figures, database, false, kProseWidth, true)) {
    if (paragraph.tone == ReportParagraph::Tone::gap) continue;
    Json parts = Json::array();
    for (const ReportPart& part : paragraph.parts)
      parts.push_back({{"text", unwrapped(part.text)}, {"to", place_json(part.place, calls, flat)}});
    paragraphs.push_back({{"tone", report_tone_name(paragraph.tone)},
                          {"indent", paragraph.indent},
                          {"parts", std::move(parts)}});
  }
  return paragraphs;
}

Json lists_data(const views::Figures& figures, const PageTree& calls) {
  const database::Contents& experiment = figures.experiment();
  ListOptions options;
  options.most = kRowsListed;
  options.waiting = divide_idleness(figures);
  options.serving = serving_roles(figures);
  Json json = {{"waits", list_json(experiment, calls, waits_list(experiment, options))}};
  if (experiment.trace().traced == 0) return json;
  json["causes"] = list_json(experiment, calls, causes_list(experiment, options));
  json["hotspots"] = list_json(experiment, calls, hotspots_list(experiment, options));
  json["critical"] = list_json(experiment, calls, critical_path_list(experiment, options));
  return json;
}

Json facts_data(const database::Contents& experiment) {
  const database::Run& run = experiment.run;
  Json facts = Json::array();
  add_fact(facts, "Command", shell_line(run.command));
  add_fact(facts, "Program", run.program);
  add_fact(facts, "Directory", run.directory);
  constexpr std::size_t kHostsNamed = 8;
  std::string hosts;
  for (std::size_t host = 0; host < run.hosts.size() && host < kHostsNamed; ++host)
    hosts += (hosts.empty() ? "" : ", ") + run.hosts[host];
  if (run.hosts.size() > kHostsNamed)
    hosts += " and " + std::to_string(run.hosts.size() - kHostsNamed) + " more";
  add_fact(facts, "Hosts", hosts);
  add_fact(facts, "Start", info_json(experiment)["start"].get<std::string>());
  add_fact(facts, "Duration", duration(seconds_of(run.duration_ns), true));
  add_fact(facts, "MPI", run.mpi.empty() ? "none" : run.mpi);
  std::string roles;
  for (std::uint32_t role = 0; role < experiment.roles.size(); ++role) {
    roles += (roles.empty() ? "" : ", ") + grouped(experiment.roles[role].threads) + ' ' +
             role_phrase(experiment, role);
  }
  add_fact(facts, "Threads", grouped(static_cast<double>(experiment.locations.size())) + ": " + roles);
  add_fact(facts, "Events", enumerate(run.events));
  add_fact(facts, "Time lines",
           experiment.trace().traced > 0 ? "of " + counted(experiment.trace().traced, "rank")
                                         : "none (hpcrun-lite --trace records them)");
  add_fact(facts, "Run id", run.run_id);
  return facts;
}

Json efficiency_data(const views::Figures& figures) {
  const auto [efficiency, threads] = efficiencies_of(figures);
  if (efficiency.ranks == 0 && threads.threads == 0) return nullptr;
  Json json = Json::array();
  if (efficiency.ranks > 0) {
    for (const EfficiencyFigure& figure : known_figures(efficiency))
      json.push_back(bar_of(figure, efficiency));
  }
  for (const FigureOf<ThreadEfficiency>& figure : known_figures(threads, efficiency))
    json.push_back(bar_of(figure, threads));
  return json;
}

}  // namespace culprit::viewer
