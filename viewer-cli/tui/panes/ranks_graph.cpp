// How the pane Ranks is drawn: values over threads as bars, steps or a histogram, with their legend and
// scale.
#include "findings/phrases.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/panes/ranks_pane.hpp"
#include "tui/widgets/page.hpp"
#include "tui/widgets/plot.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer::tui {
namespace {

constexpr int kBeside = 120, kLeastPlot = 56;  // columns: a plot and a heat map; the plot then
constexpr int kScaleWidth = 9;                 // amounts beside the vertical axis, where they are not longer
constexpr int kBins = 24;
constexpr char32_t kLargest = U'─', kLargestLetter = U'-';  // of the threads that share a column

}  // namespace

int RanksPane::slot(std::size_t index, int width) const {
  const std::size_t shown = window_.shown(threads());
  return static_cast<int>((index - window_.first) * static_cast<std::size_t>(width) /
                          std::max<std::size_t>(shown, 1));
}

void RanksPane::draw(Canvas& canvas, const Area& area) {
  if (const std::string why = why_empty(); !why.empty()) {
    write_wrapped(canvas, area, why, Tone::dim);
    return;
  }
  const std::string over =
      series_.front().column + ", " + mode_name(mode_) + ", " + counted(threads(), "thread");
  const int heading_end = canvas.write(area.row, area.column, over, Tone::heading, area.width);
  const int taken = 1 + draw_legend(canvas, {area.row + 1, area.column, area.height - 1, area.width});
  Area below{area.row + taken, area.column, area.height - taken, area.width};
  if (below.height < 4) return;
  const bool alone = mode_ == Mode::procedures;
  heat_is_shown_ = alone || area.width >= kBeside;
  if (heat_is_shown_) {
    const int plot = alone ? 0 : std::max(kLeastPlot, area.width / 2);
    const Area beside{below.row, below.column + plot + (alone ? 0 : 3), below.height,
                      below.width - plot - (alone ? 0 : 3)};
    heat_.draw(canvas, beside, window_.first, window_.shown(threads()), window_.cursor, workspace_.unicode());
    below.width = plot;
  }
  if (alone) return;
  if (mode_ == Mode::histogram) {
    draw_histogram(canvas, below);
  } else {
    draw_graph(canvas, below);
    if (series_.size() == 1 && window_.shown(threads()) > static_cast<std::size_t>(inside_.width))
      draw_key(canvas, area, heading_end + 2);
  }
}

/// What columns of several threads show, as far as it fits behind the heading.
void RanksPane::draw_key(Canvas& canvas, const Area& area, int column) const {
  const std::string key = workspace_.unicode() ? "█ mean, ─ max" : "# mean, - max";
  const int room = area.column + area.width - column;
  for (const std::string& text : {"a column: " + key, key}) {
    if (static_cast<int>(columns(text)) > room) continue;
    canvas.write(area.row, column, text, Tone::dim, room);
    return;
  }
}

/// Why there is nothing to draw; empty: there is.
std::string RanksPane::why_empty() const {
  if (!column_over_ranks(workspace_)) return "No column that is shown has values per thread (c).";
  if (wanted().empty()) return "Choose a node in a tree first.";
  if (series_.empty()) return "Reading the values of all threads...";
  if (threads() > 0 && (largest_ > 0 || !workspace_.role())) return {};
  const std::string those =
      workspace_.role() ? "the " + role_phrase(workspace_.experiment(), *workspace_.role()) : "these threads";
  return "None of " + those + " has " + series_.front().column + " here (T: others).";
}

/// `not shown (T): main threads, mean 670.0 ms`; empty: the threads of the role that is drawn are all.
std::string RanksPane::elsewhere_text() const {
  if (series_.size() != 1) return {};
  std::string text;
  for (const RoleShare& each : series_.front().elsewhere) {
    text += (text.empty() ? "not shown (T): " : "; ") + role_phrase(workspace_.experiment(), each.role) +
            ", mean " + amount(each.sum / static_cast<double>(each.threads));
  }
  return text;
}

