// Shows what MPI calls took and moved, as tables and text (docs/algorithms.md 7, Traffic). A rate, bytes over
// time, is given only for functions that move all of their data themselves: how long MPI_Isend or MPI_Wait
// take says nothing of it. On narrow screens columns are left out, the least telling first.
#include "commands/communication.hpp"

#include "commands/list.hpp"
#include "findings/coverage.hpp"
#include "findings/ends.hpp"
#include "findings/phrases.hpp"
#include "findings/quality.hpp"
#include "text/call_path_text.hpp"
#include "text/frame_json.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {

using database::CallTraffic;

namespace {

double mean(std::uint64_t sum, std::uint64_t number) {
  return number == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(number);
}

Table::Cell longest(std::uint64_t ns) {
  return ns == 0 ? Table::Cell() : Table::Cell(seconds_of(ns));
}

/// Empty where calls were not counted: those of start-up, and small ones that a profile only samples.
Table::Cell number_of(const MpiCall& call) {
  return call.calls == 0 && call.vain == 0 ? Table::Cell() : Table::Cell(call.calls);
}

/// What a text says of calls by their time: nothing where a profile has no sample in them.
Table::Cell where_sampled(const database::Contents& experiment, const MpiCall& call, Table::Cell said) {
  return call.ns == 0 && counted_without_trace(experiment) ? Table::Cell() : std::move(said);
}

/// Of calls whose time is known.
Table::Cell mean_time(const MpiCall& call) {
  return call.counted_ns == 0 ? Table::Cell() : Table::Cell(mean(call.counted_ns, call.calls) / 1e9);
}

MpiCall sum_of(const std::vector<MpiCall>& calls) {
  MpiCall all;
  for (const MpiCall& call : calls) {
    all.calls += call.calls;
    all.ns += call.ns;
    all.messages += call.messages;
    all.sent += call.sent;
    all.received += call.received;
    all.vain += call.vain;
  }
  return all;
}

using As = Table::As;

/// What texts show of calls: a row for each function or call path.
std::vector<Table::TextColumn> text_of_calls(const char* name_of_row) {
  return {{.column = "seconds", .heading = "time", .as = As::seconds},
          {.column = "share", .heading = "of run", .as = As::share},
          {.column = "calls", .heading = "calls", .as = As::number},
          {.column = "mean_s", .heading = "mean", .as = As::seconds},
          {.column = "max_s", .heading = "longest", .as = As::seconds},
          {.column = "size", .heading = "size", .as = As::bytes},
          {.column = "rate", .heading = "rate", .as = As::rate},
          {.column = "name", .heading = name_of_row, .as = As::name}};
}

/// Lines of a table of calls; columns that a narrow screen has no room for are left out, the least telling
/// first.
std::vector<std::string> fitting_lines(const Screen& screen, const database::Contents& experiment,
                                       Table table, std::size_t rows) {
  Screen plain = screen;
  plain.colour = false;
  const auto too_wide = [&] {
    return std::ranges::any_of(to_lines(plain, experiment, table, rows),
                               [&](const std::string& line) { return columns(line) > screen.width; });
  };
  for (const char* const column : {"rate", "size", "max_s", "share", "mean_s", "mean_known"}) {
    if (!too_wide()) break;
    std::erase_if(table.text, [&](const Table::TextColumn& each) { return each.column == column; });
  }
  return to_lines(screen, experiment, table, rows);
}

Table::Cell share_of_run(std::uint64_t ns, double whole_s) {
  return whole_s > 0 ? Table::Cell(seconds_of(ns) / whole_s) : Table::Cell();
}

/// Of a message, on average.
Table::Cell message_size(std::uint64_t moved, std::uint64_t messages) {
  return messages == 0 ? Table::Cell() : Table::Cell(mean(moved, messages));
}

/// Whether a function only starts or ends to move what it is given: how long it takes says nothing of how
/// fast that is.
bool does_part_of_transfer(std::string_view name) {
  static constexpr std::array kParts = {"MPI_I",    "MPI_Start", "MPI_Put",   "MPI_Rput", "MPI_Get",
                                        "MPI_Rget", "MPI_Accu",  "MPI_Raccu", "MPI_Wait", "MPI_Test"};
  return std::ranges::any_of(kParts, [&](const char* part) { return name.starts_with(part); });
}

/// A message's bytes over the time of the calls that moved it.
Table::Cell rate_of(std::string_view name, std::uint64_t moved, std::uint64_t ns) {
  return moved == 0 || ns == 0 || does_part_of_transfer(name)
             ? Table::Cell()
             : Table::Cell(static_cast<double>(moved) / seconds_of(ns));
}

/// `4 ranks`.
std::string who_calls(const database::Contents& experiment, const MpiCall& call) {
  if (call.locations.empty()) return {};
  const std::string who =
      counted(call.locations.size(), are_ranks(experiment, call.locations) ? "rank" : "thread");
  return call.calls != 0 ? who : who + ", " + counted(call.vain, "poll") + " in vain";
}

/// `, messages of 8 B to 4.00 MB`: the size of a row is a mean.
std::string sizes_phrase(const CallTraffic& call) {
  if (call.smallest == call.largest) return {};
  return ", " + keep("messages of " + bytes(static_cast<double>(call.smallest)) + " to " +
                     bytes(static_cast<double>(call.largest)));
}

std::string moved_phrase(const database::Contents& experiment, const CallTraffic& call) {
  std::string text;
  const auto add = [&](const char* verb, std::uint64_t moved) {
    if (moved != 0) text += std::string(", ") + verb + ' ' + keep(bytes(static_cast<double>(moved)));
  };
  add("sent", call.sent_bytes);
  add("received", call.received_bytes);
  if (call.context == 0) return text;
  const FileTraffic files = file_traffic(experiment, call.context);
  add("read", files.read);
  add("wrote", files.written);
  return text;
}

/// ` at solver.c:412`: what distinguishes two calls of one procedure in another; empty where it is unknown.
std::string call_site_phrase(const database::Contents& experiment, database::ContextId context) {
  const database::ContextId site = experiment.contexts[context].parent;
  if (site == database::kNone || experiment.contexts[site].kind != database::ContextKind::call) return {};
  const std::string where = place(views::frame_of(experiment, experiment.contexts[site]));
  return where.empty() ? "" : keep(" at " + where);
}

std::string busiest_phrase(const database::Contents& experiment, const CallTraffic& call, bool unicode) {
  const std::array<std::uint32_t, 1> busiest = {call.busiest};
  if (call.threads == 1) return "on " + keep(threads_phrase(experiment, busiest));
  const std::string threads = are_ranks(experiment, busiest) ? "rank" : "thread";
  return "on " + keep(counted(call.threads, threads)) + ", most on " +
         keep(threads_phrase(experiment, busiest)) + ' ' +
         keep('(' + duration(seconds_of(call.busiest_ns), unicode) + ')');
}

void write_paths(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                 const MpiTraffic& traffic) {
  const std::vector<CallTraffic>& calls = traffic.paths;
  double all_ns = 0;
  for (const CallTraffic& call : calls) all_ns += static_cast<double>(call.ns);
  const std::size_t shown = rows_to_show(calls, all_ns, [](const CallTraffic& call) { return call.ns; });
  const std::vector<std::string> lines =
      fitting_lines(screen, experiment, calls_table(experiment, traffic), shown);
  out << '\n' << lines.front() << '\n';
  for (std::size_t i = 0; i < shown; ++i) {
    out << lines[i + 1] << '\n'
        << screen.dim(std::string(4, ' ') +
                      wrap(call_details(experiment, calls[i], screen), screen.width, 4, 4))
        << '\n';
  }
  if (shown < calls.size()) out << "and " << calls.size() - shown << " more (--format csv or json)\n";
}

}  // namespace

