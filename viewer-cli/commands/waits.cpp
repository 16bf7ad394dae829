#include "commands/waits.hpp"

#include "commands/rows.hpp"
#include "findings/coverage.hpp"
#include "findings/quality.hpp"
#include "metrics/wait_pattern.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>

namespace culprit::viewer {
namespace {

using database::Wait;

constexpr std::size_t kShown = 40;  // rows of the text; csv and json leave out nothing

/// The longest waits, as far as anything is left of them in the unit of the longest one.
std::size_t rows_shown(const database::Contents& experiment, const RowWriter& rows) {
  const auto& waits = experiment.waits();
  std::size_t shown = 1;
  while (shown < std::min(kShown, waits.size()) && !rows.rounds_to_nothing(waits[shown].ns)) ++shown;
  return shown;
}

/// What the approximation could not place, and what clocks made doubtful.
void write_remainder(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  const database::Quality& quality = experiment.quality;
  std::string text;
  const auto amount = [&screen](std::uint64_t ns) {
    const double s = seconds_of(ns);
    const Scale scale = scale_for(s, "s", screen.unicode);
    return scale.write(s) + ' ' + scale.unit;
  };
  if (quality.unclassified_wait_ns > 0)
    text += amount(quality.unclassified_wait_ns) + " of idleness in one-sided calls fit no pattern. ";
  if (quality.excess_wait_ns > 0)
    text +=
        amount(quality.excess_wait_ns) + " of estimated waits were not sampled as idle, and are left out.";
  if (!text.empty()) out << wrap(text, screen.width) << '\n';
  if (const std::string clocks = clocks_text(experiment); !clocks.empty())
    out << wrap(clocks, screen.width) << '\n';
}

}  // namespace

std::string no_listed_waits_phrase(const database::Contents& experiment) {
  const std::string none = "No waits of one-sided communication or of threads.";
  if (experiment.run.ranks == 0) return "No waits of threads for each other.";
  if (experiment.trace().traced > 0) return none + ' ' + no_waits_phrase(experiment);
  return none + " Waits for messages and in collectives are in the views, as idleness" +
         (are_ranks_comparable(experiment) ? "; measured with hpcrun-lite --trace they are listed here."
                                           : ".");
}

Table waits_table(const database::Contents& experiment) {
  Table table{
      {{"pattern"}, {"location"}, {"seconds"}, {"count"}, {"path"}, {"cause"}, {"cause_path"}, {"exact"}},
      {}};
  for (const Wait& wait : experiment.waits()) {
    Table::Cell cause, cause_path;
    if (wait.cause_location != database::kNone) cause = Table::Thread{wait.cause_location};
    if (wait.cause_context != database::kNone) cause_path = Table::Path{wait.cause_context};
    table.rows.push_back({std::string(metrics::name_of(wait.pattern)), Table::Thread{wait.location},
                          seconds_of(wait.ns), std::uint64_t{wait.count}, Table::Path{wait.context}, cause,
                          cause_path, wait.exact});
  }
  return table;
}

void write_waits(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  if (experiment.waits().empty()) {
    out << wrap(no_listed_waits_phrase(experiment), screen.width) << '\n';
    return;
  }
  const RowWriter rows(out, screen, experiment, experiment.waits().front().ns);
  const std::size_t shown = rows_shown(experiment, rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const Wait& wait = experiment.waits()[i];
    std::string text = screen.bold(metrics::name_of(wait.pattern)) + (wait.exact ? "" : " (approximated)") +
                       "  " + location_label(experiment, wait.location);
    if (wait.cause_location != database::kNone)
      text += ", for " + location_label(experiment, wait.cause_location);
    rows.row(wait.ns, keep(text));
    rows.path(wait.context);
  }
  rows.rest(experiment.waits().size(), shown);
  write_remainder(out, screen, experiment);
}

}  // namespace culprit::viewer
