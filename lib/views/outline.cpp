// A tree as people open it: rows are made and sorted when their parent is first opened, so the cost is that
// of what is shown. Chains of only children open together.
#include "views/outline.hpp"

#include "views/folding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

namespace culprit::views {
namespace {

constexpr int kLongestChain = 200;  // only children that open with their parent

double key_of(View& view, const VisibleNode& row, const OutlineOptions& options) {
  const double value = visible_value(view, row, options.sort, options.passed_over.fold_calls);
  constexpr double kLast = -std::numeric_limits<double>::infinity();
  if (std::isnan(value)) return kLast;
  return options.smallest_first ? -value : value;
}

bool is_unsampled(const VisibleNode& row) {
  return row.fold && !row.fold->unsampled.empty();
}

/// Whether the row's label matches, or that of a node which it hides.
bool matches(const Search& search, const VisibleNode& row) {
  if (is_unsampled(row)) return false;  // they have rows of their own below it
  if (search.matches(row.node)) return true;
  return row.fold && std::any_of(row.fold->parts.begin(), row.fold->parts.end(),
                                 [&](NodeId part) { return search.matches(part); });
}

bool touches(const Search& search, const VisibleNode& row) {
  if (!row.fold) return search.touches(row.node);
  return std::any_of(row.fold->outermost.begin(), row.fold->outermost.end(),
                     [&](NodeId node) { return search.touches(node); });
}

}  // namespace

Outline::Outline(View& view, OutlineOptions options) : view_(view), options_(std::move(options)) {
  set_roots();
}

void Outline::set_roots(const std::vector<NodeId>& roots) {
  PassedOverCount count;
  set_rows(rows_of(view_, roots, options_.passed_over, count));
  whole_ = roots == view_.roots();
}

void Outline::set_rows(std::vector<VisibleNode> rows) {
  whole_ = false;
  roots_.clear();
  add(roots_, rows, nullptr);
  shown_roots_ = std::move(rows);
  refresh();
}

void Outline::set_options(OutlineOptions options) {
  options_ = std::move(options);
  close_all();
}

void Outline::sort_by(const Column& column, bool smallest_first) {
  options_.sort = column;
  options_.smallest_first = smallest_first;
  sort_all(roots_);
  refresh();
}

void Outline::sort_all(Items& list) {
  for (const std::unique_ptr<Item>& item : list) item->key = key_of(view_, *item, options_);
  arrange(list, list.empty() ? nullptr : list.front()->parent);
  for (const std::unique_ptr<Item>& item : list) {
    // What is closed is made again when it is opened.
    if (item->open) {
      sort_all(item->children);
    } else {
      item->children.clear();
      item->made = false;
    }
  }
}

bool Outline::left_out(const VisibleNode& row, bool in_filter) const {
  if (options_.least > 0 &&
      !(visible_value(view_, row, options_.size, options_.passed_over.fold_calls) >= options_.least))
    return true;
  return !in_filter && options_.filter != nullptr && !touches(*options_.filter, row);
}

void Outline::add(Items& list, std::vector<VisibleNode> nodes, Item* parent) {
  const auto in_filter = [&](const VisibleNode& row) {
    return (parent != nullptr && parent->in_filter) || options_.filter == nullptr ||
           matches(*options_.filter, row);
  };
  std::erase_if(nodes, [&](const VisibleNode& row) { return left_out(row, in_filter(row)); });
  if (parent == nullptr || !is_unsampled(*parent))
    fold_unsampled(view_, nodes, options_.sampled, options_.passed_over.fold_calls);
  for (VisibleNode& each : nodes) {
    auto item = std::make_unique<Item>();
    item->in_filter = in_filter(each);
    static_cast<VisibleNode&>(*item) = std::move(each);
    item->parent = parent;
    item->key = key_of(view_, *item, options_);
    list.push_back(std::move(item));
  }
  arrange(list, parent);
}

void Outline::arrange(Items& list, const Item* parent) {
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a->key > b->key; });
  const std::uint32_t depth = parent == nullptr ? 0 : parent->depth + (list.size() > 1 ? 1 : 0);
  for (std::uint32_t index = 0; index < list.size(); ++index) {
    Item& item = *list[index];
    item.depth = depth;
    item.index = index;
    item.last = index + 1 == list.size();
    item.alone = list.size() == 1 || parent == nullptr;
  }
}

void Outline::make(Item& item) {
  if (item.made) return;
  item.made = true;
  PassedOverCount count;
  add(item.children, rows_below(view_, item, options_.passed_over, count), &item);
}

bool Outline::has_children(Item& item) {
  make(item);
  return !item.children.empty();
}

void Outline::open(Item& item) {
  Item* at = &item;
  for (int step = 0; step < kLongestChain && has_children(*at); ++step) {
    at->open = true;
    if (at->children.size() != 1) break;
    at = at->children.front().get();
  }
  refresh();
}

void Outline::close(Item& item) {
  item.open = false;
  refresh();
}