/// What is drawn, with its smallest, mean and largest value.
int RanksPane::draw_legend(Canvas& canvas, const Area& area) const {
  int row = area.row;
  for (std::size_t index = 0; index < series_.size(); ++index) {
    const auto number = static_cast<int>(index);
    const SeriesSummary summary = summarize(series_[index].values);
    const std::string figures = "min " + amount(summary.smallest) + "  mean " + amount(summary.mean) +
                                "  max " + amount(summary.largest);
    canvas.put(row, area.column, Dots::marker(number, workspace_.unicode()), series_tone(number));
    const int room = area.width - 2 - static_cast<int>(columns(figures)) - 2;
    const std::string title = shorten_name(series_[index].title, static_cast<std::size_t>(std::max(room, 12)),
                                           workspace_.unicode());
    const int column = canvas.write(row, area.column + 2, title, Tone::plain, area.width - 2);
    canvas.write(row, std::max(area.column + area.width - static_cast<int>(columns(figures)), column + 2),
                 figures, Tone::dim, area.width);
    ++row;
  }
  const std::string alike = groups_text(static_cast<std::size_t>(std::max(area.width - 2, 1)));
  canvas.write(row, area.column + 2, alike, groups_.size() > 1 ? Tone::warning : Tone::dim, area.width - 2);
  const std::string elsewhere = elsewhere_text();
  if (!elsewhere.empty()) canvas.write(++row, area.column + 2, elsewhere, Tone::dim, area.width - 2);
  return row - area.row + 1;
}

/// `rank 0: 605 ms, 64 × mean` or `ranks 1-63: 0 to 2 ms`.
std::string RanksPane::group_text(const AlikeThreads& group) const {
  std::string text = group.name + ": ";
  const std::string most = amount(group.largest);
  const std::string least = amount(group.smallest);
  text += least == most ? most : least.substr(0, least.rfind(' ')) + " to " + most;
  constexpr double kNotable = 1.5;
  const double mean = summarize(series_.front().values).mean;
  if (mean > 0 && group.smallest >= kNotable * mean)
    text += ", " + times_mean(group.smallest / mean, workspace_.unicode());
  return text;
}

/// Which threads are alike, those with most first; empty where no series is alone. Of many groups the last
/// are counted.
std::string RanksPane::groups_text(std::size_t width) const {
  std::string text;
  for (std::size_t index = 0; index < groups_.size(); ++index) {
    const std::string next = (index > 0 ? "   " : "") + group_text(groups_[index]);
    const std::size_t left = groups_.size() - index;
    const std::string more = "   " + counted(left, "more group");
    const std::size_t needed = columns(text) + columns(next) + (left > 1 ? columns(more) : 0);
    if (index > 0 && needed > width) return text + more;
    text += next;
  }
  return shorten_middle(text, width, workspace_.unicode());
}

void RanksPane::draw_scale(Canvas& canvas, const Area& area, const Area& inside, double largest) const {
  const bool unicode = workspace_.unicode();
  for (int row = inside.row; row < inside.row + inside.height; ++row)
    canvas.put(row, inside.column - 1, unicode ? U'│' : U'|', Tone::dim);
  for (int column = inside.column; column < inside.column + inside.width; ++column)
    canvas.put(inside.row + inside.height, column, unicode ? U'─' : U'-', Tone::dim);
  canvas.put(inside.row + inside.height, inside.column - 1, unicode ? U'└' : U'+', Tone::dim);
  const auto label = [&](int row, double value) {
    const std::string text = amount(value);
    const int room = inside.column - area.column - 2;
    canvas.write(row, area.column + std::max(room - static_cast<int>(columns(text)), 0), text, Tone::dim,
                 room);
  };
  label(inside.row, largest);
  if (inside.height >= 7) label(inside.row + inside.height / 2, largest / 2);
  label(inside.row + inside.height, 0);
}

