#include "commands/communication.hpp"

#include "commands/list.hpp"
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
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {

using database::CallTraffic;
using database::Communication;
using database::PartnerTraffic;

namespace {

constexpr std::uint64_t kWorld = 1;  // the number of MPI_COMM_WORLD
/// A matrix of more ranks does not fit beside their numbers on most screens.
constexpr std::size_t kMatrixRanks = 16;
constexpr std::size_t kCommunicatorsShown = 4;
constexpr std::size_t kPairsShown = 10;

double mean(std::uint64_t sum, std::uint64_t number) {
  return number == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(number);
}

Table::Cell longest(std::uint64_t ns) {
  return ns == 0 ? Table::Cell() : Table::Cell(seconds_of(ns));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// What all measured threads spent in the run.
double whole_seconds(const database::Contents& experiment) {
  return total_seconds(experiment, "REALTIME");
}

MpiCall sum_of(const std::vector<MpiCall>& calls) {
  MpiCall all;
  for (const MpiCall& call : calls) {
    all.calls += call.calls;
    all.ns += call.ns;
    all.messages += call.messages;
    all.sent += call.sent;
    all.received += call.received;
  }
  return all;
}

std::string communicator_name(const PartnerTraffic& row) {
  if (row.communicator == 0) return "smaller communicators";
  if (row.communicator == kWorld) return "MPI_COMM_WORLD";
  return "a communicator or window of " + std::to_string(row.members) + " processes";
}

/// `3`, or, where a row stands for several ranks, `0-63`.
std::string ranks_name(std::int32_t first, std::uint32_t ranks) {
  if (ranks == 1) return std::to_string(first);
  return std::to_string(first) + '-' + std::to_string(first + static_cast<std::int64_t>(ranks) - 1);
}

/// A message's bytes over the time of the calls that moved it: `1.25 GB/s`.
std::string rate(std::uint64_t moved, std::uint64_t ns) {
  if (moved == 0 || ns == 0) return {};
  return bytes(static_cast<double>(moved) / seconds_of(ns)) + "/s";
}

/// The numbers on calls, a row for each function or call path.
class CallRows {
 public:
  CallRows(const Screen& screen, const database::Contents& experiment)
      : screen_(screen), whole_(whole_seconds(experiment)) {}

  [[nodiscard]] std::string heading() const {
    std::string line;
    for (std::size_t i = 0; i < kHeadings.size(); ++i) line += align_right(kHeadings[i], kWidths[i]);
    return line;
  }
  template <class Call>
  [[nodiscard]] std::string numbers(const Call& call, std::uint64_t moved) const {
    const std::array<std::string, 7> cells = {
        duration(seconds_of(call.ns), screen_.unicode),
        whole_ > 0 ? round_percent(seconds_of(call.ns) / whole_) : std::string(),
        grouped(static_cast<double>(call.calls)),
        duration(mean(call.ns, call.calls) / 1e9, screen_.unicode),
        call.longest_ns == 0 ? std::string() : duration(seconds_of(call.longest_ns), screen_.unicode),
        call.messages == 0 ? std::string() : bytes(mean(moved, call.messages)),
        rate(moved, call.ns)};
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) line += align_right(cells[i], kWidths[i]);
    return line;
  }

 private:
  static constexpr std::array<const char*, 7> kHeadings = {"time",    "of run", "calls", "mean",
                                                           "longest", "size",   "rate"};
  static constexpr std::array<std::size_t, 7> kWidths = {8, 10, 11, 8, 8, 8, 10};

  const Screen& screen_;
  double whole_;
};

std::string moved_phrase(std::uint64_t sent, std::uint64_t received) {
  std::string text;
  if (sent != 0) text += ", sent " + keep(bytes(static_cast<double>(sent)));
  if (received != 0) text += ", received " + keep(bytes(static_cast<double>(received)));
  return text;
}

std::string busiest_phrase(const database::Contents& experiment, const CallTraffic& call, bool unicode) {
  const std::array<std::uint32_t, 1> busiest = {call.busiest};
  if (call.threads == 1) return "on " + keep(threads_phrase(experiment, busiest));
  const std::string threads = are_ranks(experiment, busiest) ? "rank" : "thread";
  return "on " + keep(counted(call.threads, threads)) + ", most on " +
         keep(threads_phrase(experiment, busiest)) + ' ' +
         keep('(' + duration(seconds_of(call.busiest_ns), unicode) + ')');
}

/// Rows of one communicator, or of all.
class PartnerRows {
 public:
  PartnerRows(std::ostream& out, const Screen& screen, std::vector<PartnerTraffic> rows)
      : out_(out), screen_(screen), rows_(std::move(rows)) {
    for (const PartnerTraffic& row : rows_) {
      sides_.insert(row.from);
      sides_.insert(row.to);
      partners_[row.from].insert(row.to);
      messages_ += row.messages;
      bytes_ += row.bytes;
    }
  }

  void write(const std::string& name) {
    const std::uint32_t ranks = rows_.front().ranks;
    out_ << wrap(screen_.bold(name) + ": " + keep(bytes(static_cast<double>(bytes_))) + " in " +
                     keep(counted(messages_, "message")) + partners_phrase(),
                 screen_.width, 2)
         << '\n';
    if (sides_.size() <= kMatrixRanks && ranks == 1) {
      matrix();
    } else {
      pairs();
    }
  }

 private:
  [[nodiscard]] std::string partners_phrase() const {
    if (rows_.front().ranks != 1) return ", " + counted(rows_.front().ranks, "rank") + " together";
    std::size_t least = sides_.size(), most = 0;
    for (const auto& [from, to] : partners_) {
      least = std::min(least, to.size());
      most = std::max(most, to.size());
    }
    const std::string number =
        least == most ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
    return "; " + counted(partners_.size(), "rank") + (partners_.size() == 1 ? " sends" : " send") + " to " +
           keep(number + (most == 1 ? " other" : " others")) +
           (least == most && partners_.size() > 1 ? " each" : "");
  }

  void matrix() const {
    std::map<std::pair<std::int32_t, std::int32_t>, std::uint64_t> sent;
    for (const PartnerTraffic& row : rows_) sent[{row.from, row.to}] += row.bytes;
    std::size_t width = 4;
    for (const auto& [pair, amount] : sent)
      width = std::max(width, columns(bytes(static_cast<double>(amount))));
    if ((width + 2) * sides_.size() + 9 > screen_.width) return pairs();
    std::string heading = "from \\ to";
    for (const std::int32_t to : sides_) heading += align_right(std::to_string(to), width + 2);
    out_ << screen_.dim(heading) << '\n';
    for (const std::int32_t from : sides_) {
      std::string line = align_right(std::to_string(from), 9);
      for (const std::int32_t to : sides_) {
        const auto found = sent.find({from, to});
        const std::string none = screen_.unicode ? "·" : ".";
        line +=
            align_right(found == sent.end() ? none : bytes(static_cast<double>(found->second)), width + 2);
      }
      out_ << line << '\n';
    }
  }

  void pairs() const {
    std::vector<PartnerTraffic> largest = rows_;
    std::ranges::stable_sort(largest, std::ranges::greater(), &PartnerTraffic::bytes);
    const std::size_t shown = std::min(largest.size(), kPairsShown);
    for (std::size_t i = 0; i < shown; ++i) {
      const PartnerTraffic& row = largest[i];
      out_ << "    " << align_right(bytes(static_cast<double>(row.bytes)), 9) << "  from rank "
           << ranks_name(row.from, row.ranks) << " to " << ranks_name(row.to, row.ranks) << " in "
           << counted(row.messages, "message") << " of " << bytes(mean(row.bytes, row.messages)) << '\n';
    }
    if (shown < largest.size())
      out_ << "    and " << grouped(static_cast<double>(largest.size() - shown))
           << " more pairs (--format json)\n";
  }

  std::ostream& out_;
  const Screen& screen_;
  std::vector<PartnerTraffic> rows_;
  std::set<std::int32_t> sides_;
  std::map<std::int32_t, std::set<std::int32_t>> partners_;
  std::uint64_t messages_ = 0, bytes_ = 0;
};

void write_partners(std::ostream& out, const Screen& screen, const std::vector<PartnerTraffic>& partners) {
  out << '\n' << "Who sends to whom, by messages and one-sided operations:" << '\n';
  std::size_t shown = 0;
  for (auto first = partners.begin(); first != partners.end() && shown < kCommunicatorsShown; ++shown) {
    const auto last = std::find_if(first, partners.end(), [&](const PartnerTraffic& row) {
      return row.communicator != first->communicator;
    });
    PartnerRows(out, screen, {first, last}).write(communicator_name(*first));
    first = last;
  }
  std::set<std::uint64_t> all;
  for (const PartnerTraffic& row : partners) all.insert(row.communicator);
  if (all.size() > shown)
    out << "and " << counted(all.size() - shown, "communicator") << " more (--format json)\n";
}

/// Of a few kinds of calls.
void write_functions(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                     const std::vector<MpiCall>& calls) {
  const CallRows rows(screen, experiment);
  out << screen.dim(rows.heading() + "  call") << '\n';
  for (const MpiCall& call : calls) {
    const std::string threads = are_ranks(experiment, call.locations) ? "rank" : "thread";
    const std::string who = call.locations.empty() ? "" : ", " + counted(call.locations.size(), threads);
    out << rows.numbers(call, call.bytes) << "  " << screen.bold(call.name) << who << '\n';
  }
}

void write_paths(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  const std::vector<CallTraffic>& calls = experiment.communication().calls;
  const CallRows rows(screen, experiment);
  out << '\n' << screen.dim(rows.heading() + "  call path") << '\n';
  double all_ns = 0;
  for (const CallTraffic& call : calls) all_ns += static_cast<double>(call.ns);
  const std::size_t shown = rows_to_show(calls, all_ns, [](const CallTraffic& call) { return call.ns; });
  for (std::size_t i = 0; i < shown; ++i) {
    const CallTraffic& call = calls[i];
    out << rows.numbers(call, call.message_bytes) << "  "
        << screen.bold(mpi_call_name(experiment, call.context)) << '\n'
        << screen.dim(std::string(4, ' ') + wrap(call_details(experiment, call, screen), screen.width, 4, 4))
        << '\n';
  }
  if (shown < calls.size()) out << "and " << calls.size() - shown << " more (--format csv or json)\n";
}

}  // namespace

std::string call_details(const database::Contents& experiment, const CallTraffic& call,
                         const Screen& screen) {
  return path_text(experiment, call.context, screen) + "  " +
         busiest_phrase(experiment, call, screen.unicode) +
         moved_phrase(call.sent_bytes, call.received_bytes);
}

std::vector<std::string> function_lines(const Screen& screen, const database::Contents& experiment,
                                        const std::vector<MpiCall>& calls) {
  std::ostringstream text;
  write_functions(text, screen, experiment, calls);
  return lines_of(text.str());
}

std::vector<std::string> partner_lines(const Screen& screen, const database::Contents& experiment) {
  std::ostringstream text;
  if (!experiment.communication().partners.empty())
    write_partners(text, screen, experiment.communication().partners);
  return lines_of(text.str());
}

std::string communication_summary(const database::Contents& experiment, const std::vector<MpiCall>& calls,
                                  bool unicode) {
  const MpiCall all = sum_of(calls);
  const double whole = whole_seconds(experiment);
  std::string text =
      keep(counted(all.calls, "MPI call")) + " took " + keep(duration(seconds_of(all.ns), unicode));
  if (whole > 0) text += ", " + keep(percent(seconds_of(all.ns) / whole)) + " of all threads' time";
  text += ". They sent " + keep(bytes(static_cast<double>(all.sent)));
  text += " and received " + keep(bytes(static_cast<double>(all.received)));
  return text + '.';
}

std::string communication_note(const database::Contents& experiment) {
  if (!counted_without_trace(experiment)) return {};
  return "Counted without a trace: times are those of the samples in these calls. Not counted are "
         "partners of one-sided operations and beyond some 200 of a thread. hpcrun-lite --trace records all "
         "of them.";
}

Table calls_table(const database::Contents& experiment) {
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
               {"received_bytes"}},
              {}};
  for (const CallTraffic& call : experiment.communication().calls) {
    table.rows.push_back({Table::Path{call.context}, call.calls, call.message_bytes, seconds_of(call.ns),
                          mean(call.ns, call.calls) / 1e9, longest(call.longest_ns),
                          std::uint64_t{call.threads}, Table::Thread{call.busiest},
                          seconds_of(call.busiest_ns), call.messages, call.smallest, call.largest,
                          call.sent_bytes, call.received_bytes});
  }
  return table;
}

