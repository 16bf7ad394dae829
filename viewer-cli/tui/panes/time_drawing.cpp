// How the pane Time is drawn: the map with its legend, labels and axes.
#include "findings/coverage.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/pages/page_parts.hpp"
#include "tui/panes/time_pane.hpp"
#include "tui/widgets/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace culprit::viewer::tui {
namespace {

constexpr int kLabelWidth = 10;     // "invocation"
constexpr int kTallest = 6;         // lines of a bar
constexpr double kLeastApart = 14;  // columns between numbers on an axis
constexpr std::size_t kCellsPerMessage = 4;
constexpr int kLegendLines = 3;         // that the map leaves to the parts' names, in windows of
constexpr int kTallForLegend = 16;      // this many lines
constexpr std::size_t kUsualName = 24;  // columns
/// Distinguished without colours, too.
constexpr std::array<char32_t, kParts> kPartSigns = {U'█', U'▓', U'▒', U'░', U'▚', U'▞', U'▖', U'·'};
constexpr std::array<char32_t, kParts> kPartLetters = {U'#', U'*', U'=', U'+', U'%', U'o', U'-', U'.'};

/// The least of 1, 2, 5, 10, 20, … and 0.5, 0.2, 0.1, … that is at least `wanted`.
double round_step(double wanted) {
  constexpr double kTen = 10;
  const double power = std::pow(kTen, std::floor(std::log10(wanted)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= wanted) return digit * power;
  }
  return kTen * power;
}

/// Where entries of a legend begin, one behind the other: line and column. `longest`: of their names.
std::vector<std::pair<int, int>> legend_places(const std::vector<LegendEntry>& entries, int width,
                                               std::size_t longest) {
  std::vector<std::pair<int, int>> places;
  int line = 0, column = 0;
  for (const LegendEntry& each : entries) {
    const auto length = static_cast<int>(std::min(columns(each.name), longest)) + 2;
    if (column > 0 && column + length > width) {
      ++line;
      column = 0;
    }
    places.emplace_back(line, column);
    column += length + 2;
  }
  return places;
}

}  // namespace

void TimePane::draw(Canvas& canvas, const Area& area) {
  if (grid() == nullptr) {
    draw_missing(canvas, area);
    return;
  }
  constexpr int kAbove = 1;
  const int below = (grid_->further_axis().empty() ? 2 : 3) + legend_lines(area);
  const std::size_t ranks = grid_->rows();
  const std::size_t segments = grid_->columns();
  ranks_.fit(ranks);
  segments_.fit(segments);
  if (near_ != nullptr) {
    waits_for_calls_ =
        near_->want({ranks_.first, ranks_.shown(ranks)}, {segments_.first, segments_.shown(segments)});
    if (near_->renew()) map_ = {};
  }
  const std::string title = grid_->title(static_cast<std::size_t>(area.width), workspace_.unicode());
  canvas.write(area.row, area.column, title, Tone::heading, area.width);
  const int room = std::max(area.height - kAbove - below, 1);
  const auto shown =
      static_cast<int>(std::min<std::size_t>(ranks_.shown(ranks), static_cast<std::size_t>(room)));
  bar_height_ = std::clamp(room / std::max(shown, 1), 1, kTallest);
  constexpr std::size_t kWidest = 10;  // columns of an iteration, or of a bin of time
  const int width = area.width - kLabelWidth - 1;
  const auto wide = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(std::max(width, 1)),
                                                           segments_.shown(segments) * kWidest));
  const auto even = [](int cells, std::size_t things) {
    const auto number = static_cast<int>(std::min<std::size_t>(things, static_cast<std::size_t>(cells)));
    return number > 0 ? cells / number * number : cells;
  };
  inside_ = {area.row + kAbove, area.column + kLabelWidth + 1, shown * bar_height_,
             segments_.shown(segments) < static_cast<std::size_t>(wide)
                 ? even(wide, segments_.shown(segments))
                 : wide};
  draw_map(canvas, inside_);
  draw_labels(canvas, area, inside_);
  draw_path(canvas, {area.row + area.height - 1, area.column, 1, area.width});
}

/// How the code under the cursor was called.
void TimePane::draw_path(Canvas& canvas, const Area& line) const {
  const database::ContextId context = grid_->context(ranks_.cursor, segments_.cursor);
  if (context == database::kNone) return;
  Page page;
  add_path(page, workspace_, context, line.width, 0);
  canvas.write(line.row, line.column, text_of(page.lines.front()), Tone::dim, line.width);
}