/// Marks below the axis: the cursor, and threads that a finding named.
void RanksPane::draw_ranks(Canvas& canvas, const Area& inside) const {
  const bool unicode = workspace_.unicode();
  const int row = inside.row + inside.height;
  const std::size_t last = window_.first + window_.shown(threads()) - 1;
  if (mode_ == Mode::sorted) {
    canvas.write(row + 1, inside.column, "most", Tone::dim, inside.width);
    canvas.write(row + 1, inside.column + inside.width - 5, "least", Tone::dim, 5);
    return;
  }
  const int half = slot(window_.first + 1, inside.width) / 2;
  const auto place = [&](std::size_t index) { return inside.column + slot(index, inside.width) + half; };
  std::vector<std::uint32_t> marked = workspace_.marked_locations;
  std::sort(marked.begin(), marked.end());
  for (std::size_t index = window_.first; index <= last; ++index) {
    if (!std::binary_search(marked.begin(), marked.end(), series_.front().locations[index])) continue;
    canvas.put(row, place(index), unicode ? U'●' : U'*', Tone::hot);
  }
  canvas.put(row, place(window_.cursor), unicode ? U'▲' : U'^', Tone::strong);
  // The cursor's name below it, and those of both ends where they leave room for it.
  const std::string here = location_text(window_.cursor);
  const auto length = static_cast<int>(columns(here));
  const int at = std::clamp(place(window_.cursor) - length / 2, inside.column,
                            std::max(inside.column + inside.width - length, inside.column));
  const std::string begin = location_text(window_.first);
  const std::string end = location_text(last);
  const int end_at = inside.column + inside.width - static_cast<int>(columns(end));
  const bool at_begin = window_.cursor == window_.first;
  const bool at_end = window_.cursor == last;
  if (!at_begin && inside.column + static_cast<int>(columns(begin)) < at)
    canvas.write(row + 1, inside.column, begin, Tone::dim, inside.width);
  if (!at_end && at + length < end_at) canvas.write(row + 1, end_at, end, Tone::dim, inside.width);
  canvas.write(row + 1, at, here, Tone::strong, inside.width);
}

void RanksPane::draw_graph(Canvas& canvas, const Area& area) {
  const std::size_t longest = std::max(columns(amount(largest_)), columns(amount(largest_ / 2)));
  const int scale = std::max(kScaleWidth, static_cast<int>(longest) + 2);
  Area inside{area.row, area.column + scale, area.height - 2, area.width - scale};
  if (inside.width < 4 || inside.height < 2) return;
  // Columns of one width each, where they are narrow.
  const auto shown = static_cast<int>(std::min<std::size_t>(window_.shown(threads()), 1U << 20U));
  if (shown * 2 > inside.width && shown <= inside.width) inside.width = shown;
  inside_ = inside;
  window_.fit(threads());
  draw_scale(canvas, area, inside, largest_);
  std::vector<std::vector<double>> all;
  for (const RankSeries& each : series_) {
    all.push_back(each.values);
    if (mode_ == Mode::sorted) std::sort(all.back().begin(), all.back().end(), std::greater<>());
  }
  const bool few = window_.shown(threads()) * 2 <= static_cast<std::size_t>(inside.width);
  if (all.size() > 1) {
    draw_steps(canvas, inside, all);
  } else if (few) {
    draw_bars(canvas, inside, all.front());
  } else {
    draw_narrow_bars(canvas, inside, all.front());
  }
  if (mode_ == Mode::by_rank) name_outliers(canvas, inside);
  draw_ranks(canvas, inside);
}

