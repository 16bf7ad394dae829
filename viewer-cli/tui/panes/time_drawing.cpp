// How the pane Time is drawn: the map with its legend, labels and axes.
#include "tui/panes/time_drawing.hpp"

#include "findings/coverage.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/pages/page_parts.hpp"
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

void TimeDrawing::draw(Canvas& canvas, const Area& area) {
  constexpr int kAbove = 1;
  const int below = (grid().further_axis().empty() ? 2 : 3) + legend_lines(area);
  const std::size_t ranks = grid().rows();
  const std::size_t segments = grid().columns();
  const std::string title = grid().title(static_cast<std::size_t>(area.width), workspace_.unicode());
  canvas.write(area.row, area.column, title, Tone::heading, area.width);
  const int room = std::max(area.height - kAbove - below, 1);
  const auto shown =
      static_cast<int>(std::min<std::size_t>(view_.ranks().shown(ranks), static_cast<std::size_t>(room)));
  bar_height_ = std::clamp(room / std::max(shown, 1), 1, kTallest);
  constexpr std::size_t kWidest = 10;  // columns of an iteration, or of a bin of time
  const int width = area.width - kLabelWidth - 1;
  const auto wide = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(std::max(width, 1)),
                                                           view_.segments().shown(segments) * kWidest));
  const auto even = [](int cells, std::size_t things) {
    const auto number = static_cast<int>(std::min<std::size_t>(things, static_cast<std::size_t>(cells)));
    return number > 0 ? cells / number * number : cells;
  };
  inside_ = {area.row + kAbove, area.column + kLabelWidth + 1, shown * bar_height_,
             view_.segments().shown(segments) < static_cast<std::size_t>(wide)
                 ? even(wide, view_.segments().shown(segments))
                 : wide};
  draw_map(canvas);
  draw_labels(canvas, area);
  draw_path(canvas, {area.row + area.height - 1, area.column, 1, area.width});
}

/// How the code under the cursor was called.
void TimeDrawing::draw_path(Canvas& canvas, const Area& line) const {
  const database::ContextId context = grid().context(view_.ranks().cursor, view_.segments().cursor);
  if (context == database::kNone) return;
  Page page;
  add_path(page, workspace_, context, line.width, 0);
  canvas.write(line.row, line.column, text_of(page.lines.front()), Tone::dim, line.width);
}

/// The map stays as it is while only the cursor moves: with many ranks it takes longer than a key may wait.
void TimeDrawing::form_map() {
  Map now;
  now.edition = view_.edition();
  now.ranks = {view_.ranks().first, view_.ranks().shown(grid().rows())};
  now.segments = {view_.segments().first, view_.segments().shown(grid().columns())};
  now.lines = static_cast<std::size_t>(inside_.height / bar_height_);
  now.wide = static_cast<std::size_t>(inside_.width);
  const bool same = now.edition == map_.edition && now.ranks == map_.ranks && now.segments == map_.segments &&
                    now.lines == map_.lines && now.wide == map_.wide;
  if (same) return;
  map_ = std::move(now);
  map_.cells = grid().cells(map_.ranks, map_.segments, map_.lines, map_.wide);
  map_.critical.clear();
  if (!view_.legend().empty()) mark_critical();
  map_.messages.clear();
  if (view_.near() != nullptr && bar_height_ > 1)
    map_.messages = view_.near()->lines(map_.ranks, map_.segments);
  if (map_.messages.size() > map_.wide / kCellsPerMessage) map_.messages.clear();
}

/// Which cells the critical path goes through.
void TimeDrawing::mark_critical() {
  map_.critical.assign(map_.lines * map_.wide, false);
  for (std::size_t line = 0; line < map_.lines; ++line) {
    const std::size_t first = map_.ranks.first + first_of(line, map_.lines, map_.ranks.count);
    const std::size_t last =
        std::max(map_.ranks.first + first_of(line + 1, map_.lines, map_.ranks.count), first + 1);
    for (std::size_t cell = 0; cell < map_.wide; ++cell) {
      const std::size_t from = map_.segments.first + first_of(cell, map_.wide, map_.segments.count);
      const std::size_t end = map_.segments.first + first_of(cell + 1, map_.wide, map_.segments.count);
      for (std::size_t rank = first; rank < last && !map_.critical[line * map_.wide + cell]; ++rank)
        map_.critical[line * map_.wide + cell] = grid().is_critical(rank, from, std::max(end, from + 1));
    }
  }
}

