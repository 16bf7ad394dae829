#include "commands/communication.hpp"

#include "commands/rows.hpp"
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

/// What all measured threads spent in the run.
double whole_seconds(const database::Contents& experiment) {
  return total_seconds(experiment, "REALTIME");
}

CallTraffic sum_of(const std::vector<CallTraffic>& calls) {
  CallTraffic all;
  for (const CallTraffic& call : calls) {
    all.calls += call.calls;
    all.ns += call.ns;
    all.messages += call.messages;
    all.sent_bytes += call.sent_bytes;
    all.received_bytes += call.received_bytes;
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

/// The rows of numbers on calls: a heading, then one row per call path.
class CallRows {
 public:
  CallRows(std::ostream& out, const Screen& screen, const database::Contents& experiment)
      : out_(out), screen_(screen), experiment_(experiment), whole_(whole_seconds(experiment)) {}

  void heading() const {
    std::string line;
    for (std::size_t i = 0; i < kHeadings.size(); ++i) line += align_right(kHeadings[i], kWidths[i]);
    out_ << screen_.dim(line + "  call") << '\n';
  }
  void row(const CallTraffic& call) const {
    const std::array<std::string, 8> cells = {
        duration(seconds_of(call.ns), screen_.unicode),
        whole_ > 0 ? percent(seconds_of(call.ns) / whole_) : std::string(),
        grouped(static_cast<double>(call.calls)),
        duration(mean(call.ns, call.calls) / 1e9, screen_.unicode),
        duration(seconds_of(call.longest_ns), screen_.unicode),
        call.messages == 0 ? std::string() : bytes(mean(call.message_bytes, call.messages)),
        call.sent_bytes == 0 ? std::string() : bytes(static_cast<double>(call.sent_bytes)),
        call.received_bytes == 0 ? std::string() : bytes(static_cast<double>(call.received_bytes))};
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) line += align_right(cells[i], kWidths[i]);
    const std::size_t left = screen_.width > columns(line) + 12 ? screen_.width - columns(line) - 2 : 10;
    out_ << line << "  " << screen_.bold(procedure_name(experiment_, call.context, left, screen_.unicode))
         << '\n'
         << screen_.dim(
                std::string(4, ' ') +
                wrap(path_text(experiment_, call.context, screen_) + whose(call), screen_.width, 4, 4))
         << '\n';
  }

 private:
  static constexpr std::array<const char*, 8> kHeadings = {"time",    "of run", "calls", "mean",
                                                           "longest", "size",   "sent",  "received"};
  static constexpr std::array<std::size_t, 8> kWidths = {9, 9, 12, 9, 9, 9, 9, 10};

  [[nodiscard]] std::string whose(const CallTraffic& call) const {
    const std::array<std::uint32_t, 1> busiest = {call.busiest};
    if (call.threads == 1) return "  on " + keep(threads_phrase(experiment_, busiest));
    const std::string threads = are_ranks(experiment_, busiest) ? "rank" : "thread";
    return "  on " + keep(counted(call.threads, threads)) + ", most on " +
           keep(threads_phrase(experiment_, busiest)) + ' ' +
           keep('(' + duration(seconds_of(call.busiest_ns), screen_.unicode) + ')');
  }

  std::ostream& out_;
  const Screen& screen_;
  const database::Contents& experiment_;
  double whole_;
};

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

}  // namespace

Table calls_table(const database::Contents& experiment) {
  Table table{{{"path"},
               {"calls"},
               {"time_s"},
               {"longest_s"},
               {"threads"},
               {"busiest"},
               {"busiest_s"},
               {"messages"},
               {"message_bytes"},
               {"smallest_bytes"},
               {"largest_bytes"},
               {"sent_bytes"},
               {"received_bytes"}},
              {}};
  for (const CallTraffic& call : experiment.communication().calls) {
    table.rows.push_back(
        {Table::Path{call.context}, call.calls, seconds_of(call.ns), seconds_of(call.longest_ns),
         std::uint64_t{call.threads}, Table::Thread{call.busiest}, seconds_of(call.busiest_ns), call.messages,
         call.message_bytes, call.smallest, call.largest, call.sent_bytes, call.received_bytes});
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

Json communication_json(const database::Contents& experiment) {
  return {{"whole_s", whole_seconds(experiment)},
          {"calls", to_json(experiment, calls_table(experiment))},
          {"partners", to_json(experiment, partners_table(experiment))}};
}

void write_communication(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  const Communication& communication = experiment.communication();
  const CallTraffic all = sum_of(communication.calls);
  const double whole = whole_seconds(experiment);
  std::string text =
      keep(counted(all.calls, "MPI call")) + " took " + keep(duration(seconds_of(all.ns), screen.unicode));
  if (whole > 0) text += ", " + keep(percent(seconds_of(all.ns) / whole)) + " of all threads' time";
  text += ". They sent " + keep(bytes(static_cast<double>(all.sent_bytes))) + " and received " +
          keep(bytes(static_cast<double>(all.received_bytes))) + '.';
  out << wrap(text, screen.width) << "\n\n";
  const CallRows rows(out, screen, experiment);
  rows.heading();
  const std::size_t shown = rows_to_show(communication.calls, static_cast<double>(all.ns),
                                         [](const CallTraffic& call) { return call.ns; });
  for (std::size_t i = 0; i < shown; ++i) rows.row(communication.calls[i]);
  if (shown < communication.calls.size())
    out << "and " << communication.calls.size() - shown << " more (--format csv or json)\n";
  if (!communication.partners.empty()) write_partners(out, screen, communication.partners);
}

}  // namespace culprit::viewer
