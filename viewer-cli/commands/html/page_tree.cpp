// Chooses the rows of a view that the page holds (ours): best first. Rows wait in a heap by their share of
// the run; the weightiest is taken, and its children come into the heap. Sums with all below only shrink on
// the way down, so the rows taken are the heaviest ones of the view. Cost: the rows taken, and their
// children.
#include "commands/html/page_tree.hpp"

#include "request/view_request.hpp"
#include "text/node_label.hpp"
#include "text/shorten.hpp"
#include "tree/column_heading.hpp"
#include "views/folding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace culprit::viewer {
namespace {

constexpr std::size_t kLongestName = 300;    // a reader sees no more of it
constexpr std::size_t kLongNames = 400'000;  // bytes; once the page has this many, names are shorter
constexpr std::size_t kEnough = 60;

std::string meaning_of(const database::Contents& experiment, const views::Column& column) {
  if (column.blame) return "Waiting that is charged to this code: what makes threads wait lies inside it.";
  std::string text = experiment.metrics[column.metric].description;
  if (column.name.statistic == views::Statistic::sum)
    return text + (column.name.inclusive ? " With all below." : " The code itself.");
  return text + " Over the threads: " + std::string(views::to_string(column.name.statistic)) + '.';
}

std::vector<std::string> names_of_columns(const database::Contents& experiment) {
  const std::string time = primary_metric(experiment);
  std::vector<std::string> names = {time + ":sum (I)", time + ":sum (E)", "idleness:sum (I)",
                                    "imbalance:sum (E)", "imbalance:sum (I)"};
  for (const database::Metric& metric : experiment.metrics) {
    if (metric.name == time || metric.name == views::kImbalance || metric.name == "samples") continue;
    for (const char* const scope : {" (I)", " (E)"}) names.push_back(metric.name + ":sum" + scope);
  }
  for (const char* const statistic : {"mean", "max", "min", "stddev"})
    names.push_back(time + ':' + statistic + " (I)");
  return names;
}

}  // namespace

std::vector<PageColumn> page_columns(const views::Figures& figures, std::size_t most, std::size_t& shown) {
  const database::Contents& experiment = figures.experiment();
  constexpr std::size_t kShownAtFirst = 4;
  std::vector<PageColumn> columns;
  shown = 0;
  std::size_t asked = 0;
  for (const std::string& name : names_of_columns(experiment)) {
    const bool at_first = asked++ < kShownAtFirst;
    if (columns.size() == most) break;
    const bool known =
        std::ranges::any_of(columns, [&](const PageColumn& each) { return each.column.title == name; });
    if (known) continue;
    PageColumn made;
    try {
      made.column = views::find_column(experiment, name);
    } catch (const views::UnknownMetric&) {
      continue;  // not every run has all of them
    }
    const double whole = views::total(figures, made.column);
    made.whole = std::isnan(whole) ? 0 : whole;
    if (made.whole == 0 && !columns.empty()) continue;
    made.heading = column_heading(made.column);
    made.meaning = meaning_of(experiment, made.column);
    made.of_summaries = made.column.additive() || made.column.name.statistic == views::Statistic::mean;
    columns.push_back(std::move(made));
    if (at_first) ++shown;
  }
  return columns;
}

PageTree::PageTree(views::View& view, const std::vector<PageColumn>& columns, std::size_t weighing,
                   std::size_t most, const std::unordered_set<views::NodeId>& wanted)
    : view_(view), columns_(columns), weighing_(std::min(weighing, columns.size())), wanted_(wanted) {
  views::PassedOverCount count;
  add_below(views::rows_of(view_, view_.roots(), kPassedOverOnPage, count), database::kNone);
  while (!heap_.empty() && rows_.size() < most) {
    std::ranges::pop_heap(heap_, comes_later);
    Candidate best = std::move(heap_.back());
    heap_.pop_back();
    take(std::move(best));
  }
  for (const Candidate& left : heap_) {
    ++left_out_;
    if (left.parent == database::kNone) continue;
    ++rows_[left.parent].left;
    const double each = value(left.shown, columns_.front());
    rows_[left.parent].left_value += std::isnan(each) ? 0 : each;
  }
  heap_.clear();
}

double PageTree::value(const views::VisibleNode& shown, const PageColumn& column) const {
  return views::visible_value(view_, shown, column.column, kPassedOverOnPage.fold_calls);
}

