#include "tui/panes/compare_pane.hpp"

#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tree/diff_text.hpp"
#include "tui/widgets/tree_lines.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer::tui {

namespace {

using database::kNone;

constexpr int kHeading = 3;  // lines above the tree

}  // namespace

ComparePane::ComparePane(Workspace& workspace, Host& host, Comparison& comparison)
    : OutlinePane(workspace, host, kHeading), comparison_(comparison) {}

/// The first look: where the change comes from.
void ComparePane::rebuild() {
  if (comparison_.difference() == nullptr) return;
  const Item* const at = item();
  const views::NodeId before = at == nullptr ? kNone : at->node;
  search_.forget();
  if (!view_) view_ = std::make_unique<views::Compared>(*comparison_.difference());
  view_->set_scaling(comparison_.scaling());
  views::OutlineOptions options;
  options.passed_over = workspace_.passed_over;
  options.sort = views::Compared::column(static_cast<Change>(sort_));
  options.smallest_first = smallest_first_;
  options.hot = views::Compared::column(Change::change);
  outline_ = std::make_unique<views::Outline>(*view_, options);
  if (outline_->rows().empty()) return;
  const Item& end = outline_->open_hot_path(*outline_->rows().front());
  if (before == kNone) {
    go_to(&end);
  } else {
    go_to(outline_->reveal(before));
  }
}

void ComparePane::figures_changed() {
  rebuild();
}

bool ComparePane::work() {
  if (!comparison_.forming()) return OutlinePane::work();
  if (!comparison_.finish()) return true;
  if (!comparison_.error().empty()) host_.notify(comparison_.error());
  outline_.reset();
  view_.reset();
  scroll_ = {};
  rebuild();
  return true;
}

/// Source and ranks are those of the first run: of the code itself, or of what is around it there.
void ComparePane::note_choice() {
  const Item* const here = item();
  if (here == nullptr) return;
  for (views::NodeId at = here->node; at != kNone; at = view_->parent(at)) {
    if (const auto context = view_->difference().context_in_first(view_->scope(at))) {
      workspace_.chosen = NodeRef{Workspace::kCallingContext, *context};
      return;
    }
  }
}

void ComparePane::sort_by(std::size_t column) {
  sort_ = column;
  const Item* const at = item();
  outline_->sort_by(views::Compared::column(static_cast<Change>(column)), smallest_first_);
  go_to(at);
}

// -- keys ---------------------------------------------------------------------------------------------------

void ComparePane::click_heading(int line, int column) {
  const auto clicked = cells(drawn_.width).column_at(column);
  if (line == kHeading - 1 && clicked) sort_by(*clicked);
}

bool ComparePane::handle_own(const Event& event) {
  if (event.key != Key::letter) return false;
  const std::size_t columns = views::kChangeNames.size() - (comparison_.scales() ? 0 : 1);
  switch (event.letter) {
    case U'<':
    case U',':
      sort_by((sort_ + columns - 1) % columns);
      return true;
    case U'>':
    case U'.':
      sort_by((sort_ + 1) % columns);
      return true;
    case U'I':
      smallest_first_ = !smallest_first_;
      sort_by(sort_);
      return true;
    case U'm':
    case U'c':
      choose_metric();
      return true;
    case U'v':
      turn_scaling();
      return true;
    default:
      return false;
  }
}

std::string ComparePane::nothing_below(const Item& item) const {
  return view_->compared(item.node).children.empty() ? "Nothing is below it"
                                                     : "What is inside a wait is left out (o shows it)";
}

void ComparePane::choose_metric() {
  Menu menu;
  menu.title = "Compare";
  const std::vector<std::string> names = comparison_.metrics();
  for (const std::string& each : names) {
    const bool now = each == comparison_.difference()->column().title;
    if (now) menu.cursor = static_cast<int>(menu.entries.size());
    menu.entries.push_back({each, {}, now});
  }
  menu.chosen = [this, names](std::size_t entry) { comparison_.form(names[entry]); };
  host_.choose(std::move(menu));
}