void TimeDrawing::draw_map(Canvas& canvas) {
  form_map();
  const auto holds = [](std::size_t cell, std::size_t cells, const TimeGrid::Part& part, std::size_t cursor) {
    const std::size_t from = part.first + first_of(cell, cells, part.count);
    const std::size_t until = part.first + first_of(cell + 1, cells, part.count);
    return cursor >= from && cursor < std::max(until, from + 1);
  };
  for (std::size_t line = 0; line < map_.lines; ++line) {
    const bool here = holds(line, map_.lines, map_.ranks, view_.ranks().cursor);
    for (std::size_t cell = 0; cell < map_.wide; ++cell) {
      const Area bar{inside_.row + static_cast<int>(line) * bar_height_,
                     inside_.column + static_cast<int>(cell), bar_height_, 1};
      draw_bar(canvas, bar, map_.cells[line * map_.wide + cell]);
      if (bar.height > 1 && !map_.critical.empty() && map_.critical[line * map_.wide + cell])
        canvas.put(bar.row + bar.height - 1, bar.column, workspace_.unicode() ? U'━' : U'~', Tone::hot);
      if (!here || !holds(cell, map_.wide, map_.segments, view_.segments().cursor)) continue;
      for (int row = bar.row; row < bar.row + bar.height; ++row) canvas.select(row, bar.column, 1);
    }
  }
  draw_messages(canvas);
}

/// All where they can be distinguished, else those that arrived in what the cursor is on.
void TimeDrawing::draw_messages(Canvas& canvas) const {
  if (view_.near() == nullptr || bar_height_ == 1) return;
  for (const CallsGrid::Line& line : map_.messages) draw_message(canvas, line);
  if (!map_.messages.empty()) return;
  for (const CallsGrid::Line& line :
       view_.near()->lines(map_.ranks, view_.near()->around(view_.ranks().cursor, view_.segments().cursor))) {
    if (line.row == view_.ranks().cursor && line.column >= map_.segments.first &&
        line.column < map_.segments.first + map_.segments.count)
      draw_message(canvas, line);
  }
}

/// From the line between ranks that is next to the sender to the one next to the receiver.
void TimeDrawing::draw_message(Canvas& canvas, const CallsGrid::Line& line) const {
  const auto above = [&](std::size_t row) {
    return inside_.row + static_cast<int>(row - map_.ranks.first) * bar_height_ - 1;
  };
  const bool down = line.row > line.from_row;
  const int begin = above(down ? line.from_row + 1 : line.from_row);
  const int end = above(down ? line.row : line.row + 1);
  const std::size_t at = line.column - map_.segments.first;
  const auto column = inside_.column + static_cast<int>(((at + 1) * map_.wide - 1) / map_.segments.count);
  for (int row = std::min(begin, end); row <= std::max(begin, end); ++row)
    canvas.put(row, column, workspace_.unicode() ? U'│' : U'|', Tone::strong);
  const char32_t head = workspace_.unicode() ? (down ? U'▼' : U'▲') : (down ? U'v' : U'^');
  canvas.put(end, column, head, Tone::strong);
}

char32_t TimeDrawing::part_sign(int part) const {
  return (workspace_.unicode() ? kPartSigns : kPartLetters).at(static_cast<std::size_t>(part));
}

std::vector<LegendEntry> TimeDrawing::legend_entries(bool tall) const {
  const bool unicode = workspace_.unicode();
  std::vector<LegendEntry> entries;
  entries.reserve(view_.legend().size() + 2);
  for (int part = 0; part < static_cast<int>(view_.legend().size()); ++part)
    entries.push_back({part_sign(part), part_tone(part), view_.legend()[static_cast<std::size_t>(part)]});
  if (tall) entries.push_back({unicode ? U'━' : U'~', Tone::hot, "critical path"});
  if (tall && view_.near() != nullptr) entries.push_back({unicode ? U'▼' : U'v', Tone::strong, "message"});
  return entries;
}

/// How many the map leaves to its legend.
int TimeDrawing::legend_lines(const Area& area) const {
  if (view_.legend().empty() || area.height < kTallForLegend) return 1;
  return std::min(legend_places(legend_entries(true), area.width, kUsualName).back().first + 1, kLegendLines);
}

