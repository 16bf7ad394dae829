#include "tui/panes/ranks_pane.hpp"

#include "findings/phrases.hpp"
#include "text/frame_json.hpp"
#include "text/quantity.hpp"
#include "text/table.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace culprit::viewer::tui {

RanksPane::RanksPane(Workspace& workspace, Host& host) : workspace_(workspace), host_(host) {}

std::vector<NodeRef> RanksPane::wanted() const {
  std::vector<NodeRef> nodes = workspace_.marked;
  if (nodes.empty() && workspace_.chosen) nodes.push_back(*workspace_.chosen);
  return nodes;
}

bool RanksPane::up_to_date() const {
  const std::vector<NodeRef> nodes = wanted();
  const std::optional<views::Column> column = column_over_ranks(workspace_);
  if (!column) return true;
  return nodes.size() == series_.size() && std::equal(nodes.begin(), nodes.end(), series_.begin(),
                                                      [&](const NodeRef& node, const RankSeries& each) {
                                                        return each.ref == node &&
                                                               each.column == column->title;
                                                      });
}

bool RanksPane::work() {
  if (read_nodes()) return true;
  return heat_is_shown_ && !series_.empty() && heat_.step(workspace_, series_.front().role);
}

bool RanksPane::read_nodes() {
  if (up_to_date()) return false;
  const std::vector<NodeRef> nodes = wanted();
  const std::optional<views::Column> column = column_over_ranks(workspace_);
  std::erase_if(series_, [&](const RankSeries& each) {
    return each.column != column->title || std::find(nodes.begin(), nodes.end(), each.ref) == nodes.end();
  });
  std::vector<RankSeries> ordered;
  bool read = false;
  for (const NodeRef& node : nodes) {
    std::optional<std::uint32_t> role;  // of all the same threads
    if (!ordered.empty()) role = ordered.front().role;
    const auto known = std::find_if(series_.begin(), series_.end(), [&](const RankSeries& each) {
      return each.ref == node && (!role || each.role == *role);
    });
    if (known != series_.end()) {
      ordered.push_back(*known);
    } else if (!read) {
      ordered.push_back(read_series(workspace_, node, *column, role));
      read = true;
    }
  }
  series_ = std::move(ordered);
  largest_ = 0;
  for (const RankSeries& each : series_) largest_ = std::max(largest_, summarize(each.values).largest);
  group();
  window_.fit(threads());
  return !up_to_date();
}

/// Once, not with each frame: there may be many threads.
void RanksPane::group() {
  groups_.clear();
  if (series_.size() != 1) return;
  groups_ = group_alike(series_.front().values);
  for (AlikeThreads& each : groups_) {
    std::vector<std::uint32_t> locations;
    for (const std::size_t thread : each.threads) locations.push_back(series_.front().locations[thread]);
    each.name = threads_phrase(workspace_.experiment(), locations);
  }
}

void RanksPane::move(std::ptrdiff_t by) {
  window_.move(by, threads());
}

bool RanksPane::handle(const Event& given) {
  if (given.key == Key::click) return click(given);
  const Event event = navigation(given);
  const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(window_.shown(threads()) / 8, 1));
  switch (event.key) {
    case Key::left:
      move(-1);
      return true;
    case Key::right:
      move(1);
      return true;
    case Key::page_up:
    case Key::wheel_up:
      move(-page);
      return true;
    case Key::page_down:
    case Key::wheel_down:
      move(page);
      return true;
    case Key::home:
      window_.cursor = 0;
      return true;
    case Key::end:
      window_.cursor = threads() == 0 ? 0 : threads() - 1;
      return true;
    case Key::letter:
      break;
    default:
      return false;
  }
  switch (event.letter) {
    case U'm':
      mode_ = static_cast<Mode>((static_cast<int>(mode_) + 1) % static_cast<int>(kModes.size()));
      return true;
    case U'+':
    case U'=':
      window_.zoom(true, threads());
      return true;
    case U'-':
      window_.zoom(false, threads());
      return true;
    case U'0':
      window_.count = 0;
      return true;
    case U'<':
    case U'>': {
      const std::size_t columns = workspace_.columns().size();
      workspace_.columns().sort_by((workspace_.columns().sort() + (event.letter == U'>' ? 1 : columns - 1)) %
                                   columns);
      shown();
      return true;
    }
    case U'x':
      workspace_.marked.clear();
      host_.notify("No node is marked any more");
      shown();
      return true;
    default:
      return false;
  }
}

