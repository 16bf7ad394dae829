#include "tui/panes/compare_pane.hpp"

#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tree/change_words.hpp"
#include "tui/widgets/tree_lines.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer::tui {
namespace {

using database::kNone;
using Row = views::DifferenceOutline::Row;

constexpr std::size_t kSearchStep = 100'000;  // scopes; a few milliseconds
constexpr std::size_t kMostRowsOpened = 5'000;
constexpr std::uint32_t kAllLevels = 64;
constexpr int kHeading = 3;  // lines above the tree

int room_for_numbers(int width) {
  return width * 3 / 5;
}

}  // namespace

ComparePane::ComparePane(Workspace& workspace, Host& host, Comparison& comparison)
    : workspace_(workspace),
      host_(host),
      comparison_(comparison),
      search_(host, kNone, kSearchStep,
              {[this](const std::string& pattern) {
                 return views::DifferenceSearch(*comparison_.difference(), pattern);
               },
               [this] { return scope(); }, [this](std::uint32_t to) { go_to(to); },
               [this](const views::DifferenceSearch& search, std::uint32_t from, bool backwards) {
                 return outline_->find(search, from, backwards);
               }}) {}

const views::ComparedScope& ComparePane::compared(std::uint32_t scope) const {
  return comparison_.difference()->scopes()[scope];
}

const Row* ComparePane::row() const {
  if (!outline_ || outline_->rows().empty()) return nullptr;
  const auto last = static_cast<int>(outline_->rows().size()) - 1;
  return &outline_->rows()[static_cast<std::size_t>(std::clamp(scroll_.cursor, 0, last))];
}

std::uint32_t ComparePane::scope() const {
  const Row* const at = row();
  return at == nullptr ? kNone : at->scope;
}

/// The first look: where the change comes from.
void ComparePane::rebuild() {
  if (comparison_.difference() == nullptr) return;
  const std::uint32_t before = scope();
  outline_ = std::make_unique<views::DifferenceOutline>(
      *comparison_.difference(),
      views::DifferenceOutline::Options{.hide_wait_internals = workspace_.passed_over.wait_internals,
                                        .hide_start_up = workspace_.passed_over.start_up},
      [](const views::ComparedScope&) { return 0.0; });
  sort_by(sort_);
  if (outline_->rows().empty()) return;
  const std::uint32_t end = outline_->open_hot_path(outline_->rows().front().scope);
  go_to(before == kNone ? end : before);
}

void ComparePane::figures_changed() {
  rebuild();
}

bool ComparePane::work() {
  if (comparison_.forming()) {
    if (!comparison_.finish()) return true;
    if (!comparison_.error().empty()) host_.tell(comparison_.error());
    search_.forget();
    outline_.reset();
    scroll_ = {};
    rebuild();
    return true;
  }
  return search_.work();
}

void ComparePane::go_to(std::uint32_t target) {
  if (target == kNone) return;
  outline_->reveal(target);
  scroll_.cursor = static_cast<int>(outline_->row_of(target));
  note_choice();
}

/// Source and ranks are those of the first run: of the code itself, or of what is around it there.
void ComparePane::note_choice() {
  for (std::uint32_t at = scope(); at != kNone; at = compared(at).parent) {
    if (const auto context = comparison_.difference()->context_in_first(at)) {
      workspace_.chosen = NodeRef{Workspace::kCallingContext, *context};
      return;
    }
  }
}

void ComparePane::sort_by(Change order) {
  sort_ = order;
  const std::uint32_t before = scope();
  const double sign = smallest_first_ ? -1 : 1;
  outline_->sort_by([this, order, sign](const views::ComparedScope& each) {
    return sign * change_key(comparison_, order, each);
  });
  if (before != kNone) scroll_.cursor = static_cast<int>(outline_->row_of(before));
}

// -- keys ---------------------------------------------------------------------------------------------------

