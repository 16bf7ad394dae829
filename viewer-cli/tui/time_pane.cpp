#include "tui/time_pane.hpp"

#include "report/phrases.hpp"
#include "text/quantity.hpp"
#include "tui/page.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <array>

namespace culprit::viewer::tui {
namespace {

using database::Variation;

constexpr int kLabelWidth = 8;  // "rank 123"
constexpr std::array<char32_t, kHeats> kBlocks = {U'▁', U'▂', U'▃', U'▄', U'▅', U'▆', U'▇', U'█'};
constexpr std::array<char32_t, kHeats> kLetters = {U'.', U':', U'-', U'=', U'+', U'*', U'#', U'@'};

/// The first of the things that a cell stands for; `cells` cells for `things` things, either may be more.
std::size_t first_of(std::size_t cell, std::size_t cells, std::size_t things) {
  return cell * things / cells;
}

}  // namespace

TimePane::TimePane(Workspace& workspace, Host& host) : workspace_(workspace), host_(host) {}

const Variation* TimePane::variation() const {
  const std::vector<Variation>& levels = workspace_.experiment().trace().variations;
  return finer_ < levels.size() ? &levels[finer_] : nullptr;
}

std::size_t TimePane::longest_row() const {
  std::size_t longest = 0;
  for (const Variation::Row& row : variation()->rows) longest = std::max(longest, row.sos_ns.size());
  return longest;
}

std::uint64_t TimePane::at(std::size_t row, std::size_t segment) const {
  const std::vector<std::uint64_t>& sos = variation()->rows[row].sos_ns;
  return segment < sos.size() ? sos[segment] : 0;
}

void TimePane::point_at(const Target& target) {
  finer_ = target.level;
  if (variation() == nullptr || target.rank < 0) return;
  const auto row = std::find_if(variation()->rows.begin(), variation()->rows.end(),
                                [&](const Variation::Row& each) { return each.rank == target.rank; });
  ranks_.cursor = static_cast<std::size_t>(row - variation()->rows.begin());
  segments_.cursor = target.segment;
  ranks_.fit(variation()->rows.size());
  segments_.fit(longest_row());
}

bool TimePane::handle(const Event& given) {
  if (variation() == nullptr || variation()->rows.empty()) return false;
  if (given.key == Key::click || given.key == Key::click_twice) return click(given);
  const Event event = navigation(given);
  const std::size_t ranks = variation()->rows.size();
  const std::size_t segments = longest_row();
  switch (event.key) {
    case Key::left:
      segments_.move(-1, segments);
      return true;
    case Key::right:
      segments_.move(1, segments);
      return true;
    case Key::up:
    case Key::wheel_up:
      ranks_.move(-1, ranks);
      return true;
    case Key::down:
    case Key::wheel_down:
      ranks_.move(1, ranks);
      return true;
    case Key::page_up:
      ranks_.move(-static_cast<std::ptrdiff_t>(std::max<std::size_t>(ranks_.shown(ranks) / 4, 1)), ranks);
      return true;
    case Key::page_down:
      ranks_.move(static_cast<std::ptrdiff_t>(std::max<std::size_t>(ranks_.shown(ranks) / 4, 1)), ranks);
      return true;
    case Key::home:
      segments_.cursor = 0;
      segments_.fit(segments);
      return true;
    case Key::end:
      segments_.cursor = segments;
      segments_.fit(segments);
      return true;
    case Key::enter:
      follow();
      return true;
    case Key::letter:
      return change(event.letter);
    default:
      return false;
  }
}

bool TimePane::change(char32_t letter) {
  const std::size_t ranks = variation()->rows.size();
  switch (letter) {
    case U'+':
    case U'=':
    case U'-':
      ranks_.zoom(letter != U'-', ranks);
      segments_.zoom(letter != U'-', longest_row());
      return true;
    case U'0':
      ranks_.count = segments_.count = 0;
      ranks_.fit(ranks);
      segments_.fit(longest_row());
      return true;
    case U'm':
      above_median_ = !above_median_;
      return true;
    case U'v':
      finer_ = (finer_ + 1) % workspace_.experiment().trace().variations.size();
      ranks_ = {};
      segments_ = {};
      return true;
    default:
      return false;
  }
}

bool TimePane::click(const Event& event) {
  if (!inside_.contains(event.row, event.column)) return false;
  const std::size_t ranks = variation()->rows.size();
  const auto cell = [](int offset, int cells, const Window& window, std::size_t all) {
    return window.first +
           first_of(static_cast<std::size_t>(offset), static_cast<std::size_t>(cells), window.shown(all));
  };
  ranks_.cursor = cell(event.row - inside_.row, inside_.height, ranks_, ranks);
  segments_.cursor = cell(event.column - inside_.column, inside_.width, segments_, longest_row());
  ranks_.fit(ranks);
  segments_.fit(longest_row());
  if (event.key == Key::click_twice) follow();
  return true;
}

const Variation::Outlier* TimePane::outlier_here() const {
  const std::int32_t rank = variation()->rows[ranks_.cursor].rank;
  for (const Variation::Outlier& each : variation()->outliers) {
    if (each.rank == rank && each.segment == segments_.cursor) return &each;
  }
  return nullptr;
}

/// To the code: of an outlier where it spent most time, else what recurs.
void TimePane::follow() {
  const Variation::Outlier* const outlier = outlier_here();
  database::ContextId context = outlier != nullptr ? outlier->context : database::kNone;
  if (context == database::kNone) context = variation()->context;
  if (context == database::kNone) {
    host_.tell("What it spent its time in was not sampled");
    return;
  }
  std::vector<std::uint32_t> locations;
  const std::int32_t rank = variation()->rows[ranks_.cursor].rank;
  for (const std::uint32_t location : workspace_.figures().locations()) {
    if (workspace_.experiment().locations[location].rank == rank) locations.push_back(location);
  }
  host_.go({Target::Kind::context, context, std::move(locations), -1, 0, 0, {}});
}

double TimePane::level(std::uint64_t ns, std::uint64_t most) const {
  const std::uint64_t base = above_median_ ? variation()->median_ns : 0;
  if (ns <= base || most <= base) return 0;
  return static_cast<double>(ns - base) / static_cast<double>(most - base);
}

// -- drawing ------------------------------------------------------------------------------------------------

void TimePane::draw(Canvas& canvas, const Area& area) {
  if (variation() == nullptr || variation()->rows.empty()) {
    draw_missing(canvas, area);
    return;
  }
  canvas.write(area.row, area.column, what(), Tone::heading, area.width);
  constexpr int kAbove = 1, kBelow = 3;
  const std::size_t ranks = variation()->rows.size();
  const std::size_t segments = longest_row();
  ranks_.fit(ranks);
  segments_.fit(segments);
  const int room = area.height - kAbove - kBelow;
  // A rank takes up to three lines, an iteration up to four columns.
  const auto lines = static_cast<int>(
      std::min<std::size_t>(static_cast<std::size_t>(std::max(room, 1)), ranks_.shown(ranks) * 3));
  const int width = area.width - kLabelWidth - 1;
  const auto wide = static_cast<int>(
      std::min<std::size_t>(static_cast<std::size_t>(std::max(width, 1)), segments_.shown(segments) * 4));
  const auto even = [](int cells, std::size_t things) {
    const auto number = static_cast<int>(std::min<std::size_t>(things, static_cast<std::size_t>(cells)));
    return number > 0 ? cells / number * number : cells;
  };
  inside_ = {area.row + kAbove, area.column + kLabelWidth + 1,
             ranks_.shown(ranks) < static_cast<std::size_t>(lines) ? even(lines, ranks_.shown(ranks)) : lines,
             segments_.shown(segments) < static_cast<std::size_t>(wide)
                 ? even(wide, segments_.shown(segments))
                 : wide};
  draw_map(canvas, inside_);
  draw_labels(canvas, area, inside_);
}

std::string TimePane::what() const {
  const Variation& shown = *variation();
  std::string text = shown.marked || shown.context == database::kNone
                         ? std::string("Iterations that the program marked")
                         : "Invocations of " + scope_phrase(workspace_.experiment(), shown.context, false, 40,
                                                            workspace_.unicode());
  text += above_median_ ? ": how much longer than the median" : ": time outside MPI";
  return text + " (median " + duration(static_cast<double>(shown.median_ns) / 1e9, workspace_.unicode()) +
         ')';
}

void TimePane::draw_map(Canvas& canvas, const Area& inside) const {
  const std::size_t ranks = ranks_.shown(variation()->rows.size());
  const std::size_t segments = segments_.shown(longest_row());
  std::uint64_t most = 0;
  for (const Variation::Row& each : variation()->rows) {
    for (const std::uint64_t ns : each.sos_ns) most = std::max(most, ns);
  }
  const auto lines = static_cast<std::size_t>(inside.height);
  const auto wide = static_cast<std::size_t>(inside.width);
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t first = first_of(line, lines, ranks);
    const std::size_t last = std::max(first_of(line + 1, lines, ranks), first + 1);
    for (std::size_t cell = 0; cell < wide; ++cell) {
      const std::size_t from = first_of(cell, wide, segments);
      const std::size_t until = std::max(first_of(cell + 1, wide, segments), from + 1);
      std::uint64_t longest = 0;
      bool cursor = false;
      for (std::size_t rank = ranks_.first + first; rank < ranks_.first + last; ++rank) {
        for (std::size_t segment = segments_.first + from; segment < segments_.first + until; ++segment) {
          longest = std::max(longest, at(rank, segment));
          cursor = cursor || (rank == ranks_.cursor && segment == segments_.cursor);
        }
      }
      const int row = inside.row + static_cast<int>(line);
      const int column = inside.column + static_cast<int>(cell);
      if (longest > 0) {
        const auto heat = std::min(static_cast<int>(level(longest, most) * kHeats), kHeats - 1);
        const auto& signs = workspace_.unicode() ? kBlocks : kLetters;
        canvas.put(row, column, signs.at(static_cast<std::size_t>(heat)), heat_tone(heat));
      }
      if (cursor) canvas.select(row, column, 1);
    }
  }
}

