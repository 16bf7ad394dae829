#include "commands/run.hpp"

#include "commands/blame.hpp"
#include "commands/causes.hpp"
#include "commands/critical_path.hpp"
#include "commands/diff.hpp"
#include "commands/efficiency.hpp"
#include "commands/export.hpp"
#include "commands/hot_path.hpp"
#include "commands/hotspots.hpp"
#include "commands/info.hpp"
#include "commands/report_json.hpp"
#include "commands/report_text.hpp"
#include "commands/rows.hpp"
#include "commands/threads.hpp"
#include "commands/variation.hpp"
#include "commands/waits.hpp"
#include "print/output.hpp"
#include "request/view_request.hpp"
#include "text/frame_json.hpp"
#include "tree/tree_text.hpp"
#include "tree/view_json.hpp"
#include "views/callers.hpp"
#include "views/calling_context.hpp"
#include "views/derived.hpp"
#include "views/flat.hpp"
#include "views/node_path.hpp"

#include <functional>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

/// Writes one of a command's three outputs; only that one is made.
template <class Text, class MakeJson, class Csv>
void write_as(Format format, std::ostream& out, const Text& text, const MakeJson& json, const Csv& csv) {
  switch (format) {
    case Format::text:
      text();
      break;
    case Format::json:
      out << write(json());
      break;
    case Format::csv:
      csv();
      break;
  }
}

void run_view(std::ostream& out, const Screen& screen, const views::Source& source,
              const Invocation& invocation) {
  const ViewRequest request = make_view_request(source, invocation);
  views::Shown shown;
  try {
    shown = views::show(*request.view, request.options, whole_of(request));
  } catch (const views::BadFocus& bad) {
    throw UsageError("--focus: " + std::string(bad.what()));
  }
  switch (invocation.format) {
    case Format::text:
      write_tree(out, screen, request, shown, invocation.ids);
      break;
    case Format::json:
      write_view_json(out, request, shown);
      break;
    case Format::csv:
      write_view_csv(out, request, shown);
      break;
  }
}

/// A node by id or path, in the view that it belongs to.
struct Found {
  std::unique_ptr<views::View> view;
  views::NodeId node = 0;
  std::size_t alike = 1;  ///< nodes that the path names
};

/// The node that an id names, in a view of type V; empty view: it names none of this view.
template <class V>
Found find_id(const views::Figures& figures, const std::string& id) {
  auto view = std::make_unique<V>(figures);
  const std::optional<views::NodeId> node = view->find(id);
  if (!node) return {};
  return {std::move(view), *node, 1};
}

Found find_node(const views::Figures& figures, const std::string& name) {
  if (Found found = find_id<views::CallingContext>(figures, name); found.view) return found;
  if (Found found = find_id<views::Flat>(figures, name); found.view) return found;
  if (Found found = find_id<views::Callers>(figures, name); found.view) return found;
  try {
    const std::vector<database::ContextId> contexts = views::find_contexts(figures, name);
    return {std::make_unique<views::CallingContext>(figures), contexts.front(), contexts.size()};
  } catch (const views::NoSuchNode& missing) {
    throw CommandError("threads: " + name + ": " + missing.what());
  }
}

/// Throws UsageError unless the metric, or what it is derived from, was measured in each thread.
void require_threads(const database::Contents& experiment, const views::Column& column) {
  std::vector<views::Column> measured;
  views::add_measured(column, measured);
  for (const views::Column& each : measured) {
    if (!each.blame && !experiment.metrics[each.metric].summary_only) continue;
    throw UsageError("metric: " + each.name.event +
                     " has no values per thread (it is made from all threads; try idleness)");
  }
}

ThreadSeries make_series(const views::Source& source, const Invocation& invocation) {
  ThreadSeries series;
  series.column =
      require_column(source, invocation,
                     invocation.metric.empty() ? primary_metric(source.experiment()) : invocation.metric);
  require_threads(source.experiment(), series.column);
  const std::unique_ptr<views::Figures> figures = make_figures(source, invocation, {});
  const Found found = find_node(*figures, invocation.node);
  const std::vector<double> values = views::per_thread(*found.view, found.node, series.column);
  const views::Frame frame = found.view->frame(found.node);
  series.title = label(frame);
  if (const std::string where = place(frame);
      !where.empty() && series.title.find(where) == std::string::npos) {
    series.title += " at " + where;
  }
  if (found.alike > 1) {
    series.title += "  (the one with most time of " + std::to_string(found.alike) +
                    " of that name: " + found.view->id(found.node) + ')';
  }
  series.path = found.view->path(found.node);
  for (const std::uint32_t location : figures->locations()) {
    if (!invocation.role.empty() && source.experiment().locations[location].role != series.column.role)
      continue;
    series.locations.push_back(location);
    series.values.push_back(values[location]);
  }
  return series;
}

void run_threads(std::ostream& out, const Screen& screen, const views::Source& source,
                 const Invocation& invocation) {
  const ThreadSeries series = make_series(source, invocation);
  const database::Contents& experiment = source.experiment();
  write_as(
      invocation.format, out, [&] { write_threads(out, screen, experiment, series); },
      [&] { return threads_json(experiment, series); }, [&] { write_threads_csv(out, experiment, series); });
}