/// A column for each thread, or, where threads share a column, their mean with a mark at the largest.
void RanksPane::draw_narrow_bars(Canvas& canvas, const Area& inside,
                                 const std::vector<double>& values) const {
  const std::size_t last = window_.first + window_.shown(threads());
  const auto cells = static_cast<std::size_t>(inside.width);
  const std::vector<double> means = means_in_cells(values, window_.first, last, cells);
  const std::vector<double> tallest = largest_in_cells(values, window_.first, last, cells);
  const int here = mode_ == Mode::by_rank ? slot(window_.cursor, inside.width) : -1;
  for (int column = 0; column < inside.width; ++column) {
    const auto cell = static_cast<std::size_t>(column);
    const Area bar{inside.row, inside.column + column, inside.height, 1};
    const Tone tone = column == here ? Tone::series_b : Tone::series_a;
    draw_bar(canvas, bar, largest_ > 0 ? means[cell] / largest_ : 0, tone, workspace_.unicode());
    if (!(tallest[cell] > 0)) continue;
    const auto down = static_cast<int>((1 - tallest[cell] / largest_) * inside.height);
    const int row = inside.row + std::min(down, inside.height - 1);
    if (canvas.at(row, bar.column).letter == U' ')
      canvas.put(row, bar.column, workspace_.unicode() ? kLargest : kLargestLetter, tone);
  }
}

/// Beside the tops of a few bars that stand out stands whose they are, where that covers no other bar.
void RanksPane::name_outliers(Canvas& canvas, const Area& inside) const {
  constexpr double kStandsOut = 1.5;
  constexpr std::size_t kFew = 3;
  if (groups_.size() < 2 || groups_.front().threads.size() > kFew) return;
  const double mean = summarize(series_.front().values).mean;
  for (const std::size_t thread : groups_.front().threads) {
    const bool shown = thread >= window_.first && thread < window_.first + window_.shown(threads());
    const double value = series_.front().values[thread];
    if (!shown || !(value >= kStandsOut * mean) || !(mean > 0)) continue;
    const std::string text = location_text(thread) + "  " + times_mean(value / mean, workspace_.unicode());
    const auto length = static_cast<int>(columns(text));
    const auto down = static_cast<int>((1 - value / largest_) * inside.height);
    const int row = inside.row + std::min(down, inside.height - 1);
    const int end = inside.column + inside.width;
    const int right = inside.column + slot(thread + 1, inside.width) + 1;
    const int left = inside.column + slot(thread, inside.width) - length - 1;
    const auto is_free = [&](int from) {
      if (from < inside.column || from + length > end) return false;
      for (int at = from; at < from + length; ++at) {
        if (canvas.at(row, at).letter != U' ') return false;
      }
      return true;
    };
    if (is_free(right)) {
      canvas.write(row, right, text, Tone::hot, length);
    } else if (is_free(left)) {
      canvas.write(row, left, text, Tone::hot, length);
    }
  }
}

void RanksPane::draw_bars(Canvas& canvas, const Area& inside, const std::vector<double>& values) const {
  for (std::size_t index = window_.first; index < window_.first + window_.shown(threads()); ++index) {
    const int begin = slot(index, inside.width);
    const int width = std::max(slot(index + 1, inside.width) - begin - 1, 1);
    const bool here = index == window_.cursor && mode_ == Mode::by_rank;
    draw_bar(canvas, {inside.row, inside.column + begin, inside.height, width},
             largest_ > 0 ? values[index] / largest_ : 0, here ? Tone::series_b : Tone::series_a,
             workspace_.unicode());
  }
}

/// A dash as wide as a thread's place at the height of its value; where several threads share a place, dots.
void RanksPane::draw_steps(Canvas& canvas, const Area& inside,
                           const std::vector<std::vector<double>>& all) const {
  Dots dots(inside, workspace_.unicode());
  for (std::size_t number = 0; number < all.size(); ++number) {
    for (std::size_t index = window_.first;
         index < window_.first + window_.shown(threads()) && index < all[number].size(); ++index) {
      const int begin = slot(index, dots.width());
      const int end = std::max(slot(index + 1, dots.width()), begin + 1);
      const double share = largest_ > 0 ? all[number][index] / largest_ : 0;
      const auto y = static_cast<int>(std::lround(share * (dots.height() - 1)));
      for (int x = begin; x < end; ++x) dots.set(x, y, static_cast<int>(number));
    }
  }
  dots.draw(canvas);
  if (all.size() > 1) mark_series(canvas, dots, all);
}

