// Shows which rank sends how much to which, by communicator: up to 16 ranks as a matrix of bytes; more ranks
// as a shaded matrix of up to 16 blocks of consecutive ranks, and the pairs that send most.
#include "commands/communication.hpp"
#include "findings/phrases.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace culprit::viewer {

using database::PartnerTraffic;

namespace {

constexpr std::uint64_t kWorld = 1;  // the number of MPI_COMM_WORLD
/// A matrix of more ranks does not fit beside their numbers on most screens.
constexpr std::size_t kMatrixRanks = 16;
constexpr std::size_t kCommunicatorsShown = 4;    // with a matrix
constexpr std::size_t kCommunicatorsListed = 12;  // of further ones the sums
constexpr std::size_t kPairsShown = 10;
constexpr std::size_t kPartnersIndent = 2;  // of a table of partners

/// Whether rows may be of windows, which have none without a trace, and none where nothing is done to one.
bool may_hold_windows(const database::Contents& experiment) {
  return experiment.trace().traced > 0 &&
         std::ranges::any_of(experiment.communication().calls, [&](const database::CallTraffic& call) {
           return views::frame_of(experiment, experiment.contexts[call.context]).name.starts_with("MPI_Win_");
         });
}

/// `communicator "row" (2 processes)`; the name is the program's.
std::string communicator_name(const database::Contents& experiment, const PartnerTraffic& row) {
  if (row.communicator == 0) return "smaller communicators";
  if (row.communicator == kWorld) return "MPI_COMM_WORLD";
  const std::string members =
      grouped(static_cast<double>(row.members)) + (row.members == 1 ? " process" : " processes");
  const std::string kind = may_hold_windows(experiment) ? "communicator or window" : "communicator";
  const auto name = experiment.run.names.find(row.communicator);
  if (name == experiment.run.names.end()) return "a " + kind + " of " + members;
  return kind + " \"" + name->second + "\" (" + members + ')';
}

/// `3`, or, where a row stands for several ranks, `0-63`.
std::string ranks_name(std::int32_t first, std::uint32_t ranks) {
  if (ranks == 1) return std::to_string(first);
  return std::to_string(first) + '-' + std::to_string(first + static_cast<std::int64_t>(ranks) - 1);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Bytes between blocks of consecutive ranks, shaded by quarters of the largest sum.
class BlockMatrix {
 public:
  BlockMatrix(const Screen& screen, const std::vector<PartnerTraffic>& rows) : screen_(screen) {
    std::int64_t last = 0;
    for (const PartnerTraffic& row : rows) {
      last = std::max(last, std::int64_t{std::max(row.from, row.to)} + row.ranks - 1);
      ranks_ = std::max(ranks_, std::int64_t{row.ranks});
    }
    label_ = std::max(kFromTo.size(), std::to_string(last).size());
    const std::size_t beside = kPartnersIndent + label_ + 2;
    const std::size_t room = (std::max(screen.width, beside + kCell) - beside) / kCell;
    const auto most = static_cast<std::int64_t>(std::min(room, kMatrixRanks));
    // Rows that stand for several ranks are not divided.
    ranks_ *= (last / ranks_ + most) / most;
    blocks_ = static_cast<std::size_t>(last / ranks_) + 1;
    for (const PartnerTraffic& row : rows) {
      if (row.from < 0 || row.to < 0) continue;  // outside MPI_COMM_WORLD
      std::uint64_t& cell = sent_[{row.from / ranks_, row.to / ranks_}];
      cell += row.bytes;
      largest_ = std::max(largest_, cell);
    }
  }

  [[nodiscard]] std::vector<std::string> lines() const {
    const std::array<const char*, 5>& signs = screen_.unicode ? kShades : kLetters;
    std::vector<std::string> lines = lines_of(legend(signs));
    lines.push_back(heading());
    for (std::size_t from = 0; from < blocks_; ++from) {
      std::string line = first_of(from);
      line.insert(0, label_ - std::min(label_, line.size()), ' ');
      line += "  ";
      for (std::size_t to = 0; to < blocks_; ++to) {
        const std::size_t level = level_of(from, to);
        line += level == 0 ? std::string(" ") + signs.front() + "  "
                           : std::string(signs.at(level)) + signs.at(level) + signs.at(level) + ' ';
      }
      line.resize(line.find_last_not_of(' ') + 1);
      lines.push_back(line);
    }
    return lines;
  }

 private:
  static constexpr std::size_t kCell = 4;  // columns
  static constexpr std::string_view kFromTo = "from \\ to";
  static constexpr std::array<const char*, 5> kShades = {"·", "░", "▒", "▓", "█"};
  static constexpr std::array<const char*, 5> kLetters = {".", "-", "+", "*", "#"};

  [[nodiscard]] std::string legend(const std::array<const char*, 5>& signs) const {
    const std::string each =
        ranks_ == 1 ? "one rank"
                    : counted(static_cast<std::uint64_t>(ranks_), "rank") + ", named by the first";
    return wrap("each row and column is " + keep(each) + "; four shades from " + signs[1] + " to " +
                    signs[4] + ", at most " + keep(bytes(static_cast<double>(largest_))) + "; " + signs[0] +
                    " nothing",
                screen_.width - kPartnersIndent);
  }

  /// The first rank of a block.
  [[nodiscard]] std::string first_of(std::size_t block) const {
    return std::to_string(static_cast<std::int64_t>(block) * ranks_);
  }

  /// Columns are named as far as their names have space.
  [[nodiscard]] std::string heading() const {
    std::string line(kFromTo);
    line.insert(0, label_ - line.size(), ' ');
    for (std::size_t to = 0; to < blocks_; ++to) {
      const std::size_t at = label_ + 2 + to * kCell;
      if (to != 0 && line.size() + 1 > at) continue;
      line.resize(at, ' ');
      line += first_of(to);
    }
    return line;
  }

  [[nodiscard]] std::size_t level_of(std::size_t from, std::size_t to) const {
    const auto found = sent_.find({static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)});
    if (found == sent_.end() || found->second == 0) return 0;
    const double share = static_cast<double>(found->second) / static_cast<double>(largest_);
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(share * 4)), 1, 4);
  }

  const Screen& screen_;
  std::int64_t ranks_ = 1;  ///< in a block
  std::size_t blocks_ = 1, label_ = 0;
  std::uint64_t largest_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> sent_;
};

