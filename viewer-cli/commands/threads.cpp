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
#include <memory>
#include <numeric>

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

  void bars() {
    std::size_t names = 0;
    for (const std::uint32_t location : series_.locations) {
      names = std::max(names, columns(location_label(experiment_, location)));
    }
    const std::size_t numbers = columns(scale_.write(largest_));
    const std::size_t taken = names + numbers + 2 + 2 + 10;
    const std::size_t width =
        std::clamp<std::size_t>(screen_.width > taken ? screen_.width - taken : 0, 10, 100);
    for (std::size_t index = 0; index < series_.values.size(); ++index) {
      const double value = series_.values[index];
      const std::string name = location_label(experiment_, series_.locations[index]);
      std::string drawn = bar(value / largest_, width, screen_.unicode);
      std::string mark;
      if (outliers_[index]) {
        mark = "  " + difference(value, mean());
        drawn = screen_.warning(drawn);
      }
      out_ << name << std::string(names - columns(name) + 2, ' ') << align_right(scale_.write(value), numbers)
           << "  " << drawn << screen_.bold(mark) << '\n';
    }
  }

  /// Neighbours together: their range as a light bar around a mark at their mean.
  void groups() {
    const std::size_t count = series_.values.size();
    const std::size_t each = (count + kGroups - 1) / kGroups;
    const std::size_t numbers = columns(scale_.write(largest_));
    std::vector<std::string> names;
    std::size_t widest = 0;
    for (std::size_t begin = 0; begin < count; begin += each) {
      const std::size_t last = std::min(begin + each, count) - 1;
      names.push_back(location_label(experiment_, series_.locations[begin]) +
                      (screen_.unicode ? " … " : " ... ") +
                      location_label(experiment_, series_.locations[last]));
      widest = std::max(widest, columns(names.back()));
    }
    const std::size_t taken = widest + 3 * (numbers + 2) + 2;
    const std::size_t width =
        std::clamp<std::size_t>(screen_.width > taken ? screen_.width - taken : 0, 10, 100);
    out_ << std::string(widest, ' ') << "  " << align_right("min", numbers) << "  "
         << align_right("mean", numbers) << "  " << align_right("max", numbers) << '\n';
    for (std::size_t group = 0; group < names.size(); ++group) {
      const auto begin = series_.values.begin() + static_cast<std::ptrdiff_t>(group * each);
      const auto end =
          series_.values.begin() + static_cast<std::ptrdiff_t>(std::min((group + 1) * each, count));
      const double low = *std::min_element(begin, end);
      const double high = *std::max_element(begin, end);
      const double middle = std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
      out_ << names[group] << std::string(widest - columns(names[group]) + 2, ' ')
           << align_right(scale_.write(low), numbers) << "  " << align_right(scale_.write(middle), numbers)
           << "  " << align_right(scale_.write(high), numbers) << "  "
           << range(low / largest_, middle / largest_, high / largest_, width) << '\n';
    }
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
    std::vector<std::size_t> listed;
    for (std::size_t index = 0; index < series_.values.size(); ++index) {
      if (outliers_[index]) listed.push_back(index);
    }
    if (listed.empty()) return;
    std::stable_sort(listed.begin(), listed.end(), [&](std::size_t a, std::size_t b) {
      return std::abs(series_.values[a] - mean()) > std::abs(series_.values[b] - mean());
    });
    out_ << "\nOutliers\n";
    for (std::size_t index = 0; index < std::min(listed.size(), kOutliersListed); ++index) {
      const double value = series_.values[listed[index]];
      out_ << "  " << location_label(experiment_, series_.locations[listed[index]]) << "  " << amount(value)
           << "  " << difference(value, mean()) << '\n';
    }
    if (listed.size() > kOutliersListed) {
      out_ << "  and " << listed.size() - kOutliersListed << " more (--format csv lists all values)\n";
    }
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
  const Scale scale = scale_for(largest, series.column.unit, screen.unicode);
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
    Plot(out, screen, experiment, part, scale, largest)
        .write(metric + ", " + keep(grouped(static_cast<double>(part.values.size()))) + ' ' +
               role_phrase(experiment, role));
  }
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