/// A series has its mark at regular distances, the next series some columns further: also where
/// series cross, and without colours, one sees which is which.
void RanksPane::mark_series(Canvas& canvas, const Dots& dots,
                            const std::vector<std::vector<double>>& all) const {
  constexpr int kEvery = 4;  // cells
  const int across = std::max(dots.width() / std::max(inside_.width, 1), 1);
  const auto number = static_cast<int>(all.size());
  const bool few =
      window_.shown(threads()) * static_cast<std::size_t>(number) <= static_cast<std::size_t>(inside_.width);
  int last = -1;
  for (std::size_t index = window_.first; index < window_.first + window_.shown(threads()); ++index) {
    const int begin = slot(index, dots.width());
    const int wide = std::max(slot(index + 1, dots.width()) - begin, 1);
    for (int series = 0; series < number; ++series) {
      const std::vector<double>& values = all[static_cast<std::size_t>(series)];
      if (index >= values.size()) continue;
      const int x = few ? begin + (2 * series + 1) * wide / (2 * number) : begin;
      const int cell = x / across;
      if (!few && (cell == last || cell / kEvery % number != series || cell % kEvery != 0)) continue;
      const double share = largest_ > 0 ? values[index] / largest_ : 0;
      dots.mark(canvas, x, static_cast<int>(std::lround(share * (dots.height() - 1))), series);
      if (!few) last = cell;
    }
  }
}

/// How many threads have which value, of each series.
void RanksPane::draw_histogram(Canvas& canvas, const Area& area) const {
  const Area inside{area.row, area.column + kScaleWidth, area.height - 2, area.width - kScaleWidth};
  if (inside.width < kBins || inside.height < 2) return;
  std::vector<std::vector<double>> counts;
  double most = 0;
  for (const RankSeries& each : series_) {
    counts.emplace_back(kBins, 0.0);
    for (const double value : each.values) {
      const auto bin =
          largest_ > 0 ? static_cast<std::size_t>(std::lround(value / largest_ * (kBins - 1))) : 0;
      most = std::max(most, ++counts.back()[std::min<std::size_t>(bin, kBins - 1)]);
    }
  }
  draw_scale(canvas, area, inside, 0);
  canvas.fill({inside.row, area.column, inside.height + 1, kScaleWidth - 1}, U' ', Tone::plain);
  const std::string top = grouped(most);
  canvas.write(inside.row, area.column + kScaleWidth - 2 - static_cast<int>(columns(top)), top, Tone::dim,
               kScaleWidth);
  canvas.write(inside.row + 1, area.column, "threads", Tone::dim, kScaleWidth - 2);
  const auto number = static_cast<int>(counts.size());
  for (int bin = 0; bin < kBins; ++bin) {
    const int begin = bin * inside.width / kBins;
    const int end = (bin + 1) * inside.width / kBins;
    for (int each = 0; each < number; ++each) {
      const int from = begin + each * (end - begin) / number;
      const int width = std::max((end - begin) / number - (number == 1 ? 1 : 0), 1);
      draw_bar(canvas, {inside.row, inside.column + from, inside.height, width},
               counts[static_cast<std::size_t>(each)][static_cast<std::size_t>(bin)] / most,
               series_tone(each), workspace_.unicode());
    }
  }
  canvas.write(inside.row + inside.height + 1, inside.column, "0", Tone::dim, inside.width);
  const std::string end = amount(largest_);
  canvas.write(inside.row + inside.height + 1, inside.column + inside.width - static_cast<int>(columns(end)),
               end, Tone::dim, inside.width);
}

}  // namespace culprit::viewer::tui