bool ComparePane::handle(const Event& event) {
  if (row() == nullptr) return false;
  if (event.key == Key::click || event.key == Key::click_twice) return click(event);
  if (move(navigation(event))) {
    note_choice();
    return true;
  }
  if (event.key != Key::letter) return false;
  return change_tree(event.letter) || change_numbers(event.letter);
}

bool ComparePane::move(const Event& event) {
  switch (event.key) {
    case Key::left:
      go_left();
      return true;
    case Key::right:
      go_right();
      return true;
    case Key::enter:
      toggle();
      return true;
    default:
      return scroll_.move(event, static_cast<int>(outline_->rows().size()));
  }
}

bool ComparePane::click(const Event& event) {
  if (!drawn_.contains(event.row, event.column)) return false;
  const int line = event.row - drawn_.row;
  if (line < kHeading) {
    const ChangeCells cells(comparison_, workspace_.unicode(), room_for_numbers(drawn_.width), sort_,
                            smallest_first_);
    const auto column = cells.column_at(event.column - drawn_.column);
    if (line == kHeading - 1 && column) sort_by(*column);
    return true;
  }
  if (click_row(event, drawn_, kHeading, scroll_, outline_->rows().size())) toggle();
  note_choice();
  return true;
}

bool ComparePane::change_tree(char32_t letter) {
  switch (letter) {
    case U'H':
      go_to(outline_->open_hot_path(scope()));
      return true;
    case U'*':
    case U'+': {
      const std::uint32_t at = scope();
      outline_->open_below(at, letter == U'*' ? kAllLevels : 2, kMostRowsOpened);
      go_to(at);
      return true;
    }
    case U'-':
      outline_->close_all();
      scroll_.cursor = 0;
      note_choice();
      return true;
    case U'/':
      search_.ask();
      return true;
    case U'n':
    case U'N':
      search_.again(letter == U'N');
      return true;
    default:
      return false;
  }
}

bool ComparePane::change_numbers(char32_t letter) {
  const int columns = comparison_.scales() ? static_cast<int>(kChangeNames.size())
                                           : static_cast<int>(kChangeNames.size()) - 1;
  switch (letter) {
    case U'<':
    case U',':
      sort_by(static_cast<Change>((static_cast<int>(sort_) + columns - 1) % columns));
      return true;
    case U'>':
    case U'.':
      sort_by(static_cast<Change>((static_cast<int>(sort_) + 1) % columns));
      return true;
    case U'I':
      smallest_first_ = !smallest_first_;
      sort_by(sort_);
      return true;
    case U'm':
    case U'c':
      choose_metric();
      return true;
    case U'w':
      turn_scaling();
      return true;
    default:
      return false;
  }
}

void ComparePane::go_left() {
  const Row at = *row();
  if (at.open) {
    outline_->close(at.scope);
  } else if (at.parent != views::DifferenceOutline::kNoRow) {
    scroll_.cursor = static_cast<int>(at.parent);
  }
}

void ComparePane::go_right() {
  const Row at = *row();
  if (!at.opens) return;
  if (at.open) {
    ++scroll_.cursor;
  } else {
    outline_->open(at.scope);
  }
}

void ComparePane::toggle() {
  const Row at = *row();
  if (at.open) {
    outline_->close(at.scope);
  } else if (at.opens) {
    outline_->open(at.scope);
  } else {
    host_.tell(compared(at.scope).children.empty() ? "Nothing is below it"
                                                   : "What is inside a wait is left out (o shows it)");
  }
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
    host_.tell("Both runs have the same number of ranks: the ideal is the same time");
    return;
  }
  const bool strong = comparison_.scaling() == views::Scaling::strong;
  comparison_.set_scaling(strong ? views::Scaling::weak : views::Scaling::strong);
  sort_by(sort_);
  host_.tell(strong ? "Loss against weak scaling: the same time per rank"
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
  const ChangeCells cells(comparison_, workspace_.unicode(), room_for_numbers(area.width), sort_,
                          smallest_first_);
  const int header = area.row + kHeading - 1;
  cells.header(canvas, header, area.column);
  const int behind = area.column + cells.width();
  std::string what = comparison_.difference()->column().title;
  if (!cells.unit().empty()) what += ", in " + cells.unit();
  canvas.write(header, behind, what, Tone::heading, area.width - cells.width());
  draw_rows(canvas, area, kHeading, scroll_, outline_->rows().size(),
            [&](int line, std::size_t row) { draw_row(canvas, area, line, row, cells); });
}