/// What the parts are. Names are shortened as far as the lines need it.
void TimeDrawing::draw_legend(Canvas& canvas, const Area& area) const {
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
void TimeDrawing::draw_bar(Canvas& canvas, const Area& bar, std::uint64_t mean) const {
  if (mean == 0) return;
  if (!view_.legend().empty()) {
    const auto part = static_cast<int>(mean) - 1;
    const Area cells{bar.row, bar.column, std::max(bar.height - 1, 1), 1};  // rows are distinct
    canvas.fill(cells, part_sign(part), part_tone(part));
    return;
  }
  const double level = std::min(grid().level(mean), 1.0);
  const auto& signs = workspace_.unicode() ? kHeatBlocks : kHeatLetters;
  const int most = bar.height > 1 ? bar.height * kHeats - 1 : kHeats;
  const Tone tone = heat_tone(std::min(static_cast<int>(level * kHeats), kHeats - 1));
  int left = std::max(static_cast<int>(std::lround(level * most)), 1);
  for (int row = bar.row + bar.height - 1; row >= bar.row && left > 0; --row, left -= kHeats)
    canvas.put(row, bar.column, signs.at(static_cast<std::size_t>(std::min(left, kHeats)) - 1), tone);
}

void TimeDrawing::draw_labels(Canvas& canvas, const Area& area) const {
  const std::size_t ranks = view_.ranks().shown(grid().rows());
  const std::string name = of_lines(workspace_.experiment(), "rank ");
  for (std::size_t line = 0; line < map_.lines; ++line) {
    const std::size_t rank = first_of(line, map_.lines, ranks);
    const bool here = view_.ranks().first + rank == view_.ranks().cursor;
    const std::string text = name + std::to_string(grid().rank(view_.ranks().first + rank));
    canvas.write(inside_.row + static_cast<int>(line) * bar_height_, area.column, text,
                 here ? Tone::strong : Tone::dim, kLabelWidth);
  }
  int below = inside_.row + inside_.height;
  canvas.write(below, area.column, grid().axis(), Tone::dim, kLabelWidth);
  draw_axis(canvas, {below, inside_.column, 1, inside_.width});
  if (const std::string further = grid().further_axis(); !further.empty()) {
    ++below;
    canvas.write(below, area.column, further, Tone::dim, kLabelWidth);
    draw_further_axis(canvas, {below, inside_.column, 1, inside_.width});
  }
  if (!view_.legend().empty()) {
    draw_legend(canvas, {below + 1, area.column, area.row + area.height - below - 2, area.width});
    return;
  }
  const std::string little = grid().shade_name(false, workspace_.unicode());
  int column = canvas.write(below + 1, area.column, little, Tone::dim, inside_.column - area.column - 1);
  column = std::max(column + 1, inside_.column);
  for (int heat = 0; heat < kHeats; ++heat) {
    const auto& signs = workspace_.unicode() ? kHeatBlocks : kHeatLetters;
    canvas.put(below + 1, column++, signs.at(static_cast<std::size_t>(heat)), heat_tone(heat));
  }
  column = canvas.write(below + 1, column + 1, grid().shade_name(true, workspace_.unicode()), Tone::dim,
                        area.width);
  canvas.write(below + 1, column + 3, cell_text(), Tone::dim, area.column + area.width - column - 3);
}

/// What a cell of the map stands for, where that is not one iteration of one rank.
std::string TimeDrawing::cell_text() const {
  std::string text;
  const double wide =
      static_cast<double>(view_.segments().shown(grid().columns())) / std::max(inside_.width, 1);
  if (wide >= 1 || !view_.choice().of_iterations())
    text = std::string("one column ") + (workspace_.unicode() ? "≈ " : "~ ") +
           grid().amount_of(wide, workspace_.unicode());
  const std::size_t lines = std::max<std::size_t>(map_.lines, 1);
  const std::size_t ranks = (view_.ranks().shown(grid().rows()) + lines - 1) / lines;
  if (ranks > 1)
    text += (text.empty() ? "row: most of " : ", row: most of ") +
            of_lines(workspace_.experiment(), counted(ranks, "rank"));
  return text;
}

/// Numbers of the rank under the cursor, each where it begins.
void TimeDrawing::draw_further_axis(Canvas& canvas, const Area& axis) const {
  const std::size_t segments = view_.segments().shown(grid().columns());
  const auto wide = static_cast<std::size_t>(axis.width);
  const auto at = [&](std::size_t cell) {
    return grid().further_at(view_.ranks().cursor, view_.segments().first + first_of(cell, wide, segments));
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
        grid().further_name(before ? tick * step : static_cast<double>(*number), workspace_.unicode());
    if (place + static_cast<int>(columns(name)) > axis.column + axis.width) return;
    free = canvas.write(axis.row, place, name, Tone::dim, axis.width) + 2;
    before = tick;
  }
}

/// Where it begins and ends, and between them round numbers, each beginning at its column.
void TimeDrawing::draw_axis(Canvas& canvas, const Area& axis) const {
  const std::size_t segments = view_.segments().shown(grid().columns());
  if (segments == 0) return;
  const std::string first = grid().column_name(view_.segments().first, workspace_.unicode());
  const std::string last = grid().column_name(view_.segments().first + segments - 1, workspace_.unicode());
  int end = axis.column + axis.width;
  int free = canvas.write(axis.row, axis.column, first, Tone::dim, axis.width) + 2;
  if (axis.width > static_cast<int>(columns(first) + columns(last)) + 1) {
    end -= static_cast<int>(columns(last));
    canvas.write(axis.row, end, last, Tone::dim, axis.width);
  }
  const double cells = static_cast<double>(axis.width) / static_cast<double>(segments);
  const double step = round_step(kLeastApart * grid().column_length() / cells);
  const double begin = static_cast<double>(view_.segments().first) * grid().column_length();
  for (double tick = std::ceil(begin / step);; ++tick) {
    const std::string name = grid().tick_name(tick * step, workspace_.unicode());
    const auto place = axis.column + static_cast<int>((tick * step - begin) / grid().column_length() * cells);
    if (place + static_cast<int>(columns(name)) + 2 > end) return;
    if (place >= free) free = canvas.write(axis.row, place, name, Tone::dim, axis.width) + 2;
  }
}

}  // namespace culprit::viewer::tui