/// The map stays as it is while only the cursor moves: with many ranks it takes longer than a key may wait.
void TimePane::form_map(const Area& inside) {
  Map now;
  now.ranks = {ranks_.first, ranks_.shown(grid_->rows())};
  now.segments = {segments_.first, segments_.shown(grid_->columns())};
  now.lines = static_cast<std::size_t>(inside.height / bar_height_);
  now.wide = static_cast<std::size_t>(inside.width);
  const bool same = now.ranks == map_.ranks && now.segments == map_.segments && now.lines == map_.lines &&
                    now.wide == map_.wide;
  if (same) return;
  map_ = std::move(now);
  map_.cells = grid_->cells(map_.ranks, map_.segments, map_.lines, map_.wide);
  map_.critical.clear();
  if (!legend_.empty()) mark_critical();
  map_.messages.clear();
  if (near_ != nullptr && bar_height_ > 1) map_.messages = near_->lines(map_.ranks, map_.segments);
  if (map_.messages.size() > map_.wide / kCellsPerMessage) map_.messages.clear();
}

/// Which cells the critical path goes through.
void TimePane::mark_critical() {
  map_.critical.assign(map_.lines * map_.wide, false);
  for (std::size_t line = 0; line < map_.lines; ++line) {
    const std::size_t first = map_.ranks.first + first_of(line, map_.lines, map_.ranks.count);
    const std::size_t last =
        std::max(map_.ranks.first + first_of(line + 1, map_.lines, map_.ranks.count), first + 1);
    for (std::size_t cell = 0; cell < map_.wide; ++cell) {
      const std::size_t from = map_.segments.first + first_of(cell, map_.wide, map_.segments.count);
      const std::size_t end = map_.segments.first + first_of(cell + 1, map_.wide, map_.segments.count);
      for (std::size_t rank = first; rank < last && !map_.critical[line * map_.wide + cell]; ++rank)
        map_.critical[line * map_.wide + cell] = grid_->is_critical(rank, from, std::max(end, from + 1));
    }
  }
}

void TimePane::draw_map(Canvas& canvas, const Area& inside) {
  form_map(inside);
  const auto holds = [](std::size_t cell, std::size_t cells, const TimeGrid::Part& part, std::size_t cursor) {
    const std::size_t from = part.first + first_of(cell, cells, part.count);
    const std::size_t until = part.first + first_of(cell + 1, cells, part.count);
    return cursor >= from && cursor < std::max(until, from + 1);
  };
  for (std::size_t line = 0; line < map_.lines; ++line) {
    const bool here = holds(line, map_.lines, map_.ranks, ranks_.cursor);
    for (std::size_t cell = 0; cell < map_.wide; ++cell) {
      const Area bar{inside.row + static_cast<int>(line) * bar_height_,
                     inside.column + static_cast<int>(cell), bar_height_, 1};
      draw_bar(canvas, bar, map_.cells[line * map_.wide + cell]);
      if (bar.height > 1 && !map_.critical.empty() && map_.critical[line * map_.wide + cell])
        canvas.put(bar.row + bar.height - 1, bar.column, workspace_.unicode() ? U'━' : U'~', Tone::hot);
      if (!here || !holds(cell, map_.wide, map_.segments, segments_.cursor)) continue;
      for (int row = bar.row; row < bar.row + bar.height; ++row) canvas.select(row, bar.column, 1);
    }
  }
  draw_messages(canvas, inside);
}

/// All where they can be distinguished, else those that arrived in what the cursor is on.
void TimePane::draw_messages(Canvas& canvas, const Area& inside) const {
  if (near_ == nullptr || bar_height_ == 1) return;
  for (const CallsGrid::Line& line : map_.messages) draw_message(canvas, inside, line);
  if (!map_.messages.empty()) return;
  for (const CallsGrid::Line& line :
       near_->lines(map_.ranks, near_->around(ranks_.cursor, segments_.cursor))) {
    if (line.row == ranks_.cursor && line.column >= map_.segments.first &&
        line.column < map_.segments.first + map_.segments.count)
      draw_message(canvas, inside, line);
  }
}

/// From the line between ranks that is next to the sender to the one next to the receiver.
void TimePane::draw_message(Canvas& canvas, const Area& inside, const CallsGrid::Line& line) const {
  const auto above = [&](std::size_t row) {
    return inside.row + static_cast<int>(row - map_.ranks.first) * bar_height_ - 1;
  };
  const bool down = line.row > line.from_row;
  const int begin = above(down ? line.from_row + 1 : line.from_row);
  const int end = above(down ? line.row : line.row + 1);
  const std::size_t at = line.column - map_.segments.first;
  const auto column = inside.column + static_cast<int>(((at + 1) * map_.wide - 1) / map_.segments.count);
  for (int row = std::min(begin, end); row <= std::max(begin, end); ++row)
    canvas.put(row, column, workspace_.unicode() ? U'│' : U'|', Tone::strong);
  const char32_t head = workspace_.unicode() ? (down ? U'▼' : U'▲') : (down ? U'v' : U'^');
  canvas.put(end, column, head, Tone::strong);
}