/// Rows of one communicator, or of all.
class PartnerRows {
 public:
  PartnerRows(std::ostream& out, const Screen& screen, const database::Contents& experiment,
              std::vector<PartnerTraffic> rows)
      : out_(out), screen_(screen), experiment_(experiment), rows_(std::move(rows)) {
    for (const PartnerTraffic& row : rows_) {
      sides_.insert(row.from);
      sides_.insert(row.to);
      partners_[row.from].insert(row.to);
      messages_ += row.messages;
      bytes_ += row.bytes;
    }
  }

  /// In one line.
  void write_sums(const std::string& name) const {
    const std::vector<std::int32_t> sides(sides_.begin(), sides_.end());
    say(name, rows_.front().ranks == 1 ? "; " + ranks_phrase(sides) : partners_phrase());
  }

  void write(const std::string& name) const {
    say(name, partners_phrase());
    if (sides_.size() <= kMatrixRanks && rows_.front().ranks == 1) {
      const std::vector<std::string> lines = to_lines(screen_, experiment_, matrix(), sides_.size());
      if (kPartnersIndent + columns(lines.back()) <= screen_.width) return write_lines(lines);
    }
    if (rows_.size() > kPairsShown) write_lines(BlockMatrix(screen_, rows_).lines());
    pairs();
  }

 private:
  void say(const std::string& name, const std::string& who) const {
    out_ << wrap(screen_.bold(name) + ": " + keep(bytes(static_cast<double>(bytes_))) + " in " +
                     keep(counted(messages_, "message")) + who,
                 screen_.width, 2)
         << '\n';
  }

  [[nodiscard]] std::string partners_phrase() const {
    if (rows_.front().ranks != 1) return ", " + counted(rows_.front().ranks, "rank") + " together";
    if (std::string own = own_phrase(); !own.empty()) return own;
    std::size_t least = sides_.size(), most = 0;
    for (const auto& [from, to] : partners_) {
      const std::size_t others = to.size() - to.count(from);
      least = std::min(least, others);
      most = std::max(most, others);
    }
    const std::string number =
        least == most ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
    return "; " + counted(partners_.size(), "rank") + (partners_.size() == 1 ? " sends" : " send") + " to " +
           keep(number + (most == 1 ? " other" : " others")) +
           (least == most && partners_.size() > 1 ? " each" : "");
  }

  /// Where nobody sends to others.
  [[nodiscard]] std::string own_phrase() const {
    const bool others =
        std::ranges::any_of(rows_, [](const PartnerTraffic& row) { return row.from != row.to; });
    if (others) return {};
    return "; " + counted(partners_.size(), "rank") +
           (partners_.size() == 1 ? " sends to itself" : " send, each to itself");
  }