/// Both runs and what came of the whole.
void ComparePane::draw_heading(Canvas& canvas, const Area& area) const {
  const bool unicode = workspace_.unicode();
  const views::Difference& difference = *comparison_.difference();
  const auto run = [&](const std::string& path, const database::Contents& experiment) {
    return run_text(std::string(views::base_name(path)), experiment, unicode);
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
    const std::string told = "; loss against " + scaling;
    const bool fits = static_cast<int>(columns(text) + columns(told)) <= area.width;
    text += fits ? told : "; " + scaling;
  }
  canvas.write(area.row + 1, area.column,
               shorten_middle(text, static_cast<std::size_t>(std::max(area.width, 1)), unicode), Tone::plain,
               area.width);
}

std::string ComparePane::guides(const Row& row) const {
  const bool unicode = workspace_.unicode();
  if (row.parent == views::DifferenceOutline::kNoRow) return {};
  std::string text = branch_guide(row.last, row.alone, unicode);
  for (std::size_t at = row.parent; at != views::DifferenceOutline::kNoRow;
       at = outline_->rows()[at].parent) {
    const Row& above = outline_->rows()[at];
    if (above.parent != views::DifferenceOutline::kNoRow)
      text.insert(0, through_guide(above.last, above.alone, unicode));
  }
  return text;
}

void ComparePane::draw_row(Canvas& canvas, const Area& area, int line, std::size_t number,
                           const ChangeCells& cells) const {
  const bool unicode = workspace_.unicode();
  const Row& row = outline_->rows()[number];
  const views::ComparedScope& scope = compared(row.scope);
  cells.row(canvas, line, area.column, scope);
  const int end = area.column + area.width;
  const int column = draw_guides(canvas, line, area.column + cells.width(), area.width - cells.width(),
                                 guides(row), row.opens, row.open, unicode);
  const int room = std::max(end - column, 1);
  const std::vector<std::string> remarks = what_became_of(scope);
  const std::string remark = remarks.empty() ? "" : enumerate(remarks);
  const auto behind = static_cast<int>(columns(remark)) + 2;
  const int for_name = remark.empty() || room < behind + 12 ? room : room - behind;
  const std::string name = shorten_name(label(scope.frame()), static_cast<std::size_t>(for_name), unicode);
  const bool one_run = !scope.frame_a || !scope.frame_b;
  const int after = canvas.write(line, column, name, scope.frame_b ? Tone::plain : Tone::dim, for_name);
  canvas.write(line, after + 2, remark, one_run ? Tone::warning : Tone::dim, end - after - 2);
  const views::DifferenceSearch* const search = search_.finder();
  if (search != nullptr && search->done() && search->matches(row.scope))
    mark_match(canvas, line, column, after);
}

std::vector<Hint> ComparePane::hints() const {
  std::vector<Hint> hints = {{"Enter", "open"}, {"H", "hot path"}, {"/", "search"}, {"<>", "sort"},
                             {"m", "metric"},   {"s", "source"},   {"r", "ranks"}};
  if (comparison_.scales()) hints.insert(hints.begin() + 5, {"w", "strong, weak"});
  return hints;
}

std::string ComparePane::status() const {
  const Row* const at = row();
  if (at == nullptr) return {};
  const views::ComparedScope& scope = compared(at->scope);
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

}  // namespace culprit::viewer::tui
