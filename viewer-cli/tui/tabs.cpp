#include "tui/tabs.hpp"

#include "tui/panes/compare_pane.hpp"
#include "tui/panes/flame_pane.hpp"
#include "tui/panes/ranks_pane.hpp"
#include "tui/panes/source_pane.hpp"
#include "tui/panes/time_pane.hpp"
#include "views/frame.hpp"

#include <algorithm>

namespace culprit::viewer::tui {
namespace {

constexpr int kTallForTwo = 32;   // lines from which a tree leaves room for what is chosen
constexpr int kWideForTwo = 100;  // columns from which source and ranks stand side by side

}  // namespace

Tabs::Tabs(Workspace& workspace, Host& host, FindingsTask& findings) : workspace_(workspace), host_(host) {
  const auto add = [&](auto pane) {
    auto* const made = pane.get();
    panes_.push_back(std::move(pane));
    return made;
  };
  add(std::make_unique<FindingsPane>(workspace, host, findings, FindingsPane::Shows::start));
  for (std::size_t view = 0; view < Workspace::kViews; ++view)
    trees_.at(view) = add(std::make_unique<TreePane>(workspace, host, view));
  source_ = add(std::make_unique<SourcePane>(workspace, host));
  ranks_ = add(std::make_unique<RanksPane>(workspace, host));
  time_ = add(std::make_unique<TimePane>(workspace, host, findings));
  findings_ = add(std::make_unique<FindingsPane>(workspace, host, findings, FindingsPane::Shows::analyses));
  add(std::make_unique<FlamePane>(workspace, host));
}

Tabs::~Tabs() = default;

void Tabs::select(std::size_t tab) {
  front_ = tab;
  front().shown();
}

void Tabs::select_next(bool backwards) {
  select((front_ + (backwards ? panes_.size() - 1 : 1)) % panes_.size());
}

bool Tabs::select(const std::string& name) {
  const auto found =
      std::find_if(panes_.begin(), panes_.end(), [&](const auto& pane) { return pane->name() == name; });
  if (found == panes_.end()) return false;
  select(static_cast<std::size_t>(found - panes_.begin()));
  return true;
}

std::optional<std::size_t> Tabs::front_view() const {
  if (front_ == 0 || front_ > Workspace::kViews) return std::nullopt;
  return front_ - 1;
}

void Tabs::open_comparison(Comparison& comparison) {
  auto pane = std::make_unique<ComparePane>(workspace_, host_, comparison);
  compare_ = pane.get();
  panes_.push_back(std::move(pane));
  select(panes_.size() - 1);
}

void Tabs::close_comparison() {
  if (compare_ == nullptr) return;
  panes_.pop_back();
  compare_ = nullptr;
}

bool Tabs::comparison_in_front() const {
  return panes_[front_].get() == static_cast<const Pane*>(compare_);
}

bool Tabs::has_others_below() const {
  return front_view() || comparison_in_front();
}

bool Tabs::busy() const {
  return std::ranges::any_of(panes_, [](const auto& pane) { return pane->busy(); });
}

void Tabs::figures_changed() {
  for (const std::unique_ptr<Pane>& pane : panes_) pane->figures_changed();
}

bool Tabs::work() {
  bool more = front().work();
  if (has_others_below()) {
    more = ranks_->work() || more;
    more = source_->work() || more;
  }
  return more;
}

void Tabs::click(int column) {
  for (std::size_t tab = 0; tab < places_.size(); ++tab) {
    if (column >= places_[tab].first && column <= places_[tab].second) select(tab);
  }
}

void Tabs::draw_names(Canvas& canvas) {
  canvas.fill({0, 0, 1, canvas.width()}, U' ', Tone::bar);
  places_.clear();
  // Where they do not fit with a blank on either side, they share them.
  int wanted = 0;
  for (const auto& pane : panes_) wanted += static_cast<int>(pane->name().size()) + 4;
  const char* const behind = wanted <= canvas.width() ? " " : "";
  const bool narrow = wanted - static_cast<int>(panes_.size()) > canvas.width();
  int column = 0;
  for (std::size_t tab = 0; tab < panes_.size(); ++tab) {
    const std::string text =
        ' ' + std::to_string((tab + 1) % 10) + (narrow ? "" : " ") + panes_[tab]->name() + behind;
    const int begin = column;
    column = canvas.write(0, column, text, tab == front_ ? Tone::tab : Tone::bar, canvas.width() - column);
    places_.emplace_back(begin, column - 1);
  }
  const std::string name(views::base_name(workspace_.database()));
  const auto length = static_cast<int>(columns(name));
  if (column + length + 2 <= canvas.width())
    canvas.write(0, canvas.width() - length - 1, name, Tone::bar, length);
}

void Tabs::draw_panes(Canvas& canvas, const Area& area) {
  if (!has_others_below() || area.height < kTallForTwo) {
    front().draw(canvas, area);
    return;
  }
  const int below = area.height * 2 / 5;
  front().draw(canvas, {area.row, area.column, area.height - below, area.width});
  draw_below(canvas, {area.row + area.height - below, area.column, below, area.width});
}

/// The chosen node's source and its values over the ranks.
void Tabs::draw_below(Canvas& canvas, const Area& area) {
  const char32_t rule = workspace_.unicode() ? U'─' : U'-';
  canvas.fill({area.row, area.column, 1, area.width}, rule, Tone::dim);
  if (comparison_in_front()) {  // which of the two runs
    const std::string before(views::base_name(workspace_.database()));
    canvas.write(area.row, area.column + 1, " before: " + before + ' ', Tone::dim, area.width / 2 - 2);
  }
  const Area inside{area.row + 1, area.column, area.height - 1, area.width};
  if (area.width < kWideForTwo) {
    ranks_->draw(canvas, inside);
    return;
  }
  const int left = area.width / 2;
  canvas.put(area.row, area.column + left, workspace_.unicode() ? U'┬' : U'+', Tone::dim);
  source_->draw(canvas, {inside.row, inside.column, inside.height, left - 1});
  canvas.fill({inside.row, area.column + left, inside.height, 1}, workspace_.unicode() ? U'│' : U'|',
              Tone::dim);
  ranks_->draw(canvas, {inside.row, inside.column + left + 2, inside.height, area.width - left - 2});
}

}  // namespace culprit::viewer::tui