Table functions_table(const std::vector<MpiCall>& calls) {
  Table table{{{"call"},
               {"calls"},
               {"bytes"},
               {"seconds"},
               {"mean_s"},
               {"max_s"},
               {"ranks"},
               {"messages"},
               {"sent_bytes"},
               {"received_bytes"}},
              {}};
  for (const MpiCall& call : calls) {
    table.rows.push_back({call.name, call.calls, call.bytes, seconds_of(call.ns),
                          mean(call.ns, call.calls) / 1e9, longest(call.longest_ns),
                          Table::Ranks{call.locations}, call.messages, call.sent, call.received});
  }
  return table;
}

Table partners_table(const database::Contents& experiment) {
  Table table{{{"communicator"}, {"members"}, {"from"}, {"to"}, {"ranks"}, {"messages"}, {"bytes"}}, {}};
  for (const PartnerTraffic& row : experiment.communication().partners) {
    table.rows.push_back({row.communicator, std::uint64_t{row.members}, std::int64_t{row.from},
                          std::int64_t{row.to}, std::uint64_t{row.ranks}, row.messages, row.bytes});
  }
  return table;
}

Json communication_json(const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const std::vector<MpiCall> calls = mpi_calls(figures);
  const MpiCall all = sum_of(calls);
  return {{"calls", all.calls},
          {"bytes", all.sent},
          {"exact", !counted_without_trace(experiment)},
          {"whole_s", whole_seconds(experiment)},
          {"mpi", to_json(experiment, functions_table(calls))},
          {"partners", to_json(experiment, partners_table(experiment))},
          {"paths", to_json(experiment, calls_table(experiment))}};
}

void write_communication(std::ostream& out, const Screen& screen, const views::Figures& figures) {
  const database::Contents& experiment = figures.experiment();
  const std::vector<MpiCall> calls = mpi_calls(figures);
  out << wrap(communication_summary(experiment, calls, screen.unicode), screen.width) << "\n\n";
  write_functions(out, screen, experiment, calls);
  write_paths(out, screen, experiment);
  if (!experiment.communication().partners.empty())
    write_partners(out, screen, experiment.communication().partners);
  if (const std::string note = communication_note(experiment); !note.empty())
    out << '\n' << screen.dim(wrap(note, screen.width)) << '\n';
}

}  // namespace culprit::viewer
