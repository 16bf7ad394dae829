// Shows one node's value on each thread, and finds threads far from the others: more than 3.5 robust standard
// deviations (1.4826 times the median absolute deviation), and more than 5 % of the median, away from the
// median. The median, since the threads that are looked for would move a mean. Beyond 64 threads, neighbours
// are drawn together as their range and mean, and the outliers are listed.
#include "commands/run.hpp"
#include "findings/phrases.hpp"
#include "request/view_request.hpp"
#include "text/frame_json.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "text/table.hpp"
#include "views/callers.hpp"
#include "views/calling_context.hpp"
#include "views/derived.hpp"
#include "views/flat.hpp"
#include "views/node_path.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

/// One node's value for every selected thread, in location order, in the column's unit.
struct ThreadSeries {
  std::string title;               ///< what the node is called, on the screen
  std::vector<views::Frame> path;  ///< its call path
  views::Column column;
  std::vector<std::uint32_t> locations;
  std::vector<double> values;  ///< parallel to `locations`
};

constexpr std::size_t kBars = 64;  // more threads are shown in groups
constexpr std::size_t kGroups = 32;
constexpr std::size_t kOutliersListed = 12;
constexpr double kDeviations = 3.5;
constexpr double kMadToSigma = 1.4826;
constexpr double kLeastDifference = 0.05;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Blocks with eighths in Unicode, `#` in ASCII.
std::string bar(double share, std::size_t width, bool unicode) {
  const double cells = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  if (!unicode) return std::string(static_cast<std::size_t>(std::lround(cells)), '#');
  constexpr std::array<const char*, 8> eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  auto full = static_cast<std::size_t>(cells);
  auto part = static_cast<std::size_t>(std::lround((cells - static_cast<double>(full)) * 8));
  if (part == 8) {
    ++full;
    part = 0;
  }
  std::string text;
  for (std::size_t cell = 0; cell < full; ++cell) text += "█";
  return text + eighths[part];
}

std::string difference(double value, double mean) {
  if (mean <= 0) return {};
  const double percent = 100 * (value / mean - 1);
  return (percent >= 0 ? "+" : "") + grouped(percent) + " %";
}

Table table_of(const database::Contents& experiment, const ThreadSeries& series) {
  using enum Table::In;
  Table table{{{"location", json},
               {"rank", csv},
               {"thread", csv},
               {"role", csv},
               {"process", csv},
               {"value", json},
               {series.column.title, csv}},
              {}};
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    const database::LocationEntry self = experiment.locations[series.locations[i]];
    table.rows.push_back({Table::Thread{series.locations[i]},
                          self.rank < 0 ? Table::Cell() : std::int64_t{self.rank}, std::uint64_t{self.thread},
                          experiment.roles[self.role].name, process_of(self), series.values[i],
                          series.values[i]});
  }
  return table;
}

/// The threads of one role.
class Plot {
 public:
  Plot(std::ostream& out, const Screen& screen, const database::Contents& experiment,
       const ThreadSeries& series, const Scale& scale, double largest)
      : out_(out),
        screen_(screen),
        experiment_(experiment),
        series_(series),
        outliers_(find_outliers(series.values)),
        scale_(scale),
        largest_(largest) {
    for (const double value : series_.values) sum_ += value;
  }

  void write(const std::string& whose) {
    summary(whose);
    if (sum_ <= 0) return;
    if (series_.values.size() <= kBars) {
      bars();
    } else {
      groups();
      list_outliers();
    }
  }

 private:
  [[nodiscard]] double mean() const { return sum_ / static_cast<double>(series_.values.size()); }
  [[nodiscard]] std::string amount(double value) const {
    const std::string digits = value == 0 ? "0" : scale_.write(value);
    return scale_.unit.empty() ? digits : digits + ' ' + scale_.unit;
  }

  void summary(const std::string& whose) {
    if (sum_ <= 0) {
      out_ << wrap(whose + ": nothing", screen_.width, 2) << '\n';
      return;
    }
    double squares = 0;
    for (const double value : series_.values) squares += (value - mean()) * (value - mean());
    const double deviation = std::sqrt(squares / static_cast<double>(series_.values.size()));
    const auto [smallest, most] = std::minmax_element(series_.values.begin(), series_.values.end());
    out_ << wrap(whose + ": min " + keep(amount(*smallest)) + ", mean " + keep(amount(mean())) + ", max " +
                     keep(amount(*most)) + ", deviation " + keep(percent(deviation / mean())),
                 screen_.width, 2)
         << '\n';
  }

