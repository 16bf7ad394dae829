#include "tui/panes/time_view.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace culprit::viewer::tui {
namespace {

/// The cursor of a window to the next of the `cells` that it is drawn in, or the one before. Of the things
/// that share that cell, to the one of the largest value: that is what is seen there.
template <typename Value>
void move(Window& window, std::size_t all, std::size_t cells, bool forward, Value value_of) {
  const std::size_t shown = window.shown(all);
  const std::size_t cell =
      cells > 0 ? ((window.cursor - window.first + 1) * cells - 1) / std::max<std::size_t>(shown, 1) : 0;
  const std::size_t per_cell = cells > 0 ? (shown + cells - 1) / cells : 1;
  const bool beyond = forward ? cell + 1 >= cells : cell == 0;
  if (per_cell <= 1 || beyond) {
    window.move(forward ? static_cast<std::ptrdiff_t>(per_cell) : -static_cast<std::ptrdiff_t>(per_cell),
                all);
    return;
  }
  const std::size_t next = forward ? cell + 1 : cell - 1;
  const std::size_t from = window.first + first_of(next, cells, shown);
  const std::size_t until = window.first + first_of(next + 1, cells, shown);
  window.cursor = from;
  for (std::size_t at = from; at < until; ++at) {
    if (value_of(at) > value_of(window.cursor)) window.cursor = at;
  }
  window.fit(all);
}

}  // namespace

bool TimeView::has_map() {
  if (grid_) return true;
  if (findings_.ready() == nullptr) return false;  // results of time lines are still being read
  const std::vector<TimeChoice> choices = time_choices(workspace_.experiment());
  if (choices.empty()) return false;
  if (std::find(choices.begin(), choices.end(), choice_) == choices.end()) choice_ = choices.front();
  grid_ = make_time_grid(workspace_.experiment(), choice_, level_);
  legend_ = grid_->legend();
  ++edition_;
  return true;
}

void TimeView::show(const TimeChoice& choice) {
  const auto kind = [this] {
    return grid_ ? std::pair(grid_->columns(), grid_->axis()) : std::pair(std::size_t{0}, std::string());
  };
  go_far();
  const auto before = kind();
  grid_.reset();  // large ones are not kept beside each other
  choice_ = choice;
  if (!has_map()) return;
  // The place is kept among maps of the same columns.
  if (kind() != before) segments_ = {};
  ranks_.fit(grid_->rows());
}

void TimeView::show_next(bool backwards) {
  const std::vector<TimeChoice> choices = time_choices(workspace_.experiment());
  const auto now =
      static_cast<std::size_t>(std::find(choices.begin(), choices.end(), choice_) - choices.begin());
  show(choices[(now + (backwards ? choices.size() - 1 : 1)) % choices.size()]);
}

void TimeView::show_next_level() {
  level_ = (level_ + 1) % workspace_.experiment().trace().variations.size();
  ranks_ = {};
  show(choice_);
}

void TimeView::point_at(const Target& target) {
  level_ = target.level;
  show({TimeChoice::Kind::iterations, {}});
  if (!has_map() || target.rank < 0) return;
  for (std::size_t row = 0; row < grid_->rows(); ++row) {
    if (grid_->rank(row) == target.rank) ranks_.cursor = row;
  }
  put_cursor(ranks_.cursor, target.segment);
}

void TimeView::fit() {
  ranks_.fit(grid_->rows());
  segments_.fit(grid_->columns());
}

void TimeView::move_in_time(bool forward, std::size_t cells) {
  const std::size_t columns = grid_->columns();
  const std::size_t call =
      near_ == nullptr ? segments_.cursor : near_->beside(ranks_.cursor, segments_.cursor, forward);
  move(segments_, columns, cells, forward,
       [&](std::size_t column) { return grid_->weight(ranks_.cursor, column); });
  if (near_ == nullptr) return;
  segments_.cursor = forward ? std::max(segments_.cursor, call) : std::min(segments_.cursor, call);
  segments_.fit(columns);
}

void TimeView::move_to_rank(bool forward, std::size_t lines) {
  move(ranks_, grid_->rows(), lines, forward,
       [&](std::size_t rank) { return grid_->at(rank, segments_.cursor); });
}

void TimeView::page(bool forward) {
  const std::size_t ranks = grid_->rows();
  const auto quarter = static_cast<std::ptrdiff_t>(std::max<std::size_t>(ranks_.shown(ranks) / 4, 1));
  ranks_.move(forward ? quarter : -quarter, ranks);
}

void TimeView::put_cursor(std::size_t rank, std::size_t segment) {
  ranks_.cursor = rank;
  segments_.cursor = segment;
  fit();
}

void TimeView::zoom(bool in) {
  constexpr std::size_t kFew = 16;  // bins: these and fewer are shown call by call
  if (in && choice_.kind == TimeChoice::Kind::code && near_ == nullptr &&
      segments_.shown(grid_->columns()) <= kFew)
    come_near();
  ranks_.zoom(in, grid_->rows());
  segments_.zoom(in, grid_->columns());
  if (near_ != nullptr && segments_.shown(grid_->columns()) > kFew << near_->shift()) go_far();
}

void TimeView::show_all() {
  go_far();
  ranks_.count = segments_.count = 0;
  fit();
}

void TimeView::come_near() {
  if (!calls_) calls_ = std::make_unique<SingleCalls>(workspace_.source(), workspace_.database());
  const std::size_t shown = segments_.shown(grid_->columns());
  auto calls = std::make_unique<CallsGrid>(workspace_.experiment(), std::move(grid_), *calls_);
  near_ = calls.get();
  grid_ = std::move(calls);
  const unsigned shift = near_->shift();
  const std::size_t half = (std::size_t{1} << shift) / 2;
  segments_ = {.first = segments_.first << shift,
               .count = shown << shift,
               .cursor = (segments_.cursor << shift) + half};
  ++edition_;
}

void TimeView::go_far() {
  if (near_ == nullptr) return;
  const unsigned shift = near_->shift();
  grid_ = near_->take_bins();
  near_ = nullptr;
  segments_ = {.first = segments_.first >> shift,
               .count = segments_.count >> shift,
               .cursor = segments_.cursor >> shift};
  segments_.fit(grid_->columns());
  ++edition_;
}

bool TimeView::go_to_whom_it_waited_for() {
  const auto place = near_ == nullptr ? std::nullopt : near_->waited_for(ranks_.cursor, segments_.cursor);
  if (place) put_cursor(place->row, place->column);
  return place.has_value();
}

void TimeView::want_calls() {
  fit();
  if (near_ == nullptr) return;
  waits_for_calls_ = near_->want({ranks_.first, ranks_.shown(grid_->rows())},
                                 {segments_.first, segments_.shown(grid_->columns())});
  if (near_->renew()) ++edition_;
}

bool TimeView::calls_came() {
  if (near_ == nullptr || !waits_for_calls_) return false;
  waits_for_calls_ = calls_->reading();
  return true;  // what was read is to be drawn
}

}  // namespace culprit::viewer::tui