char32_t TimePane::part_sign(int part) const {
  return (workspace_.unicode() ? kPartSigns : kPartLetters).at(static_cast<std::size_t>(part));
}

std::vector<LegendEntry> TimePane::legend_entries(bool tall) const {
  const bool unicode = workspace_.unicode();
  std::vector<LegendEntry> entries;
  entries.reserve(legend_.size() + 2);
  for (int part = 0; part < static_cast<int>(legend_.size()); ++part)
    entries.push_back({part_sign(part), part_tone(part), legend_[static_cast<std::size_t>(part)]});
  if (tall) entries.push_back({unicode ? U'━' : U'~', Tone::hot, "critical path"});
  if (tall && near_ != nullptr) entries.push_back({unicode ? U'▼' : U'v', Tone::strong, "message"});
  return entries;
}

/// How many the map leaves to its legend.
int TimePane::legend_lines(const Area& area) const {
  if (legend_.empty() || area.height < kTallForLegend) return 1;
  return std::min(legend_places(legend_entries(true), area.width, kUsualName).back().first + 1, kLegendLines);
}

/// What the parts are. Names are shortened as far as the lines need it.
void TimePane::draw_legend(Canvas& canvas, const Area& area) const {
  const std::vector<LegendEntry> entries = legend_entries(bar_height_ > 1);
  std::size_t longest = 2 * kUsualName;
  std::vector<std::pair<int, int>> places = legend_places(entries, area.width, longest);
  constexpr std::size_t kShortest = 4;
  while (places.back().first >= area.height && longest > kShortest)
    places = legend_places(entries, area.width, --longest);
  for (std::size_t entry = 0; entry < entries.size(); ++entry) {
    const auto [line, column] = places[entry];
    if (line >= area.height) return;
    const auto& [sign, tone, name] = entries[entry];
    canvas.put(area.row + line, area.column + column, sign, tone);
    canvas.write(area.row + line, area.column + column + 2, shorten_name(name, longest, workspace_.unicode()),
                 Tone::plain, static_cast<int>(longest));
  }
}

/// The tallest bar stays an eighth of a line below what is above it, so that rows are distinct.
void TimePane::draw_bar(Canvas& canvas, const Area& bar, std::uint64_t mean) const {
  if (mean == 0) return;
  if (!legend_.empty()) {
    const auto part = static_cast<int>(mean) - 1;
    const Area cells{bar.row, bar.column, std::max(bar.height - 1, 1), 1};  // rows are distinct
    canvas.fill(cells, part_sign(part), part_tone(part));
    return;
  }
  const double level = std::min(grid_->level(mean), 1.0);
  const auto& signs = workspace_.unicode() ? kHeatBlocks : kHeatLetters;
  const int most = bar.height > 1 ? bar.height * kHeats - 1 : kHeats;
  const Tone tone = heat_tone(std::min(static_cast<int>(level * kHeats), kHeats - 1));
  int left = std::max(static_cast<int>(std::lround(level * most)), 1);
  for (int row = bar.row + bar.height - 1; row >= bar.row && left > 0; --row, left -= kHeats)
    canvas.put(row, bar.column, signs.at(static_cast<std::size_t>(std::min(left, kHeats)) - 1), tone);
}

void TimePane::draw_labels(Canvas& canvas, const Area& area, const Area& inside) const {
  const std::size_t ranks = ranks_.shown(grid_->rows());
  const std::string name = of_lines(workspace_.experiment(), "rank ");
  for (std::size_t line = 0; line < map_.lines; ++line) {
    const std::size_t rank = first_of(line, map_.lines, ranks);
    const bool here = ranks_.first + rank == ranks_.cursor;
    const std::string text = name + std::to_string(grid_->rank(ranks_.first + rank));
    canvas.write(inside.row + static_cast<int>(line) * bar_height_, area.column, text,
                 here ? Tone::strong : Tone::dim, kLabelWidth);
  }
  int below = inside.row + inside.height;
  canvas.write(below, area.column, grid_->axis(), Tone::dim, kLabelWidth);
  draw_axis(canvas, {below, inside.column, 1, inside.width});
  if (const std::string further = grid_->further_axis(); !further.empty()) {
    ++below;
    canvas.write(below, area.column, further, Tone::dim, kLabelWidth);
    draw_further_axis(canvas, {below, inside.column, 1, inside.width});
  }
  if (!legend_.empty()) {
    draw_legend(canvas, {below + 1, area.column, area.row + area.height - below - 2, area.width});
    return;
  }
  const std::string little = grid_->shade_name(false, workspace_.unicode());
  int column = canvas.write(below + 1, area.column, little, Tone::dim, inside.column - area.column - 1);
  column = std::max(column + 1, inside.column);
  for (int heat = 0; heat < kHeats; ++heat) {
    const auto& signs = workspace_.unicode() ? kHeatBlocks : kHeatLetters;
    canvas.put(below + 1, column++, signs.at(static_cast<std::size_t>(heat)), heat_tone(heat));
  }
  column = canvas.write(below + 1, column + 1, grid_->shade_name(true, workspace_.unicode()), Tone::dim,
                        area.width);
  canvas.write(below + 1, column + 3, cell_text(), Tone::dim, area.column + area.width - column - 3);
}