void ComparePane::turn_scaling() {
  if (!comparison_.scales()) {
    host_.notify("Both runs have the same number of ranks: the ideal is the same time");
    return;
  }
  const bool strong = comparison_.scaling() == views::Scaling::strong;
  comparison_.set_scaling(strong ? views::Scaling::weak : views::Scaling::strong);
  view_->set_scaling(comparison_.scaling());
  sort_by(sort_);
  host_.notify(strong ? "Loss against weak scaling: the same time per rank"
                      : "Loss against strong scaling: the same time summed over all ranks");
}

// -- drawing ------------------------------------------------------------------------------------------------

void ComparePane::draw(Canvas& canvas, const Area& area) {
  drawn_ = area;
  if (!outline_) {
    canvas.write(area.row, area.column,
                 comparison_.error().empty() ? "Comparing the runs..." : comparison_.error(), Tone::dim,
                 area.width);
    return;
  }
  draw_heading(canvas, area);
  const ChangeCells numbers = cells(area.width);
  const int header = area.row + kHeading - 1;
  numbers.header(canvas, header, area.column);
  std::string what = comparison_.difference()->column().title;
  if (!numbers.unit().empty()) what += ", in " + numbers.unit();
  const std::string base = "; % of the larger";
  const bool fits = static_cast<int>(columns(what + base)) <= area.width - numbers.width();
  if (comparison_.difference()->column().derived == nullptr && fits) what += base;
  canvas.write(header, area.column + numbers.width(), what, Tone::heading, area.width - numbers.width());
  draw_outline(canvas, area,
               [&](const Area& row, Item& item) { return draw_row(canvas, row, numbers, item); });
}

ChangeCells ComparePane::cells(int width) const {
  return {comparison_, workspace_.unicode(), width * 3 / 5, static_cast<Change>(sort_), smallest_first_};
}

/// Both runs and what came of the whole.
void ComparePane::draw_heading(Canvas& canvas, const Area& area) const {
  const bool unicode = workspace_.unicode();
  const views::Difference& difference = *comparison_.difference();
  const auto run = [&](const std::string& path, const database::Contents& experiment) {
    return run_text(std::string(views::base_name(path)), experiment, unicode) +
           (experiment.quality.cut_short > 0 ? ", incomplete" : "");
  };
  std::string runs = run(workspace_.database(), comparison_.first()) + (unicode ? "  →  " : "  ->  ") +
                     run(comparison_.path(), comparison_.second());
  canvas.write(area.row, area.column,
               shorten_middle(runs, static_cast<std::size_t>(std::max(area.width, 1)), unicode), Tone::strong,
               area.width);
  const double before = difference.total_a();
  const double after = difference.total_b();
  const Scale scale =
      scale_for(std::max(std::abs(before), std::abs(after)), difference.column().unit, unicode);
  std::string text = difference.column().title + " went from " + scale.write(before) + " to " +
                     scale.write(after) + (scale.unit.empty() ? "" : ' ' + scale.unit);
  if (before > 0) text += " (" + with_sign(percent((after - before) / before)) + ')';
  if (comparison_.scales()) {
    const bool strong = comparison_.scaling() == views::Scaling::strong;
    const std::string scaling = std::string(strong ? "strong" : "weak") + " scaling";
    const std::string against = "; loss against " + scaling;
    const bool fits = static_cast<int>(columns(text) + columns(against)) <= area.width;
    text += fits ? against : "; " + scaling;
  }
  canvas.write(area.row + 1, area.column,
               shorten_middle(text, static_cast<std::size_t>(std::max(area.width, 1)), unicode), Tone::plain,
               area.width);
}