void TimePane::draw_labels(Canvas& canvas, const Area& area, const Area& inside) const {
  const std::size_t ranks = ranks_.shown(variation()->rows.size());
  const auto lines = static_cast<std::size_t>(inside.height);
  std::size_t before = ranks;
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t rank = first_of(line, lines, ranks);
    if (rank == before) continue;
    before = rank;
    const bool here = ranks_.first + rank == ranks_.cursor;
    const std::string text = "rank " + std::to_string(variation()->rows[ranks_.first + rank].rank);
    canvas.write(inside.row + static_cast<int>(line), area.column, text, here ? Tone::strong : Tone::dim,
                 kLabelWidth);
  }
  const int below = inside.row + inside.height;
  const std::size_t segments = segments_.shown(longest_row());
  const std::string first = std::to_string(segments_.first);
  const std::string last = std::to_string(segments_.first + segments - 1);
  canvas.write(below, area.column, "number", Tone::dim, kLabelWidth);
  canvas.write(below, inside.column, first, Tone::dim, inside.width);
  if (inside.width > static_cast<int>(first.size() + last.size()) + 1)
    canvas.write(below, inside.column + inside.width - static_cast<int>(last.size()), last, Tone::dim,
                 inside.width);
  int column = canvas.write(below + 1, area.column, "little ", Tone::dim, area.width);
  for (int heat = 0; heat < kHeats; ++heat) {
    const auto& signs = workspace_.unicode() ? kBlocks : kLetters;
    canvas.put(below + 1, column++, signs.at(static_cast<std::size_t>(heat)), heat_tone(heat));
  }
  canvas.write(below + 1, column, " much", Tone::dim, area.width);
}