/// What a cell of the map stands for, where that is not one iteration of one rank.
std::string TimePane::cell_text() const {
  std::string text;
  const double wide = static_cast<double>(segments_.shown(grid_->columns())) / std::max(inside_.width, 1);
  if (wide >= 1 || !choice_.of_iterations())
    text = std::string("one column ") + (workspace_.unicode() ? "≈ " : "~ ") +
           grid_->amount_of(wide, workspace_.unicode());
  const std::size_t lines = std::max<std::size_t>(map_.lines, 1);
  const std::size_t ranks = (ranks_.shown(grid_->rows()) + lines - 1) / lines;
  if (ranks > 1) text += (text.empty() ? "row: most of " : ", row: most of ") + counted(ranks, "rank");
  return text;
}

/// Numbers of the rank under the cursor, each where it begins.
void TimePane::draw_further_axis(Canvas& canvas, const Area& axis) const {
  const std::size_t segments = segments_.shown(grid_->columns());
  const auto wide = static_cast<std::size_t>(axis.width);
  const auto at = [&](std::size_t cell) {
    return grid_->further_at(ranks_.cursor, segments_.first + first_of(cell, wide, segments));
  };
  std::optional<std::uint64_t> first, last;
  for (std::size_t cell = 0; cell < wide; ++cell) {
    const std::optional<std::uint64_t> number = at(cell);
    if (number && !first) first = number;
    if (number) last = number;
  }
  if (!first) return;
  const double step = std::max(
      round_step(std::max(static_cast<double>(*last - *first), 1.0) * kLeastApart / axis.width), 1.0);
  std::optional<double> before;
  int free = axis.column;
  for (std::size_t cell = 0; cell < wide; ++cell) {
    const std::optional<std::uint64_t> number = at(cell);
    if (!number) continue;
    const double tick = std::floor(static_cast<double>(*number) / step);
    const int place = axis.column + static_cast<int>(cell);
    if ((before && tick <= *before) || place < free) continue;
    const std::string name =
        grid_->further_name(before ? tick * step : static_cast<double>(*number), workspace_.unicode());
    if (place + static_cast<int>(columns(name)) > axis.column + axis.width) return;
    free = canvas.write(axis.row, place, name, Tone::dim, axis.width) + 2;
    before = tick;
  }
}

/// Where it begins and ends, and between them round numbers, each beginning at its column.
void TimePane::draw_axis(Canvas& canvas, const Area& axis) const {
  const std::size_t segments = segments_.shown(grid_->columns());
  if (segments == 0) return;
  const std::string first = grid_->column_name(segments_.first, workspace_.unicode());
  const std::string last = grid_->column_name(segments_.first + segments - 1, workspace_.unicode());
  int end = axis.column + axis.width;
  int free = canvas.write(axis.row, axis.column, first, Tone::dim, axis.width) + 2;
  if (axis.width > static_cast<int>(columns(first) + columns(last)) + 1) {
    end -= static_cast<int>(columns(last));
    canvas.write(axis.row, end, last, Tone::dim, axis.width);
  }
  const double cells = static_cast<double>(axis.width) / static_cast<double>(segments);
  const double step = round_step(kLeastApart * grid_->column_length() / cells);
  const double begin = static_cast<double>(segments_.first) * grid_->column_length();
  for (double tick = std::ceil(begin / step);; ++tick) {
    const std::string name = grid_->tick_name(tick * step, workspace_.unicode());
    const auto place = axis.column + static_cast<int>((tick * step - begin) / grid_->column_length() * cells);
    if (place + static_cast<int>(columns(name)) + 2 > end) return;
    if (place >= free) free = canvas.write(axis.row, place, name, Tone::dim, axis.width) + 2;
  }
}

void TimePane::draw_missing(Canvas& canvas, const Area& area) const {
  if (findings_.ready() == nullptr) {
    canvas.write(area.row, area.column, "Reading the results of time lines...", Tone::dim, area.width);
    return;
  }
  const bool traced = workspace_.experiment().trace().traced > 0;
  const std::string why =
      traced
          ? "No procedure was seen to be called again and again: mark iterations with culprit_iteration(n) "
            "(culprit.h)."
          : "How long iterations took needs the ranks' time lines: " +
                no_time_lines_phrase(workspace_.experiment()) + '.';
  write_wrapped(canvas, area, why, Tone::plain);
}

}  // namespace culprit::viewer::tui