  /// A row for each thread; those far from the others have their difference from the mean.
  [[nodiscard]] Table table() const {
    Table table = table_of(experiment_, series_);
    table.columns.push_back({"difference", Table::In::text});
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      table.rows[i].push_back(outliers_[i] ? Table::Cell(difference(series_.values[i], mean()))
                                           : Table::Cell());
    table.text = {{.column = "location"},
                  {.column = "value", .as = Table::As::scaled, .scale = scale_},
                  {.column = "difference", .as = Table::As::right}};
    return table;
  }

  /// Behind each of the lines what is drawn of it, in as many columns as are left.
  template <class Draw>
  void write_drawn(const std::vector<std::string>& lines, const Draw& draw) {
    constexpr std::size_t kLeast = 10, kMost = 100;
    std::size_t taken = 0;
    for (const std::string& line : lines) taken = std::max(taken, columns(line) + 2);
    const std::size_t width = std::clamp(screen_.width > taken ? screen_.width - taken : 0, kLeast, kMost);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string drawn = draw(i, width);
      out_ << lines[i] << (drawn.empty() ? "" : std::string(taken - columns(lines[i]), ' ')) << drawn << '\n';
    }
  }

  void bars() {
    write_drawn(to_lines(screen_, experiment_, table(), series_.values.size()),
                [&](std::size_t index, std::size_t width) {
                  const std::string drawn = bar(series_.values[index] / largest_, width, screen_.unicode);
                  return outliers_[index] ? screen_.warning(drawn) : drawn;
                });
  }

  /// Neighbours together: their range as a light bar around a mark at their mean.
  void groups() {
    const std::size_t count = series_.values.size();
    const std::size_t each = (count + kGroups - 1) / kGroups;
    Table table{{{"threads"}, {"min"}, {"mean"}, {"max"}}, {}, {{.column = "threads"}}};
    for (const char* const name : {"min", "mean", "max"})
      table.text.push_back({.column = name, .heading = name, .as = Table::As::scaled, .scale = scale_});
    std::vector<std::array<double, 3>> ranges;
    for (std::size_t first = 0; first < count; first += each) {
      const std::size_t last = std::min(first + each, count) - 1;
      const std::span values = std::span(series_.values).subspan(first, last + 1 - first);
      const auto [low, high] = std::ranges::minmax(values);
      const double middle =
          std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
      const std::string name = location_label(experiment_, series_.locations[first]) +
                               (screen_.unicode ? " … " : " ... ") +
                               location_label(experiment_, series_.locations[last]);
      table.rows.push_back({name, low, middle, high});
      ranges.push_back({low / largest_, middle / largest_, high / largest_});
    }
    std::vector<std::string> lines = to_lines(screen_, experiment_, table, ranges.size());
    out_ << lines.front() << '\n';
    lines.erase(lines.begin());
    write_drawn(lines, [&](std::size_t group, std::size_t width) {
      const auto& [low, middle, high] = ranges[group];
      return range(low, middle, high, width);
    });
  }

  [[nodiscard]] std::string range(double low, double middle, double high, std::size_t width) const {
    const auto cell = [&](double share) {
      return std::min(width - 1, static_cast<std::size_t>(share * static_cast<double>(width)));
    };
    std::string text;
    for (std::size_t at = 0; at <= cell(high); ++at) {
      if (at == cell(middle)) {
        text += screen_.unicode ? "█" : "#";
      } else if (at >= cell(low)) {
        text += screen_.unicode ? "─" : "-";
      } else {
        text += ' ';
      }
    }
    return text;
  }

  void list_outliers() {
    Table outliers = table();
    std::vector<std::pair<double, Table::Row>> listed;  // how far from the mean
    for (std::size_t i = 0; i < outliers.rows.size(); ++i) {
      if (outliers_[i])
        listed.emplace_back(std::abs(series_.values[i] - mean()), std::move(outliers.rows[i]));
    }
    if (listed.empty()) return;
    std::ranges::stable_sort(listed, std::ranges::greater(), [](const auto& one) { return one.first; });
    outliers.rows.clear();
    for (auto& [distance, row] : listed) outliers.rows.push_back(std::move(row));
    out_ << "\nOutliers\n";
    for (const std::string& line : to_lines(screen_, experiment_, outliers, kOutliersListed))
      out_ << "  " << line << '\n';
    if (listed.size() > kOutliersListed)
      out_ << "  and " << listed.size() - kOutliersListed << " more (--format csv lists all values)\n";
  }

  std::ostream& out_;
  const Screen& screen_;
  const database::Contents& experiment_;
  const ThreadSeries& series_;
  std::vector<bool> outliers_;
  Scale scale_;
  double largest_, sum_ = 0;
};

}  // namespace

