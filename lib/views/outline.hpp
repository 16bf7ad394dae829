#pragma once

#include "views/search.hpp"
#include "views/view.hpp"
#include "views/visible.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace culprit::views {

/// What an outline shows, and in which order.
struct OutlineOptions {
  PassedOver passed_over;
  Column sort;  ///< siblings by this figure, the largest first
  bool smallest_first = false;
  std::optional<Column> hot;  ///< what the hot path follows; not set: what is sorted by
  Column size;                ///< what `least` refers to
  double least = 0;           ///< nodes with a smaller figure are left out
  const Search* filter =
      nullptr;                  ///< only paths through nodes it found; must outlive the outline's use of it
  std::vector<Column> sampled;  ///< siblings that have nothing of all these are one row; none: they are not
};

/// A view as a person opens and closes it: the rows of what is open. Children are made and sorted when they
/// are first looked at, so that the cost of opening does not grow with the view. Not thread-safe.
class Outline {
 public:
  struct Item : VisibleNode {
    Item* parent = nullptr;
    std::vector<std::unique_ptr<Item>> children;  ///< where `made`
    double key = 0;
    std::uint32_t depth = 0;  ///< indentation: an only child stands below its parent without any
    std::uint32_t index = 0;  ///< among its siblings
    bool made = false, open = false, last = true, alone = true;
    bool in_filter = true;  ///< it or a node above it matches the filter
  };

  Outline(View& view, OutlineOptions options);

  /// Shows these nodes as roots instead of what was shown.
  void set_roots(const std::vector<NodeId>& roots);
  void set_roots() { set_roots(view_.roots()); }
  /// The same with rows as they are, for what was shown before or below others.
  void set_rows(std::vector<VisibleNode> rows);
  [[nodiscard]] bool shows_all() const { return whole_; }

  /// Keeps what is open.
  void sort_by(const Column& column, bool smallest_first);
  /// Starts again with the same roots; what was open is closed.
  void set_options(OutlineOptions options);
  [[nodiscard]] const OutlineOptions& options() const { return options_; }

  /// What is shown, top to bottom; valid until something is opened, closed or changed.
  [[nodiscard]] const std::vector<Item*>& rows() const { return rows_; }
  [[nodiscard]] std::size_t row_of(const Item* item) const;

  [[nodiscard]] bool has_children(Item& item);
  /// Opens a node, and as long as it has one child, that too.
  void open(Item& item);
  void close(Item& item);
  /// Opens `levels` levels below a node, as long as no more than `rows` are shown.
  void open_below(Item& item, std::uint32_t levels, std::size_t rows);
  void close_all();

  /// From `item` down to the child with the largest figure as long as it keeps at least `keep` of its
  /// parent's; opens the way. Where it ends.
  Item& open_hot_path(Item& item, double keep = 0.5);

  /// Opens the way to a node, or to the nearest visible one above it; null where there is none.
  Item* reveal(NodeId node);

  /// The next (or the previous) node in the order of the rows that `search` found, opened or not; null:
  /// there is none. Opens nothing but what leads to it. `from` null: from the beginning (end).
  Item* find(const Search& search, Item* from, bool backwards);

 private:
  using Items = std::vector<std::unique_ptr<Item>>;

  void make(Item& item);
  void add(Items& list, std::vector<VisibleNode> nodes, Item* parent);
  void arrange(Items& list, const Item* parent);
  void sort_all(Items& list);
  [[nodiscard]] bool left_out(const VisibleNode& row, bool in_filter) const;
  void refresh();
  void append_rows(const Items& list);
  [[nodiscard]] Items& siblings(const Item& item);
  Item* first_in(const Search& search, Item& item);
  Item* last_in(const Search& search, Item& item, bool itself);
  Item* find_after(const Search& search, Item* from);
  Item* find_before(const Search& search, Item* from);
  void open_way_to(Item& item);

  View& view_;
  OutlineOptions options_;
  std::vector<VisibleNode> shown_roots_;
  bool whole_ = true;
  Items roots_;
  std::vector<Item*> rows_;
};

}  // namespace culprit::views
