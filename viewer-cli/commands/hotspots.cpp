#include "commands/list.hpp"
#include "findings/cause_confidence.hpp"
#include "findings/causes.hpp"
#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "text/quantity.hpp"

namespace culprit::viewer {

using database::Hotspot;
using database::Wait;

namespace {

/// What is one row; `location` is kNone where threads fall together.
struct HotspotKey {
  std::uint32_t path = 0, waiter_path = 0, location = database::kNone;
  friend auto operator<=>(const HotspotKey&, const HotspotKey&) = default;  // NOLINT(modernize-use-nullptr)
};

}  // namespace

Table hotspots_table(const database::Contents& experiment) {
  Table table{{{"location"}, {"path"}, {"cost_s"}, {"waiter"}, {"waiter_path"}}, {}};
  for (const Hotspot& hotspot : experiment.trace().hotspots) {
    table.rows.push_back({Table::Thread{hotspot.location}, Table::Path{hotspot.context},
                          seconds_of(hotspot.ns), Table::Thread{hotspot.waiter},
                          Table::Path{hotspot.waiter_context}});
  }
  return table;
}

List hotspots_list(const database::Contents& experiment, const ListOptions& options) {
  List list{.command = "hotspots", .title = "HOT PROCEDURES", .amount = "cost"};
  list.add_note(cut_time_lines_phrase(experiment));
  const std::vector<Hotspot>& hotspots = experiment.trace().hotspots;
  if (hotspots.empty()) {
    list.introduction = are_ranks_comparable(experiment)
                            ? "No procedure with a notable share of the time made another rank wait."
                            : no_waits_phrase(experiment);
    return list;
  }
  list.whole_ns = waiting_ns(experiment, {});
  list.introduction =
      of_lines(experiment, "Procedures with a notable share of the time that made other ranks wait.");
  const WaitsFor waits_for(experiment);
  ShownPaths paths(experiment);
  RowGroups<HotspotKey> groups;
  for (const Hotspot& hotspot : hotspots) {
    RowGroup& group = groups[{paths.number(hotspot.context), paths.number(hotspot.waiter_context),
                              options.thread_of_row(hotspot.location)}];
    group.add(hotspot.location, hotspot.ns, hotspot.context, hotspot.waiter_context);
    group.whom.add(hotspot.waiter, hotspot.ns);
    for (const Wait* wait : waits_for.thread(hotspot.location, hotspot.waiter_context)) {
      if (wait->location == hotspot.waiter) group.made_wait.insert(wait);
    }
  }
  add_rows(list, groups.take(), options, [&](const HotspotKey& /*key*/, const RowGroup& group) {
    const bool several = group.who.parts().size() > 1;
    const std::string text =
        thread_times_phrase(experiment, group.who, "on", options.unicode) + (several ? ", made " : " made ") +
        threads_phrase(experiment, group.whom.locations()) + " wait" + part_of_waits_phrase(group, options);
    return ListRow{.ns = group.ns,
                   .name = {},
                   .text = text,
                   .topic = {},
                   .paths = {{"in ", group.context, false, group.who.locations()},
                             {"waiter in ", group.other, false, group.whom.locations()}}};
  });
  return list;
}

}  // namespace culprit::viewer