std::vector<bool> find_outliers(const std::vector<double>& values) {
  std::vector<bool> outliers(values.size(), false);
  if (values.size() < 3) return outliers;
  const double middle = median(values);
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  const double spread = median(deviations) * kMadToSigma;
  for (std::size_t index = 0; index < values.size(); ++index) {
    const double deviation = std::abs(values[index] - middle);
    outliers[index] = deviation > kDeviations * spread && deviation > kLeastDifference * std::abs(middle);
  }
  return outliers;
}

namespace {

/// Bars with minimum, mean and maximum; threads far from the others are marked. Many threads are shown in
/// groups of neighbours (their range and mean), with the outliers listed.
void write_text(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                const ThreadSeries& series) {
  out << screen.bold(shorten_name(series.title, screen.width, screen.unicode)) << '\n';
  const std::string metric = series.column.name.event + (series.column.name.inclusive ? " (I)" : " (E)");
  double largest = 0;
  for (const double value : series.values) largest = std::max(largest, value);
  Scale scale = scale_for(largest, series.column.unit, screen.unicode);
  if (scale.unit == "count") scale.unit.clear();  // the metric's name says of what
  for (std::uint32_t role = 0; role < experiment.roles.size(); ++role) {
    ThreadSeries part;
    part.column = series.column;
    for (std::size_t index = 0; index < series.values.size(); ++index) {
      if (experiment.locations[series.locations[index]].role != role) continue;
      part.locations.push_back(series.locations[index]);
      part.values.push_back(std::isnan(series.values[index]) ? 0 : series.values[index]);
    }
    if (part.values.empty()) continue;
    out << '\n';
    std::string of_role = role_phrase(experiment, role);
    if (part.values.size() == 1) of_role.pop_back();  // the plural's s
    Plot(out, screen, experiment, part, scale, largest)
        .write(fmt::format("{}, {} {}", metric, keep(grouped(static_cast<double>(part.values.size()))),
                           of_role));
  }
}

/// `{"node":path,"metric","unit","values":[{location…,"value"}]}`.
Json json_of(const database::Contents& experiment, const ThreadSeries& series) {
  return {{"node", path_json(series.path)},
          {"metric", series.column.title},
          {"unit", series.column.unit},
          {"values", to_json(experiment, table_of(experiment, series))}};
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
    throw UsageError("threads: " + name + ": " + missing.what());
  }
}

/// Throws UsageError unless the metric, or what it is derived from, was measured in each thread.
void require_threads(const database::Contents& experiment, const views::Column& column) {
  std::vector<views::Column> measured;
  views::add_measured(column, measured);
  for (const views::Column& each : measured) {
    if (!each.blame && !experiment.metrics[each.metric].summary_only) continue;
    throw UsageError("metric: " + each.name.event +
                     " has no values per thread (it is computed over all threads; try idleness)");
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
  if (frame.kind == database::ContextKind::loop && frame.file.empty()) {
    views::NodeId around = found.view->parent(found.node);
    while (around != database::kNone && !views::is_procedure(found.view->kind(around)))
      around = found.view->parent(around);
    if (around != database::kNone)
      series.title += " in " + without_parameters(label(found.view->frame(around)));
  }
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

}  // namespace

void run_threads(std::ostream& out, const Screen& screen, const views::Source& source,
                 const Invocation& invocation) {
  const ThreadSeries series = make_series(source, invocation);
  const database::Contents& experiment = source.experiment();
  switch (invocation.format) {
    case Format::text:
      write_text(out, screen, experiment, series);
      break;
    case Format::json:
      out << write(json_of(experiment, series));
      break;
    case Format::csv:
      write_csv(out, experiment, table_of(experiment, series));
      break;
  }
}

}  // namespace culprit::viewer