std::pair<int, int> ComparePane::draw_row(Canvas& canvas, const Area& area, const ChangeCells& cells,
                                          Item& item) const {
  const bool unicode = workspace_.unicode();
  const views::ComparedScope& scope = view_->compared(item.node);
  cells.row(canvas, area.row, area.column, scope);
  const int end = area.column + area.width;
  const int numbers = cells.width();
  const int column = draw_guides(canvas, {area.row, area.column + numbers, 1, area.width - numbers}, item,
                                 outline_->has_children(item), unicode);
  const int room = std::max(end - column, 1);
  const std::vector<std::string> remarks = what_became_of(scope);
  const std::string remark = remarks.empty() ? "" : enumerate(remarks);
  const auto behind = static_cast<int>(columns(remark)) + 2;
  const int for_name = remark.empty() || room < behind + 12 ? room : room - behind;
  const std::string name = shorten_name(label(scope.frame()), static_cast<std::size_t>(for_name), unicode);
  const bool one_run = !scope.frame_a || !scope.frame_b;
  const int after = canvas.write(area.row, column, name, scope.frame_b ? Tone::plain : Tone::dim, for_name);
  canvas.write(area.row, after + 2, remark, one_run ? Tone::warning : Tone::dim, end - after - 2);
  return {column, after};
}

std::vector<Hint> ComparePane::hints() const {
  std::vector<Hint> hints = {{"Enter", "open"}, {"H", "hot path"}, {"/", "search"}, {"<>", "sort"},
                             {"m", "metric"},   {"s", "source"},   {"r", "ranks"}};
  if (comparison_.scales()) hints.insert(hints.begin() + 5, {"v", "strong, weak"});
  return hints;
}

std::string ComparePane::status() const {
  const Item* const at = item();
  if (at == nullptr) return {};
  const views::ComparedScope& scope = view_->compared(at->node);
  std::string text = label(scope.frame());
  const auto add = [&](const char* when, const std::optional<views::Frame>& frame) {
    if (!frame) return;
    const std::string where = place(*frame);
    if (!where.empty() && text.find(where) == std::string::npos) text += std::string("  ") + when + where;
  };
  add("", scope.frame_b);
  add("before ", scope.frame_a);
  for (const std::string& remark : what_became_of(scope)) text += "  " + remark;
  return text;
}

namespace {

constexpr double kNotable = 0.05, kLarge = 0.25;  // of the total: changes that stand out

}  // namespace

ChangeCells::ChangeCells(const Comparison& comparison, bool unicode, int room, Change sorted,
                         bool smallest_first)
    : Cells(static_cast<std::size_t>(sorted), smallest_first, unicode),
      text_(*comparison.difference(), comparison.scaling(), unicode) {
  const auto digits = static_cast<int>(columns(text_.scale().write(text_.whole())));
  for (std::size_t column = 0; column < views::kChangeNames.size(); ++column) {
    const auto which = static_cast<Change>(column);
    if (which == Change::loss && !comparison.scales()) continue;
    const bool amount = which == Change::change || which == Change::before || which == Change::after;
    const int least = which == Change::change ? digits + 1 : amount ? digits : 6;
    const std::string text = heading(column, views::kChangeNames.at(column));
    if (!add({{column, false, text, std::max(least, static_cast<int>(columns(text)))}}, room)) break;
  }
}

void ChangeCells::row(Canvas& canvas, int row, int column, const views::ComparedScope& scope) const {
  const double share = text_.whole() > 0 ? std::abs(scope.change()) / text_.whole() : 0;
  const Tone stands_out = share < kNotable     ? Tone::plain
                          : scope.change() < 0 ? Tone::good
                          : share >= kLarge    ? Tone::hot
                                               : Tone::warm;
  write(canvas, row, column, [&](const Part& part) -> Span {
    const auto which = static_cast<Change>(part.column);
    const bool change = which == Change::change || which == Change::percent;
    return {text_.write(which, scope), change ? stands_out : Tone::plain};
  });
}

}  // namespace culprit::viewer::tui
