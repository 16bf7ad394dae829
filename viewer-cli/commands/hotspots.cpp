#include "commands/hotspots.hpp"

#include "commands/rows.hpp"
#include "findings/coverage.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>

namespace culprit::viewer {

using database::Hotspot;

Table hotspots_table(const database::Contents& experiment) {
  Table table{{{"location"}, {"path"}, {"cost_s"}, {"waiter"}, {"waiter_path"}}, {}};
  for (const Hotspot& hotspot : experiment.trace().hotspots) {
    table.rows.push_back({Table::Thread{hotspot.location}, Table::Path{hotspot.context},
                          seconds_of(hotspot.ns), Table::Thread{hotspot.waiter},
                          Table::Path{hotspot.waiter_context}});
  }
  return table;
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

}  // namespace culprit::viewer