std::string call_details(const database::Contents& experiment, const CallTraffic& call,
                         const Screen& screen) {
  const std::uint64_t vain = polls_in_vain(experiment, call.context);
  return path_text(experiment, call.context, screen) + call_site_phrase(experiment, call.context) + ", " +
         busiest_phrase(experiment, call, screen.unicode) + moved_phrase(experiment, call) +
         sizes_phrase(call) + (vain == 0 ? "" : ", " + keep(counted(vain, "poll") + " in vain"));
}

std::vector<std::string> function_lines(const Screen& screen, const database::Contents& experiment,
                                        const MpiTraffic& traffic) {
  return fitting_lines(screen, experiment, functions_table(experiment, traffic), traffic.calls.size());
}

std::string communication_summary(const MpiTraffic& traffic, bool unicode) {
  const MpiCall all = sum_of(traffic.calls);
  const double whole = traffic.whole_s;
  std::string text =
      keep(counted(all.calls, "MPI call")) + " took " + keep(duration(seconds_of(all.ns), unicode));
  if (whole > 0)
    text += ", " + keep(percent(seconds_of(all.ns) / whole)) + " of all threads' time" +
            (traffic.without_startup ? " without MPI_Init and MPI_Finalize" : "");
  text += ". They sent " + keep(bytes(static_cast<double>(all.sent)));
  text += " and received " + keep(bytes(static_cast<double>(all.received))) + '.';
  if (all.vain != 0) text += ' ' + keep(counted(all.vain, "more poll")) + " found nothing.";
  return text;
}