bool RanksPane::click(const Event& event) {
  if (!inside_.contains(event.row, event.column) || threads() == 0) return false;
  const std::size_t shown = window_.shown(threads());
  window_.cursor = window_.first + static_cast<std::size_t>(event.column - inside_.column) * shown /
                                       static_cast<std::size_t>(std::max(inside_.width, 1));
  window_.fit(threads());
  return true;
}

/// As `threads` writes one node; of several, a column each.
std::string RanksPane::csv() const {
  Table table{{{"rank"}, {"thread"}, {"role"}, {"process"}}, {}};
  for (const RankSeries& each : series_)
    table.columns.push_back({series_.size() == 1 ? each.column : each.column + ' ' + each.title});
  const database::Contents& experiment = workspace_.experiment();
  for (std::size_t index = 0; index < threads(); ++index) {
    const database::LocationEntry self = experiment.locations[series_.front().locations[index]];
    table.rows.push_back({self.rank < 0 ? Table::Cell() : std::int64_t{self.rank}, std::uint64_t{self.thread},
                          experiment.roles[self.role].name, process_of(self)});
    for (const RankSeries& each : series_)
      table.rows.back().emplace_back(index < each.values.size() ? Table::Cell(each.values[index])
                                                                : Table::Cell());
  }
  std::ostringstream text;
  write_csv(text, experiment, table);
  return text.str();
}

std::string RanksPane::amount(double value) const {
  const Scale scale = scale_for(largest_, series_.empty() ? "" : series_.front().unit, workspace_.unicode());
  const std::string digits = value == 0 ? "0" : scale.write(value);
  return scale.unit.empty() ? digits : digits + ' ' + scale.unit;
}

std::string RanksPane::location_text(std::size_t index) const {
  return location_label(workspace_.experiment(), series_.front().locations[index]);
}

std::string RanksPane::mode_name(Mode mode) const {
  if (mode == Mode::by_rank && workspace_.experiment().run.ranks == 0) return "by thread";
  return kModes.at(static_cast<std::size_t>(mode));
}

std::vector<Hint> RanksPane::hints() const {
  if (mode_ == Mode::sorted || mode_ == Mode::histogram)  // which have no cursor
    return {{"m", "procedures, " + mode_name(Mode::by_rank)},
            {"<>", "column"},
            {"x", "unmark"},
            {"B", "back"},
            {"e", "explain"}};
  return {{"m", "sorted, histogram, procedures"},
          {"h l", "cursor"},
          {"+ -", "zoom"},
          {"<>", "column"},
          {"x", "unmark"},
          {"B", "back"},
          {"e", "explain"}};
}

std::string RanksPane::status() const {
  if (series_.empty() || window_.cursor >= threads()) return {};
  if (mode_ == Mode::sorted) return "Each node's threads, those with most first";
  if (mode_ == Mode::histogram) return "How many threads have which value";
  if (mode_ == Mode::procedures)
    return location_text(window_.cursor) + " is at the mark; shades are of the largest value";
  std::string text = location_text(window_.cursor) + ":";
  for (std::size_t number = 0; number < series_.size(); ++number) {
    const RankSeries& each = series_[number];
    if (window_.cursor >= each.values.size()) continue;
    const double value = each.values[window_.cursor];
    const double mean = summarize(each.values).mean;
    text += number > 0 ? "  " : " ";
    if (series_.size() > 1) {
      encode(Dots::marker(static_cast<int>(number), workspace_.unicode()), text);
      text += ' ';
    }
    text += amount(value);
    if (mean > 0) {
      constexpr double kManyTimes = 2;
      if (value >= kManyTimes * mean) {
        text += " (" + times_mean(value / mean, workspace_.unicode()) + ')';
        continue;
      }
      const double percent = 100 * (value / mean - 1);
      const std::string digits = grouped(std::abs(percent));
      text += digits == "0" ? " (the mean)"
                            : " (" + digits + " % " + (percent > 0 ? "above" : "below") + " the mean)";
    }
  }
  return text;
}

}  // namespace culprit::viewer::tui
