#include "commands/run.hpp"

#include "commands/communication.hpp"
#include "commands/efficiency.hpp"
#include "commands/list.hpp"
#include "commands/report.hpp"
#include "commands/report_text.hpp"
#include "commands/stuck.hpp"
#include "commands/variation.hpp"
#include "commands/what_if.hpp"
#include "findings/ends.hpp"
#include "findings/serving_threads.hpp"
#include "print/output.hpp"
#include "text/frame_json.hpp"
#include "views/start_up.hpp"

#include <filesystem>
#include <functional>
#include <system_error>

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

/// The same of a command whose output is no table: csv was refused.
template <class Text, class MakeJson>
void write_as(Format format, std::ostream& out, const Text& text, const MakeJson& json) {
  write_as(format, out, text, json, [] {});
}

/// Writes a command's text, or its table.
template <class Text>
void write_table_as(Format format, std::ostream& out, const database::Contents& experiment, const Text& text,
                    const std::function<Table()>& table) {
  write_as(
      format, out, text, [&] { return to_json(experiment, table()); },
      [&] { write_csv(out, experiment, table()); });
}

/// Whether the report is to begin with what held a job that was killed, or lost its launcher, at its end.
bool begins_with_end(const Invocation& invocation, const views::Source& source) {
  std::error_code error;
  const database::Contents& experiment = source.experiment();
  return (experiment.quality.cut_short > 0 || all_ranks_left(experiment)) &&
         std::filesystem::is_directory(invocation.database, error);
}

void write_report_and_end(std::ostream& out, const Screen& screen, const views::Figures& figures,
                          const Invocation& invocation) {
  const bool told =
      begins_with_end(invocation, figures.source()) && write_stuck_at_end(out, screen, invocation.database);
  write_report(out, screen, figures, invocation.database, invocation.without_startup, told);
}

void run_report(std::ostream& out, const Screen& screen, const views::Source& source,
                const Invocation& invocation) {
  const views::Figures figures(source);
  write_as(
      invocation.format, out, [&] { write_report_and_end(out, screen, figures, invocation); },
      [&] { return report_json(figures, invocation.database, invocation.without_startup); });
}

void run_efficiency(std::ostream& out, const Screen& screen, const views::Source& source, Format format) {
  const views::Figures figures(source);
  write_as(
      format, out, [&] { write_efficiency(out, screen, figures); }, [&] { return efficiency_json(figures); },
      [&] { write_csv(out, source.experiment(), efficiency_table(figures)); });
}

void run_blame(std::ostream& out, const Screen& screen, const views::Source& source,
               const Invocation& invocation) {
  const views::Figures figures(source);
  const bool without_startup = invocation.without_startup;
  write_table_as(
      invocation.format, out, source.experiment(),
      [&] { write_blame(out, screen, figures, without_startup); },
      [&] {
        return blame_table(figures, find_blamed(figures, without_startup),
                           idleness_of(figures, without_startup));
      });
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
      [&] { write_csv(out, experiment, segments_table(experiment, variation)); });
}

/// A command that lists what merging has found in the time lines or at waiting calls: for people as a list,
/// for programs as a table.
struct Listing {
  List (*list)(const database::Contents& experiment, const ListOptions& options);
  Table (*table)(const database::Contents& experiment);
  Json (*json)(const database::Contents& experiment) = nullptr;  ///< where it is not that of the table
  bool of_waiting = true;  ///< whether its total is related to the report's waiting
};
constexpr Listing kWaits = {waits_list, waits_table};
constexpr Listing kCauses = {causes_list, causes_table, causes_json};
constexpr Listing kHotspots = {hotspots_list, hotspots_table, nullptr, false};
constexpr Listing kCriticalPath = {critical_path_list, critical_path_table, critical_path_json, false};

void run_listing(std::ostream& out, const Screen& screen, const views::Source& source, const Listing& listing,
                 const Invocation& invocation) {
  const database::Contents& experiment = source.experiment();
  const auto text = [&] {
    ListOptions options{.by_rank = invocation.by_rank, .unicode = screen.unicode};
    if (options.by_rank) options.least_share = 0;  // of many ranks, none may have much
    if (listing.of_waiting) {
      const views::Figures figures(source);
      options.waiting = divide_idleness(figures, invocation.without_startup);
      if (invocation.without_startup) options.left_out = views::mpi_start_up(experiment);
      options.serving = serving_roles(figures);
    }
    write_list(out, screen, experiment, listing.list(experiment, options));
  };
  const auto json = [&] {
    return listing.json != nullptr ? listing.json(experiment)
                                   : to_json(experiment, listing.table(experiment));
  };
  write_as(invocation.format, out, text, json,
           [&] { write_csv(out, experiment, listing.table(experiment)); });
}

/// Without time lines, calls are counted all the same.
void run_communication(std::ostream& out, const Screen& screen, const views::Source& source,
                       const Invocation& invocation) {
  const database::Contents& experiment = source.experiment();
  if (experiment.communication().calls.empty() && experiment.run.ranks == 0)
    throw CommandError("communication: " + invocation.database +
                       ": the run has no MPI ranks, so it made no MPI calls (see `waits`)");
  const views::Figures figures(source);
  write_as(
      invocation.format, out, [&] { write_communication(out, screen, figures, invocation.without_startup); },
      [&] { return communication_json(figures, invocation.without_startup); },
      [&] {
        write_csv(out, experiment, calls_table(experiment, mpi_traffic(figures, invocation.without_startup)));
      });
}

/// The commands that need the ranks' time lines.
void run_on_trace(std::ostream& out, const Screen& screen, const views::Source& source,
                  const Invocation& invocation) {
  const database::Contents& experiment = source.experiment();
  const auto run = [&](const char* name, const Listing& listing) {
    require_trace(experiment, name, invocation.database);
    run_listing(out, screen, source, listing, invocation);
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

void run_text_command(std::ostream& out, const Screen& screen, const views::Source& source,
                      const Invocation& invocation, const views::Source* other) {
  switch (invocation.command) {
    case Command::report:
      run_report(out, screen, source, invocation);
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
      run_blame(out, screen, source, invocation);
      break;
    case Command::suspects:
      run_suspects(out, screen, source, invocation.format);
      break;
    case Command::waits:
      run_listing(out, screen, source, kWaits, invocation);
      break;
    case Command::causes:
    case Command::critical_path:
    case Command::hotspots:
    case Command::variation:
      run_on_trace(out, screen, source, invocation);
      break;
    case Command::communication:
      run_communication(out, screen, source, invocation);
      break;
    case Command::efficiency:
      run_efficiency(out, screen, source, invocation.format);
      break;
    case Command::what_if:
      run_what_if(out, screen, source, invocation);
      break;
    case Command::diff:
      run_diff(out, screen, source, *other, invocation);
      break;
    case Command::info:
      write_as(
          invocation.format, out, [&] { write_info(out, screen, source.experiment()); },
          [&] { return info_json(source.experiment()); });
      break;
    case Command::exporting:  // run_export.hpp
    case Command::stuck:      // of a directory, not of a database
    case Command::stacks:     // of processes
      break;
  }
}

}  // namespace

void run_command(std::ostream& out, const Screen& screen, const views::Source& source,
                 const Invocation& invocation, const views::Source* other) {
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