namespace {

/// What is known of calls for whose call paths a rank had no room.
std::string further_paths_phrase(const database::Contents& experiment) {
  std::uint64_t further = 0, all = 0;
  for (const CallTraffic& call : experiment.communication().calls) {
    all += call.calls;
    if (mpi_call_name(experiment, call.context) == kFurtherPaths) further += call.calls;
  }
  if (further == 0) return {};
  return "Of " + keep(counted(further, "call")) + " (" +
         keep(percent(static_cast<double>(further) / static_cast<double>(all))) +
         ") neither function nor path are known: " +
         (experiment.quality.full > 0 ? "the measurement had no space for them."
                                      : "these ranks call MPI from too many places.");
}

/// Why there were more calls than are counted.
std::string missing_calls_phrase(const database::Contents& experiment) {
  if (experiment.trace().traced > 0 && experiment.trace().stopped > 0)
    return keep(counted(experiment.trace().stopped, "trace")) +
           (experiment.trace().stopped == 1 ? " ends" : " end") +
           " before the run: later calls are not counted.";
  if (std::string cut = last_calls_phrase(experiment); !cut.empty()) return cut;
  return experiment.trace().traced == 0 && experiment.quality.full > 0
             ? "Calls are missing: the measurement had no space for them."
             : "";
}

/// With a trace, where several functions poll: whose time their loops are.
std::string mixed_polls_phrase(const database::Contents& experiment) {
  std::set<std::string> functions;
  for (const CallTraffic& call : experiment.communication().calls) {
    if (polls_in_vain(experiment, call.context) > 0)
      functions.insert(mpi_call_name(experiment, call.context));
  }
  if (counted_without_trace(experiment) || functions.size() < 2) return {};
  return "A loop of polls is one call, of the function that found something in the end, whichever polled "
         "before: views have what samples met in each.";
}

}  // namespace

std::string communication_note(const database::Contents& experiment) {
  std::string note;
  for (const std::string& phrase :
       {further_paths_phrase(experiment), missing_calls_phrase(experiment), mixed_polls_phrase(experiment)})
    if (!phrase.empty()) note += (note.empty() ? "" : " ") + phrase;
  if (!counted_without_trace(experiment)) return note;
  return note + (note.empty() ? "" : " ") +
         "Counted without a trace: times are those of the samples in these calls, where there are some, and "
         "MPI_Init and "
         "MPI_Finalize are not counted. The longest call is known of functions that wait. Partners of "
         "one-sided operations are not counted, nor are those of a "
         "thread beyond some 200. hpcrun-lite --trace records all of them.";
}

