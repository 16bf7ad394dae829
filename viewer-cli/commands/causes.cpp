#include "commands/causes.hpp"

#include "commands/rows.hpp"
#include "findings/coverage.hpp"
#include "text/call_path_text.hpp"
#include "text/csv.hpp"
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

Json causes_json(const database::Contents& experiment) {
  Json array = Json::array();
  for (const Cause& cause : experiment.trace().causes) {
    Json row = Json::object();
    add_location(row, experiment, cause.location);
    row["path"] = path_json(experiment, cause.scope.context);
    row["short_term_s"] = seconds_of(cause.short_term_ns);
    row["long_term_s"] = seconds_of(cause.long_term_ns);
    row["between_calls"] = cause.scope.between;
    array.push_back(std::move(row));
  }
  const Json unattributed = {
      {"rank", nullptr},       {"thread", nullptr},
      {"role", nullptr},       {"process", nullptr},
      {"path", Json::array()}, {"short_term_s", seconds_of(experiment.trace().unattributed_ns)},
      {"long_term_s", 0.0},    {"between_calls", false}};
  const auto place = std::ranges::find_if(experiment.trace().causes, [&](const Cause& cause) {
    return cost_of(cause) < experiment.trace().unattributed_ns;
  });
  array.insert(array.begin() + (place - experiment.trace().causes.begin()), unattributed);
  return array;
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
                  " have no cause that shows.",
              screen.width)
      << "\n\n";
  const RowWriter rows(out, screen, experiment, causes.empty() ? unattributed : cost_of(causes.front()));
  const std::size_t shown = rows_to_show(causes, static_cast<double>(sum), cost_of);
  for (std::size_t i = 0; i < shown; ++i) {
    const Cause& cause = causes[i];
    std::string text = screen.bold(location_label(experiment, cause.location)) + "  " + share(cost_of(cause));
    if (cause.long_term_ns > 0)
      text += ", " + time(cause.short_term_ns) + " short-term, " + time(cause.long_term_ns) + " long-term";
    rows.row(cost_of(cause), text);
    rows.path(cause.scope.context, cause.scope.between);
  }
  rows.rest(causes.size(), shown);
}

void write_causes_csv(std::ostream& out, const database::Contents& experiment) {
  write_csv_row(out, {"location", "path", "short_term_s", "long_term_s", "between_calls"});
  for (const Cause& cause : experiment.trace().causes) {
    write_csv_row(out,
                  {location_label(experiment, cause.location), whole_path(experiment, cause.scope.context),
                   csv_number(seconds_of(cause.short_term_ns)), csv_number(seconds_of(cause.long_term_ns)),
                   cause.scope.between ? "true" : "false"});
  }
  write_csv_row(out, {"", "", csv_number(seconds_of(experiment.trace().unattributed_ns)), "0", "false"});
}

}  // namespace culprit::viewer