/// Writes a command's text, or its table.
template <class Text>
void write_table_as(Format format, std::ostream& out, const database::Contents& experiment, const Text& text,
                    const std::function<Table()>& table) {
  write_as(
      format, out, text, [&] { return to_json(experiment, table()); },
      [&] { write_csv(out, experiment, table()); });
}

void run_blame(std::ostream& out, const Screen& screen, const views::Source& source, Format format) {
  const views::Figures figures(source);
  write_table_as(
      format, out, source.experiment(), [&] { write_blame(out, screen, figures); },
      [&] { return blame_table(figures, find_blamed(figures), idleness_of(figures)); });
}

void run_suspects(std::ostream& out, const Screen& screen, const views::Source& source, Format format) {
  const views::Figures figures(source);
  write_table_as(
      format, out, source.experiment(), [&] { write_suspects(out, screen, figures); },
      [&] { return suspects_table(figures); });
}

void run_variation(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                   const Invocation& invocation) {
  const database::Variation& variation = invocation.procedure.empty()
                                             ? variation_of(experiment, invocation.finer)
                                             : variation_of(experiment, invocation.procedure);
  write_as(
      invocation.format, out, [&] { write_variation(out, screen, experiment, variation, invocation.metric); },
      [&] { return variation_json(experiment, variation, invocation.metric); },
      [&] { write_variation_csv(out, experiment, variation); });
}

/// A command that lists what merging has found in the time lines or at waiting calls.
struct Listing {
  void (*text)(std::ostream& out, const Screen& screen, const database::Contents& experiment);
  Table (*table)(const database::Contents& experiment);
  Json (*json)(const database::Contents& experiment) = nullptr;  ///< where it is not that of the table
};
constexpr Listing kWaits = {write_waits, waits_table};
constexpr Listing kCauses = {write_causes, causes_table, causes_json};
constexpr Listing kCriticalPath = {write_critical_path, critical_path_table, critical_path_json};
constexpr Listing kHotspots = {write_hotspots, hotspots_table};

void run_listing(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                 const Listing& listing, Format format) {
  const auto json = [&] {
    return listing.json != nullptr ? listing.json(experiment)
                                   : to_json(experiment, listing.table(experiment));
  };
  write_as(
      format, out, [&] { listing.text(out, screen, experiment); }, json,
      [&] { write_csv(out, experiment, listing.table(experiment)); });
}

/// The commands that need the ranks' time lines.
void run_on_trace(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                  const Invocation& invocation) {
  const auto run = [&](const char* name, const Listing& listing) {
    require_trace(experiment, name, invocation.database);
    run_listing(out, screen, experiment, listing, invocation.format);
  };
  switch (invocation.command) {
    case Command::causes:
      run("causes", kCauses);
      break;
    case Command::critical_path:
      run("critical-path", kCriticalPath);
      break;
    case Command::hotspots:
      run("hotspots", kHotspots);
      break;
    default:
      require_trace(experiment, "variation", invocation.database);
      run_variation(out, screen, experiment, invocation);
      break;
  }
}

/// All but exports, some of which are no text.
void run_text_command(std::ostream& out, const Screen& screen, const views::Source& source,
                      const Invocation& invocation, const views::Source* other) {
  const bool json = invocation.format == Format::json;
  switch (invocation.command) {
    case Command::report:
      if (json) {
        out << write(report_json(views::Figures(source)));
      } else {
        write_report(out, screen, views::Figures(source), invocation.database);
      }
      break;
    case Command::view:
      run_view(out, screen, source, invocation);
      break;
    case Command::hot_path:
      run_hot_path(out, screen, source, invocation);
      break;
    case Command::threads:
      run_threads(out, screen, source, invocation);
      break;
    case Command::blame:
      run_blame(out, screen, source, invocation.format);
      break;
    case Command::suspects:
      run_suspects(out, screen, source, invocation.format);
      break;
    case Command::waits:
      run_listing(out, screen, source.experiment(), kWaits, invocation.format);
      break;
    case Command::causes:
    case Command::critical_path:
    case Command::hotspots:
    case Command::variation:
      run_on_trace(out, screen, source.experiment(), invocation);
      break;
    case Command::efficiency:
      if (json) {
        out << write(efficiency_json(views::Figures(source)));
      } else {
        write_efficiency(out, screen, views::Figures(source));
      }
      break;
    case Command::diff:
      run_diff(out, screen, source, *other, invocation);
      break;
    case Command::info:
      if (json) {
        out << write(info_json(source.experiment()));
      } else {
        write_info(out, screen, source.experiment());
      }
      break;
    case Command::exporting:
      break;
  }
}

}  // namespace

void run_command(std::ostream& out, const Screen& screen, const views::Source& source,
                 const Invocation& invocation, const views::Source* other) {
  if (invocation.command == Command::exporting) {
    run_export(out, source, invocation);
    out.flush();
    return;
  }
  print::TextStream text(out, screen.colour);
  try {
    run_text_command(text, screen, source, invocation, other);
  } catch (...) {
    text.flush();  // what was found before a database proves to be damaged
    throw;
  }
  text.flush();
}

}  // namespace culprit::viewer