void TimePane::draw_missing(Canvas& canvas, const Area& area) const {
  Page page;
  const bool traced = workspace_.experiment().trace().traced > 0;
  page.say(
      traced
          ? "No procedure was seen to be called again and again: mark iterations with culprit_iteration(n) "
            "(culprit.h)."
          : "How long iterations took needs the ranks' time lines, and the run was measured without: measure "
            "it with hpcrun-lite --trace.",
      area.width);
  for (std::size_t line = 0; line < page.lines.size(); ++line)
    canvas.write(area.row + static_cast<int>(line), area.column, text_of(page.lines[line]), Tone::plain,
                 area.width);
}

std::vector<Hint> TimePane::hints() const {
  return {{"arrows", "cursor"},  {"+ -", "zoom"}, {"0", "all"}, {"Enter", "to the code"},
          {"m", "above median"}, {"v", "finer"},  {"B", "back"}};
}

std::string TimePane::status() const {
  if (variation() == nullptr || variation()->rows.empty()) return {};
  const std::uint64_t ns = at(ranks_.cursor, segments_.cursor);
  std::string text = "rank " + std::to_string(variation()->rows[ranks_.cursor].rank) + ", iteration " +
                     std::to_string(segments_.cursor) + ": " +
                     duration(static_cast<double>(ns) / 1e9, workspace_.unicode());
  if (variation()->median_ns > 0) {
    const double percent = 100 * (static_cast<double>(ns) / static_cast<double>(variation()->median_ns) - 1);
    text += std::string(" (") + (percent >= 0 ? "+" : "") + grouped(percent) + " %)";
  }
  const Variation::Outlier* const outlier = outlier_here();
  if (outlier != nullptr && outlier->context != database::kNone)
    text += ", unusually long: " + label(views::frame_of(workspace_.experiment(),
                                                         workspace_.experiment().contexts[outlier->context]));
  return text;
}

}  // namespace culprit::viewer::tui