bool PageTree::is_wanted(const views::VisibleNode& shown) const {
  if (wanted_.empty()) return false;
  if (wanted_.contains(shown.node) || (shown.call && wanted_.contains(*shown.call))) return true;
  return shown.fold &&
         std::ranges::any_of(shown.fold->parts, [&](views::NodeId part) { return wanted_.contains(part); });
}

bool PageTree::comes_later(const Candidate& a, const Candidate& b) {
  return std::tuple(a.wanted, a.weight, b.number) < std::tuple(b.wanted, b.weight, a.number);
}

void PageTree::add_below(std::vector<views::VisibleNode> found, std::uint32_t parent) {
  std::vector<views::Column> sampled;
  for (std::size_t i = 0; i < weighing_; ++i) sampled.push_back(columns_[i].column);
  views::fold_unsampled(view_, found, sampled, kPassedOverOnPage.fold_calls);
  for (views::VisibleNode& shown : found) {
    double weight = 0;
    for (std::size_t i = 0; i < weighing_; ++i) {
      const double share = columns_[i].whole > 0 ? value(shown, columns_[i]) / columns_[i].whole : 0;
      if (share > weight) weight = share;  // not where it is none
    }
    const bool wanted = is_wanted(shown);
    heap_.push_back({std::move(shown), parent, weight, wanted, found_++});
    std::ranges::push_heap(heap_, comes_later);
  }
}

void PageTree::take(Candidate candidate) {
  const auto row = static_cast<std::uint32_t>(rows_.size());
  const bool unsampled = candidate.shown.fold && !candidate.shown.fold->unsampled.empty();
  std::vector<views::VisibleNode> below;
  views::PassedOverCount count;
  if (!unsampled) below = views::rows_below(view_, candidate.shown, kPassedOverOnPage, count);
  note_nodes(candidate.shown, row);
  rows_.push_back({std::move(candidate.shown), candidate.parent, candidate.weight, 0, 0});
  add_below(std::move(below), row);
}

void PageTree::note_nodes(const views::VisibleNode& shown, std::uint32_t row) {
  row_of_.emplace(shown.node, row);
  if (shown.call) row_of_.emplace(*shown.call, row);
  if (!shown.fold) return;
  for (const auto* const nodes : {&shown.fold->parts, &shown.fold->outermost, &shown.fold->own})
    for (const views::NodeId node : *nodes) row_of_.emplace(node, row);
  for (const views::VisibleNode& each : shown.fold->unsampled) row_of_.emplace(each.node, row);
}

std::optional<std::uint32_t> PageTree::row_of(views::NodeId node) const {
  for (views::NodeId at = node; at != database::kNone; at = view_.parent(at)) {
    if (const auto found = row_of_.find(at); found != row_of_.end()) return found->second;
  }
  return std::nullopt;
}

Json PageTree::to_json(PageTexts& texts) const {
  std::vector<std::uint32_t> name, full, remark, file, line;
  std::vector<std::int64_t> parent;
  std::vector<unsigned> kind, flags;
  Json left = Json::array();
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const Row& each = rows_[row];
    const views::Frame frame = view_.frame(each.shown.node);
    const bool whole = texts.bytes() < kLongNames;
    const std::string label =
        shorten_name(row_label(view_, each.shown), whole ? kLongestName : kEnough, true);
    const std::vector<std::string> remarks = remarks_of(view_, each.shown, "← ");
    name.push_back(texts(without_parameters(label)));
    full.push_back(whole ? texts(label) : name.back());
    remark.push_back(texts(remarks.empty() ? std::string() : shorten_middle(remarks.front(), kEnough, true)));
    file.push_back(texts(frame.file));
    line.push_back(frame.line);
    parent.push_back(each.parent == database::kNone ? -1 : std::int64_t{each.parent});
    kind.push_back(static_cast<unsigned>(frame.kind));
    flags.push_back(view_.flags(each.shown.node) & 0x0fU);
    if (each.left > 0) left.push_back({row, each.left, short_number(each.left_value)});
  }
  Json values = Json::array();
  for (const PageColumn& column : columns_) {
    const bool known = column.of_summaries || view_.name() != "callers";
    Json list = known ? Json::array() : Json();
    for (std::size_t row = 0; known && row < rows_.size(); ++row)
      list.push_back(short_number(value(rows_[row].shown, column)));
    values.push_back(std::move(list));
  }
  return {{"view", view_.name()}, {"left_out", left_out_},   {"name", name},
          {"full", full},         {"remark", remark},        {"file", file},
          {"line", line},         {"parent", parent},        {"kind", kind},
          {"flags", flags},       {"left", std::move(left)}, {"values", std::move(values)}};
}

}  // namespace culprit::viewer