  [[nodiscard]] Table matrix() const {
    using As = Table::As;
    Table table{{{"from"}}, {}, {{.column = "from", .heading = "from \\ to", .as = As::right}}};
    std::map<std::pair<std::int32_t, std::int32_t>, std::uint64_t> sent;
    for (const PartnerTraffic& row : rows_) sent[{row.from, row.to}] += row.bytes;
    for (const std::int32_t to : sides_) {
      const std::string name = std::to_string(to);
      table.columns.push_back({name});
      table.text.push_back(
          {.column = name, .heading = name, .as = As::bytes, .none = screen_.unicode ? "·" : "."});
    }
    for (const std::int32_t from : sides_) {
      Table::Row& row = table.rows.emplace_back(Table::Row{std::int64_t{from}});
      for (const std::int32_t to : sides_) {
        const auto found = sent.find({from, to});
        row.push_back(found == sent.end() ? Table::Cell() : Table::Cell(found->second));
      }
    }
    return table;
  }

  void pairs() const {
    std::vector<PartnerTraffic> largest = rows_;
    std::ranges::stable_sort(largest, std::ranges::greater(), &PartnerTraffic::bytes);
    write_lines(to_lines(screen_, experiment_, partners_table(experiment_, largest), kPairsShown));
    if (kPairsShown < largest.size())
      out_ << "and " << grouped(static_cast<double>(largest.size() - kPairsShown))
           << " more pairs (--format json)\n";
  }

  void write_lines(const std::vector<std::string>& lines) const {
    for (const std::string& line : lines) out_ << std::string(kPartnersIndent, ' ') << line << '\n';
  }

  std::ostream& out_;
  const Screen& screen_;
  const database::Contents& experiment_;
  std::vector<PartnerTraffic> rows_;
  std::set<std::int32_t> sides_;
  std::map<std::int32_t, std::set<std::int32_t>> partners_;
  std::uint64_t messages_ = 0, bytes_ = 0;
};

void write_partners(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  const std::vector<PartnerTraffic>& partners = experiment.communication().partners;
  std::size_t shown = 0;
  for (auto first = partners.begin(); first != partners.end() && shown < kCommunicatorsListed; ++shown) {
    const auto last = std::find_if(first, partners.end(), [&](const PartnerTraffic& row) {
      return row.communicator != first->communicator;
    });
    const PartnerRows rows(out, screen, experiment, {first, last});
    const std::string name = communicator_name(experiment, *first);
    if (shown < kCommunicatorsShown) {
      rows.write(name);
    } else {
      rows.write_sums(name);
    }
    first = last;
  }
  std::set<std::uint64_t> all;
  for (const PartnerTraffic& row : partners) all.insert(row.communicator);
  if (all.size() > shown)
    out << "and " << counted(all.size() - shown, "communicator") << " more (--format json)\n";
}

}  // namespace

std::vector<std::string> partner_lines(const Screen& screen, const database::Contents& experiment) {
  std::ostringstream text;
  write_partners(text, screen, experiment);
  return lines_of(text.str());
}

Table partners_table(const database::Contents& experiment, const std::vector<PartnerTraffic>& partners) {
  using As = Table::As;
  Table table{{{"communicator"},
               {"name"},
               {"members"},
               {"from"},
               {"to"},
               {"ranks"},
               {"messages"},
               {"bytes"},
               {"senders", Table::In::text},
               {"receivers", Table::In::text},
               {"size", Table::In::text}},
              {},
              {{.column = "bytes", .heading = "bytes", .as = As::bytes},
               {.column = "senders", .heading = "from rank", .as = As::right},
               {.column = "receivers", .heading = "to rank", .as = As::right},
               {.column = "messages", .heading = "messages", .as = As::number},
               {.column = "size", .heading = "size", .as = As::bytes}}};
  for (const PartnerTraffic& row : partners) {
    const auto name = experiment.run.names.find(row.communicator);
    table.rows.push_back(
        {row.communicator, name == experiment.run.names.end() ? Table::Cell() : Table::Cell(name->second),
         std::uint64_t{row.members}, std::int64_t{row.from}, std::int64_t{row.to}, std::uint64_t{row.ranks},
         row.messages, row.bytes, ranks_name(row.from, row.ranks), ranks_name(row.to, row.ranks),
         row.messages == 0
             ? Table::Cell()
             : Table::Cell(static_cast<double>(row.bytes) / static_cast<double>(row.messages))});
  }
  return table;
}

}  // namespace culprit::viewer
