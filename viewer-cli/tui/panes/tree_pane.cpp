#include "tui/panes/tree_pane.hpp"

#include "findings/phrases.hpp"
#include "request/view_request.hpp"
#include "text/node_label.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/panes/blame_path.hpp"
#include "tui/panes/choices.hpp"
#include "tui/panes/number_cells.hpp"
#include "views/frame.hpp"

#include <algorithm>

namespace culprit::viewer::tui {
namespace {

using views::NodeId;

constexpr int kProcedureLevel = 2;  // of the flat view: below load modules and files

}  // namespace

TreePane::TreePane(Workspace& workspace, Host& host, std::size_t view)
    : OutlinePane(workspace, host, 1), view_(view) {
  if (view_ == Workspace::kFlat) flattened_ = kProcedureLevel;
}

std::string TreePane::name() const {
  constexpr std::array<const char*, Workspace::kViews> names = {"Calls", "Callers", "Flat"};
  return names.at(view_);
}

views::OutlineOptions TreePane::options() const {
  views::OutlineOptions options;
  options.passed_over = workspace_.passed_over;
  options.sort = workspace_.columns().sort_column().column;
  options.smallest_first = workspace_.smallest_first;
  options.size = workspace_.columns().front().column;
  options.least = workspace_.least_percent / kPercent * workspace_.columns().front().whole;
  if (filter_ && filter_->done()) options.filter = &*filter_;
  if (!workspace_.passed_over.recursion) return options;
  std::vector<views::Column> shown;
  for (const NumberColumn& each : workspace_.columns()) shown.push_back(each.column);
  options.sampled = sampled_columns(workspace_.experiment(), shown);
  return options;
}

void TreePane::shown() {
  if (!outline_) {
    outline_ = std::make_unique<views::Outline>(workspace_.view(view_), options());
    if (flattened_ > 0) flatten(0);
    open_first();
  } else if (outline_->options().sort.title != workspace_.columns().sort_column().column.title ||
             outline_->options().smallest_first != workspace_.smallest_first) {
    const std::optional<NodeRef> at = current();
    outline_->sort_by(workspace_.columns().sort_column().column, workspace_.smallest_first);
    if (at) reveal(at->node);
  }
  note_choice();
}

/// The first look: what the filter found; else where the time goes, down to what divides it.
void TreePane::open_first() {
  constexpr std::size_t kMostRowsShown = 500;
  if (outline_->rows().empty()) return;
  if (filter_ && !filter_wanted_) {
    Item* found = nullptr;
    while ((found = outline_->find(*filter_, found, false)) != nullptr &&
           outline_->rows().size() < kMostRowsShown)
      continue;
  } else if (view_ == Workspace::kCallingContext) {
    outline_->open(outline_->open_hot_path(*outline_->rows().front()));
  }
}

void TreePane::rebuild() {
  if (!outline_) return;
  const std::optional<NodeRef> at = current();
  outline_->set_options(options());
  search_.forget_place();
  open_first();
  scroll_.cursor = 0;
  if (at) reveal(at->node);
  note_choice();
}

void TreePane::figures_changed() {
  if (!outline_) return;
  const std::optional<NodeRef> at = current();
  outline_.reset();
  search_.forget();
  filter_.reset();
  zoomed_.clear();
  scroll_ = {};
  shown();
  if (!filter_text_.empty()) set_filter(filter_text_);
  if (at && view_ != Workspace::kCallers) reveal(at->node);
}

std::optional<NodeRef> TreePane::current() const {
  const Item* const at = item();
  if (at == nullptr) return std::nullopt;
  return NodeRef{view_, at->node, at->fold};
}

void TreePane::note_choice() {
  if (const std::optional<NodeRef> at = current()) workspace_.chosen = at;
}

void TreePane::reveal(NodeId node) {
  if (!outline_) shown();
  const Item* found = outline_->reveal(node);
  if ((found == nullptr || found->node != node) && !outline_->shows_all()) {
    // It lies outside of what is zoomed into, or a filter hides it.
    outline_->set_roots();
    zoomed_.clear();
    flattened_ = 0;
    found = outline_->reveal(node);
  }
  go_to(found);
}

// -- keys ---------------------------------------------------------------------------------------------------

bool TreePane::handle(const Event& event) {
  if (!outline_) shown();
  return OutlinePane::handle(event);
}

void TreePane::click_heading(int /*line*/, int column) {
  const NumberCells numbers(workspace_, first_column_, drawn_.width * 3 / 5);
  if (const auto clicked = numbers.column_at(column)) sort_by(*clicked);
}

bool TreePane::handle_own(const Event& event) {
  if (event.key == Key::backspace) {
    zoom_out();
    return true;
  }
  if (event.key != Key::letter) return false;
  return change_roots(event.letter) || change_numbers(event.letter) || ask_for(event.letter);
}

bool TreePane::change_roots(char32_t letter) {
  switch (letter) {
    case U'z':
      zoom();
      return true;
    case U'Z':
      zoom_out();
      return true;
    case U'F':
      flatten(1);
      return true;
    case U'U':
      flatten(-1);
      return true;
    case U'u':
      turn_folding(workspace_, host_);
      return true;
    default:
      return false;
  }
}

bool TreePane::change_numbers(char32_t letter) {
  const std::size_t columns = workspace_.columns().size();
  switch (letter) {
    case U'<':
    case U',':
      sort_by((workspace_.columns().sort() + columns - 1) % columns);
      return true;
    case U'>':
    case U'.':
      sort_by((workspace_.columns().sort() + 1) % columns);
      return true;
    case U'I':
      workspace_.smallest_first = !workspace_.smallest_first;
      shown();
      return true;
    case U'%':
      workspace_.percent = !workspace_.percent;
      return true;
    case U'[':
      if (first_column_ > 0) --first_column_;
      return true;
    case U']':
      if (first_column_ + 1 < columns) ++first_column_;
      return true;
    default:
      return false;
  }
}

bool TreePane::ask_for(char32_t letter) {
  switch (letter) {
    case U'm':
      mark();
      return true;
    case U'b':
      follow_blame();
      return true;
    case U'f':
    case U'&':  // as in less
      ask_filter();
      return true;
    case U't':
      host_.ask(threshold_prompt(workspace_, host_));
      return true;
    default:
      return false;
  }
}

std::string TreePane::nothing_below(const Item& item) const {
  if (const std::string_view library = folded_library(workspace_.view(view_), item); !library.empty())
    return "Nothing but the insides of " + std::string(library) + " is below it (u shows them)";
  return "Nothing is below it" +
         std::string(workspace_.passed_over.wait_internals ? " (o shows what is left out)" : "");
}

void TreePane::mark() {
  const std::optional<NodeRef> at = current();
  if (!at) return;
  const auto found = std::find(workspace_.marked.begin(), workspace_.marked.end(), *at);
  if (found != workspace_.marked.end()) {
    workspace_.marked.erase(found);
  } else if (workspace_.marked.size() >= static_cast<std::size_t>(kSeries)) {
    host_.notify("No more than four nodes can be drawn together (m again takes a mark away)");
    return;
  } else {
    workspace_.marked.push_back(*at);
    host_.notify("Marked for the graph over ranks (r); m again takes the mark away");
  }
  scroll_.cursor = std::min(scroll_.cursor + 1, static_cast<int>(outline_->rows().size()) - 1);
}

void TreePane::zoom() {
  Item* const at = item();
  if (at == nullptr) return;
  std::vector<views::VisibleNode> before;
  if (!outline_->shows_all()) {
    for (const Item* const row : outline_->rows()) {
      if (row->parent == nullptr) before.push_back(*row);
    }
  }
  zoomed_.push_back(std::move(before));
  outline_->set_rows({*at});
  scroll_.cursor = 0;
  if (!outline_->rows().empty()) outline_->open(*outline_->rows().front());
  host_.notify("Zoomed into this subtree (Z or Backspace: back)");
}

void TreePane::zoom_out() {
  if (zoomed_.empty()) return;
  const std::optional<NodeRef> at = current();
  std::vector<views::VisibleNode> before = std::move(zoomed_.back());
  zoomed_.pop_back();
  if (before.empty()) {
    outline_->set_roots();
  } else {
    outline_->set_rows(std::move(before));
  }
  if (view_ == Workspace::kFlat && zoomed_.empty()) flatten(0);
  if (at) reveal(at->node);
}

/// Leaves out levels at the top of the flat view: load modules, then files.
void TreePane::flatten(int levels) {
  if (view_ != Workspace::kFlat) {
    if (levels != 0) host_.notify("Only the flat view can be flattened (4)");
    return;
  }
  flattened_ = std::clamp(flattened_ + levels, 0, 3);
  views::View& view = workspace_.view(view_);
  std::vector<NodeId> roots = view.roots();
  for (int level = 0; level < flattened_; ++level) {
    std::vector<NodeId> below;
    for (const NodeId root : roots) {
      const std::vector<NodeId> children = view.children(root);
      if (children.empty()) below.push_back(root);
      below.insert(below.end(), children.begin(), children.end());
    }
    roots = std::move(below);
  }
  zoomed_.clear();
  outline_->set_roots(roots);
  scroll_.cursor = 0;
}

void TreePane::sort_by(std::size_t column) {
  if (column == workspace_.columns().sort()) return;
  workspace_.columns().sort_by(column);
  shown();
  if (!NumberCells(workspace_, first_column_, drawn_.width * 3 / 5).shows(column)) first_column_ = column;
}

void TreePane::follow_blame() {
  const std::optional<NodeRef> at = current();
  if (!at) return;
  const database::ContextId context = workspace_.context_of(*at);
  if (context == database::kNone) {
    host_.notify("Blame is charged to calling contexts: see 2 Calls");
    return;
  }
  const bool folded = view_ == Workspace::kCallingContext && at->fold;
  const BlameStep step = next_on_blame_path(
      workspace_.experiment(), folded ? on_blame_path(workspace_.experiment(), at->fold->parts) : context);
  if (step.context) {
    workspace_.marked_locations = step.locations;
    host_.go({Target::Kind::context, *step.context, step.locations, -1, 0, 0, {}});
  }
  host_.notify(step.why);
}

// -- search and filter --------------------------------------------------------------------------------------

bool TreePane::work() {
  if (!filter_wanted_ || !filter_) return OutlinePane::work();
  if (filter_->step(kSearchStep)) return true;
  filter_wanted_ = false;
  rebuild();
  if (outline_->rows().empty()) host_.notify("Nothing matches '" + filter_text_ + "' (f, empty: everything)");
  return true;
}

void TreePane::set_filter(const std::string& pattern) {
  filter_text_ = pattern;
  filter_wanted_ = false;
  filter_.reset();
  try {
    if (!pattern.empty()) {
      filter_.emplace(workspace_.view(view_), pattern, workspace_.passed_over);
      filter_wanted_ = true;
    }
  } catch (const views::BadPattern& bad) {
    filter_text_.clear();
    host_.notify(bad.what());
  }
  rebuild();
}

void TreePane::ask_filter() {
  Prompt prompt;
  prompt.label = "Only paths through (regular expression, empty: all): ";
  prompt.text = filter_text_;
  prompt.entered = [this](const std::string& text) { set_filter(text); };
  host_.ask(std::move(prompt));
}

// -- drawing ------------------------------------------------------------------------------------------------

void TreePane::draw(Canvas& canvas, const Area& area) {
  if (!outline_) shown();
  drawn_ = area;
  const NumberCells numbers(workspace_, first_column_, area.width * 3 / 5);
  draw_header(canvas, area, numbers);
  draw_outline(canvas, area, [&](const Area& row, Item& item) {
    return TreeRow{workspace_, view_, item, outline_->has_children(item)}.draw(canvas, row, numbers);
  });
  if (outline_->rows().empty())
    canvas.write(area.row + 1, area.column + numbers.width(), "nothing to show", Tone::dim, area.width);
}

void TreePane::draw_header(Canvas& canvas, const Area& area, const NumberCells& numbers) const {
  numbers.header(canvas, area.row, area.column);
  const int room = area.width - numbers.width();
  std::string text = remarks_on_view();
  // The tab names the view; what restricts it stands nowhere else.
  const std::string gap = workspace_.unicode() ? " · " : ", ";
  const std::size_t name = text.find(gap);
  if (static_cast<int>(columns(text)) > room && name != std::string::npos) text.erase(0, name + gap.size());
  canvas.write(area.row, area.column + numbers.width(),
               shorten_middle(text, static_cast<std::size_t>(std::max(room, 1)), workspace_.unicode()),
               Tone::heading, room);
}

/// What restricts the view, so that nobody takes a part for the whole.
std::string TreePane::remarks_on_view() const {
  const std::string gap = workspace_.unicode() ? " · " : ", ";
  std::string text(workspace_.view(view_).name());
  if (!workspace_.ranks().empty()) text += gap + "ranks " + workspace_.ranks();
  if (workspace_.role()) text += gap + role_phrase(workspace_.experiment(), *workspace_.role());
  if (!zoomed_.empty()) text += gap + "zoomed";
  if (workspace_.least_percent > 0)
    text += gap + "from " + grouped(workspace_.least_percent, workspace_.least_percent < 1 ? 2 : 0) + " %";
  if (!filter_text_.empty()) text += gap + "filter " + filter_text_;
  if (search_.searching()) text += gap + "searching";
  return text;
}

std::vector<Hint> TreePane::hints() const {
  return {{"Enter", "open"}, {"H", "hot path"}, {"b", "to blame"}, {"s", "source"},
          {"r", "ranks"},    {"/", "search"},   {"<>", "sort"},    {"f", "filter"},
          {"z", "zoom"},     {"c", "columns"},  {"e", "explain"}};
}

std::string TreePane::status() const {
  const Item* const at = item();
  if (at == nullptr) return {};
  views::View& view = workspace_.view(view_);
  if (at->fold && !at->fold->unsampled.empty())
    return row_label(view, *at) + ": no sample fell into them (Enter opens them)";
  std::string text = workspace_.title_of({view_, at->node});
  if (const std::string folded = folded_phrase(view, *at); !folded.empty()) text += "  " + folded;
  if (at->call) {
    const std::string site = place(view.frame(*at->call));
    if (!site.empty()) text += "  called at " + site;
  }
  return text + "  [" + view.id(at->node) + ']';
}

std::string TreePane::path() const {
  const std::optional<NodeRef> at = current();
  return at ? workspace_.path_of(*at) : std::string{};
}

std::string TreePane::csv() const {
  return workspace_.csv_of(view_);
}

std::string TreePane::topic() const {
  return workspace_.columns().sort_column().column.name.event;
}

}  // namespace culprit::viewer::tui
