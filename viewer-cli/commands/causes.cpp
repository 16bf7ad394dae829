#include "commands/causes.hpp"

#include "commands/rows.hpp"
#include "findings/coverage.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::Cause;

std::uint64_t cost_of(const Cause& cause) {
  return cause.short_term_ns + cause.long_term_ns;
}

}  // namespace

std::vector<Cause> causes_by_scope(const database::Contents& experiment, ScopeOf scope_of) {
  std::map<std::pair<std::uint32_t, database::TimedScope>, Cause> sums;
  for (const Cause& cause : experiment.trace().causes) {
    const database::TimedScope scope{.context = scope_of(experiment, cause.scope.context),
                                     .between = cause.scope.between};
    Cause& sum = sums[{cause.location, scope}];
    sum.location = cause.location;
    sum.scope = scope;
    sum.short_term_ns += cause.short_term_ns;
    sum.long_term_ns += cause.long_term_ns;
  }
  std::vector<Cause> list;
  list.reserve(sums.size());
  for (const auto& [key, cause] : sums) list.push_back(cause);
  std::ranges::stable_sort(list, std::ranges::greater(), cost_of);
  return list;
}

Table causes_table(const database::Contents& experiment) {
  Table table{
      {{"location"}, {"path"}, {"short_term_s"}, {"long_term_s"}, {"undetermined_s"}, {"between_calls"}}, {}};
  for (const Cause& cause : experiment.trace().causes) {
    table.rows.push_back({Table::Thread{cause.location}, Table::Path{cause.scope.context},
                          seconds_of(cause.short_term_ns), seconds_of(cause.long_term_ns),
                          cause.scope.between ? seconds_of(cost_of(cause)) : 0.0, cause.scope.between});
  }
  table.rows.push_back({{}, Table::Path{}, seconds_of(experiment.trace().unattributed_ns), 0.0, 0.0, false});
  return table;
}

Json causes_json(const database::Contents& experiment) {
  Table table = causes_table(experiment);
  const auto place = std::ranges::find_if(experiment.trace().causes, [&](const Cause& cause) {
    return cost_of(cause) < experiment.trace().unattributed_ns;
  });
  std::rotate(table.rows.begin() + (place - experiment.trace().causes.begin()), table.rows.end() - 1,
              table.rows.end());
  return to_json(experiment, table);
}

void write_causes(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  const std::vector<Cause> causes = causes_by_scope(experiment);
  const std::uint64_t unattributed = experiment.trace().unattributed_ns;
  std::uint64_t sum = unattributed;
  for (const Cause& cause : causes) sum += cost_of(cause);
  if (sum == 0) {
    out << wrap(no_waits_phrase(experiment), screen.width) << '\n';
    return;
  }
  const auto time = [&](std::uint64_t ns) { return keep(duration(seconds_of(ns), screen.unicode)); };
  const auto share = [&](std::uint64_t ns) {
    return keep(percent(static_cast<double>(ns) / static_cast<double>(sum)));
  };
  out << wrap("What made ranks wait, of " + time(sum) +
                  " in all: short-term is what code cost the ranks that " +
                  "waited for it, long-term what those cost others in turn; " + share(unattributed) +
                  " are unexplained.",
              screen.width)
      << "\n\n";
  const RowWriter rows(out, screen, experiment, causes.empty() ? unattributed : cost_of(causes.front()));
  const std::size_t shown = rows_to_show(causes, static_cast<double>(sum), cost_of);
  for (std::size_t i = 0; i < shown; ++i) {
    const Cause& cause = causes[i];
    std::string text = screen.bold(location_label(experiment, cause.location)) + "  " + share(cost_of(cause));
    if (cause.long_term_ns > 0)
      text += ", " + time(cause.short_term_ns) + " short-term, " + time(cause.long_term_ns) + " long-term";
    if (cause.scope.between) text += ", undetermined";
    rows.row(cost_of(cause), text);
    rows.path(cause.scope.context, false, cause.scope.between ? "between two MPI calls in " : "");
  }
  rows.rest(causes.size(), shown);
}

}  // namespace culprit::viewer