Table calls_table(const database::Contents& experiment, const MpiTraffic& traffic) {
  Table table{{{"path"},
               {"calls"},
               {"bytes"},
               {"seconds"},
               {"mean_s"},
               {"max_s"},
               {"threads"},
               {"busiest"},
               {"busiest_s"},
               {"messages"},
               {"smallest_bytes"},
               {"largest_bytes"},
               {"sent_bytes"},
               {"received_bytes"},
               {"polls_in_vain"},
               {"share", Table::In::text},
               {"size", Table::In::text},
               {"rate", Table::In::text},
               {"name", Table::In::text}},
              {},
              text_of_calls("call path")};
  for (const CallTraffic& call : traffic.paths) {
    table.rows.push_back(
        {Table::Path{call.context}, call.calls, call.message_bytes, seconds_of(call.ns),
         mean(call.ns, call.calls) / 1e9, longest(call.longest_ns), std::uint64_t{call.threads},
         Table::Thread{call.busiest}, seconds_of(call.busiest_ns), call.messages, call.smallest, call.largest,
         call.sent_bytes, call.received_bytes, polls_in_vain(experiment, call.context),
         share_of_run(call.ns, traffic.whole_s), message_size(call.message_bytes, call.messages),
         rate_of(mpi_call_name(experiment, call.context), call.message_bytes, call.ns),
         mpi_call_name(experiment, call.context)});
  }
  return table;
}

Table functions_table(const database::Contents& experiment, const MpiTraffic& traffic) {
  Table table{{{"call"},
               {"calls"},
               {"bytes"},
               {"seconds"},
               {"mean_s"},
               {"max_s"},
               {"ranks"},
               {"messages"},
               {"sent_bytes"},
               {"received_bytes"},
               {"polls_in_vain"},
               {"share", Table::In::text},
               {"size", Table::In::text},
               {"rate", Table::In::text},
               {"name", Table::In::text},
               {"calls_known", Table::In::text},
               {"seconds_known", Table::In::text},
               {"mean_known", Table::In::text},
               {"who", Table::In::text}},
              {},
              text_of_calls("call")};
  for (Table::TextColumn& each : table.text) {
    if (each.column == "calls") each.column = "calls_known";
    if (each.column == "seconds") each.column = "seconds_known";
    if (each.column == "mean_s") each.column = "mean_known";
  }
  table.text.push_back({.column = "who"});
  for (const MpiCall& call : traffic.calls) {
    table.rows.push_back(
        {call.name, call.calls, call.bytes, seconds_of(call.ns), mean(call.counted_ns, call.calls) / 1e9,
         longest(call.longest_ns), Table::Ranks{call.locations}, call.messages, call.sent, call.received,
         call.vain, where_sampled(experiment, call, share_of_run(call.ns, traffic.whole_s)),
         message_size(call.bytes, call.messages), rate_of(call.name, call.bytes, call.counted_ns), call.name,
         number_of(call), where_sampled(experiment, call, seconds_of(call.ns)), mean_time(call),
         who_calls(experiment, call)});
  }
  return table;
}

Json communication_json(const views::Figures& figures, bool without_startup) {
  const database::Contents& experiment = figures.experiment();
  MpiTraffic traffic = mpi_traffic(figures, without_startup);
  std::erase_if(traffic.calls, [](const MpiCall& call) { return call.calls == 0 && call.vain == 0; });
  const MpiCall all = sum_of(traffic.calls);
  return {{"calls", all.calls},
          {"bytes", all.sent},
          {"exact", !counted_without_trace(experiment) && experiment.trace().stopped == 0 &&
                        experiment.quality.cut_short == 0},
          {"whole_s", traffic.whole_s},
          {"mpi", to_json(experiment, functions_table(experiment, traffic))},
          {"partners", to_json(experiment, partners_table(experiment, experiment.communication().partners))},
          {"paths", to_json(experiment, calls_table(experiment, traffic))}};
}

void write_communication(std::ostream& out, const Screen& screen, const views::Figures& figures,
                         bool without_startup) {
  const database::Contents& experiment = figures.experiment();
  const MpiTraffic traffic = mpi_traffic(figures, without_startup);
  if (traffic.calls.empty()) {
    out << wrap(no_calls_phrase(experiment), screen.width) << '\n';
    return;
  }
  out << wrap(communication_summary(traffic, screen.unicode), screen.width) << "\n\n";
  for (const std::string& line : function_lines(screen, experiment, traffic)) out << line << '\n';
  write_paths(out, screen, experiment, traffic);
  if (!experiment.communication().partners.empty()) {
    out << "\nWho sends to whom, by messages and one-sided operations:\n";
    for (const std::string& line : partner_lines(screen, experiment)) out << line << '\n';
  }
  if (const std::string note = communication_note(experiment); !note.empty())
    out << '\n' << screen.dim(wrap(note, screen.width)) << '\n';
}

}  // namespace culprit::viewer
