#include "commands/hotspots.hpp"

#include "commands/rows.hpp"
#include "findings/coverage.hpp"
#include "text/call_path_text.hpp"
#include "text/csv.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace culprit::viewer {

using database::Hotspot;

Json hotspots_json(const database::Contents& experiment) {
  Json array = Json::array();
  for (const Hotspot& hotspot : experiment.trace().hotspots) {
    Json row = Json::object();
    add_location(row, experiment, hotspot.location);
    row["path"] = path_json(experiment, hotspot.context);
    row["cost_s"] = seconds_of(hotspot.ns);
    row["waiter"] = Json::object();
    add_location(row["waiter"], experiment, hotspot.waiter);
    row["waiter_path"] = path_json(experiment, hotspot.waiter_context);
    array.push_back(std::move(row));
  }
  return array;
}

void write_hotspots(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  const auto& hotspots = experiment.trace().hotspots;
  if (hotspots.empty()) {
    out << wrap(are_ranks_comparable(experiment)
                    ? "No procedure with a notable share of the time made another rank wait."
                    : no_waits_phrase(experiment),
                screen.width)
        << '\n';
    return;
  }
  const RowWriter rows(out, screen, experiment, hotspots.front().ns);
  const std::size_t shown = std::min(kTraceRowsShown, hotspots.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Hotspot& hotspot = hotspots[i];
    rows.row(hotspot.ns, screen.bold(location_label(experiment, hotspot.location)) + " made " +
                             location_label(experiment, hotspot.waiter) + " wait");
    rows.path(hotspot.context, false, "in ");
    rows.path(hotspot.waiter_context, false, "waiter in ");
  }
  rows.rest(hotspots.size(), shown);
}

void write_hotspots_csv(std::ostream& out, const database::Contents& experiment) {
  write_csv_row(out, {"location", "path", "cost_s", "waiter", "waiter_path"});
  for (const Hotspot& hotspot : experiment.trace().hotspots) {
    write_csv_row(out, {location_label(experiment, hotspot.location), whole_path(experiment, hotspot.context),
                        csv_number(seconds_of(hotspot.ns)), location_label(experiment, hotspot.waiter),
                        whole_path(experiment, hotspot.waiter_context)});
  }
}

}  // namespace culprit::viewer