void Outline::open_below(Item& item, std::uint32_t levels, std::size_t rows) {
  std::vector<Item*> now = {&item};
  std::size_t shown = rows_.size();
  for (std::uint32_t level = 0; level < levels && !now.empty(); ++level) {
    std::vector<Item*> next;
    for (Item* const each : now) {
      if (!has_children(*each)) continue;
      if (!each->open) shown += each->children.size();
      if (shown > rows) break;
      each->open = true;
      for (const std::unique_ptr<Item>& child : each->children) next.push_back(child.get());
    }
    if (shown > rows) break;
    now = std::move(next);
  }
  refresh();
}

void Outline::close_all() {
  const bool whole = whole_;
  set_rows(std::vector<VisibleNode>(shown_roots_));
  whole_ = whole;
}

Outline::Item& Outline::open_hot_path(Item& item, double keep) {
  const auto figure = [&](const Item& each) {
    return visible_value(view_, each, options_.hot ? *options_.hot : options_.sort,
                         options_.passed_over.fold_calls);
  };
  Item* at = &item;
  while (has_children(*at)) {
    const auto largest = std::max_element(at->children.begin(), at->children.end(),
                                          [&](auto& a, auto& b) { return figure(*a) < figure(*b); });
    const double whole = figure(*at);
    if (!(whole > 0) || !(figure(**largest) >= keep * whole)) break;
    at->open = true;
    at = largest->get();
  }
  refresh();
  return *at;
}

Outline::Item* Outline::reveal(NodeId node) {
  std::vector<NodeId> path;
  for (NodeId at = node; at != database::kNone; at = view_.parent(at)) path.push_back(at);
  // How far above the node the nearest one is that a row stands for; the path's length where none is.
  const auto distance = [&](const VisibleNode& row) {
    const auto first = std::find_if(path.begin(), path.end(), [&](NodeId at) {
      if (!row.fold) return at == row.node;
      return std::binary_search(row.fold->parts.begin(), row.fold->parts.end(), at);
    });
    return static_cast<std::size_t>(first - path.begin());
  };
  Item* nearest = nullptr;
  for (Items* list = &roots_; !list->empty();) {
    const auto on_path = std::min_element(list->begin(), list->end(), [&](const auto& a, const auto& b) {
      return distance(*a) < distance(*b);
    });
    const std::size_t above = distance(**on_path);
    if (above == path.size()) break;
    nearest = on_path->get();
    if ((above == 0 && !is_unsampled(*nearest)) || !has_children(*nearest)) break;
    list = &nearest->children;
  }
  if (nearest != nullptr) open_way_to(*nearest);
  return nearest;
}

void Outline::open_way_to(Item& item) {
  for (Item* above = item.parent; above != nullptr; above = above->parent) above->open = true;
  refresh();
}

std::size_t Outline::row_of(const Item* item) const {
  return static_cast<std::size_t>(std::find(rows_.begin(), rows_.end(), item) - rows_.begin());
}

void Outline::refresh() {
  rows_.clear();
  append_rows(roots_);
}

void Outline::append_rows(const Items& list) {
  for (const std::unique_ptr<Item>& item : list) {
    rows_.push_back(item.get());
    if (item->open) append_rows(item->children);
  }
}

Outline::Items& Outline::siblings(const Item& item) {
  return item.parent == nullptr ? roots_ : item.parent->children;
}

Outline::Item* Outline::first_in(const Search& search, Item& item) {
  if (matches(search, item)) return &item;
  if (!touches(search, item)) return nullptr;
  make(item);
  for (const std::unique_ptr<Item>& child : item.children) {
    if (Item* const found = first_in(search, *child)) return found;
  }
  return nullptr;
}

Outline::Item* Outline::last_in(const Search& search, Item& item, bool itself) {
  if (touches(search, item)) {
    make(item);
    for (std::size_t index = item.children.size(); index-- > 0;) {
      if (Item* const found = last_in(search, *item.children[index], true)) return found;
    }
  }
  return itself && matches(search, item) ? &item : nullptr;
}

Outline::Item* Outline::find_after(const Search& search, Item* from) {
  const auto in_list = [&](Items& list, std::size_t first) -> Item* {
    for (std::size_t index = first; index < list.size(); ++index) {
      if (Item* const found = first_in(search, *list[index])) return found;
    }
    return nullptr;
  };
  if (from == nullptr) return in_list(roots_, 0);
  if (touches(search, *from)) {
    make(*from);
    if (Item* const found = in_list(from->children, 0)) return found;
  }
  for (Item* at = from; at != nullptr; at = at->parent) {
    if (Item* const found = in_list(siblings(*at), at->index + 1)) return found;
  }
  return nullptr;
}

Outline::Item* Outline::find_before(const Search& search, Item* from) {
  const auto in_list = [&](Items& list, std::size_t end) -> Item* {
    for (std::size_t index = end; index-- > 0;) {
      if (Item* const found = last_in(search, *list[index], true)) return found;
    }
    return nullptr;
  };
  if (from == nullptr) return in_list(roots_, roots_.size());
  for (Item* at = from; at != nullptr; at = at->parent) {
    if (Item* const found = in_list(siblings(*at), at->index)) return found;
    if (at->parent != nullptr && matches(search, *at->parent)) return at->parent;
  }
  return nullptr;
}

Outline::Item* Outline::find(const Search& search, Item* from, bool backwards) {
  Item* const found = backwards ? find_before(search, from) : find_after(search, from);
  if (found != nullptr) open_way_to(*found);
  return found;
}

}  // namespace culprit::views
