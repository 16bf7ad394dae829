#pragma once

#include "views/difference.hpp"
#include "views/difference_search.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

namespace culprit::views {

/// A comparison as a person opens and closes it: the rows of what is open. Children are sorted when they are
/// first looked at. Not thread-safe.
class DifferenceOutline {
 public:
  static constexpr std::size_t kNoRow = std::numeric_limits<std::size_t>::max();

  struct Row {
    std::uint32_t scope = 0;
    std::size_t parent = kNoRow;
    bool open = false, opens = false;
    bool last = true, alone = true;  ///< among its siblings
  };
  struct Options {
    bool hide_wait_internals = true;  ///< what lies below the outermost communication or wait frame
    bool hide_start_up = true;        ///< frames that only lead to main or to a thread's start routine
  };
  /// What siblings are sorted by, the largest first.
  using Key = std::function<double(const ComparedScope&)>;

  /// `difference` must outlive this.
  DifferenceOutline(const Difference& difference, const Options& options, Key key);

  /// What is shown, top to bottom; valid until something is opened, closed or sorted.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// Of a scope, or of the nearest one above it that is shown.
  [[nodiscard]] std::size_t row_of(std::uint32_t scope) const;

  /// Keeps what is open.
  void sort_by(Key key);
  /// Opens a scope, and as long as it has one child, that too.
  void open(std::uint32_t scope);
  void close(std::uint32_t scope);
  /// Opens so many levels below, as long as no more than about `most` rows are shown.
  void open_below(std::uint32_t scope, std::uint32_t levels, std::size_t most);
  void close_all();
  /// Opens the way from a scope down to where the change comes from: to the child that changed most, as long
  /// as that is at least half of what its parent changed. Where it ends.
  std::uint32_t open_hot_path(std::uint32_t scope);
  /// Opens the way to a scope.
  void reveal(std::uint32_t scope);

  /// The next (previous) scope in the order of rows that the search found, shown or not; database::kNone:
  /// there is none. `from` kNone: from the beginning (end). Opens nothing.
  std::uint32_t find(const DifferenceSearch& search, std::uint32_t from, bool backwards);

 private:
  using Scopes = std::vector<std::uint32_t>;

  [[nodiscard]] bool passed_over(std::uint32_t scope) const;
  [[nodiscard]] std::uint32_t parent_of(std::uint32_t scope) const;
  void collect(const Scopes& from, Scopes& into) const;
  /// Visible and sorted; of kNone the roots.
  const Scopes& children(std::uint32_t scope);
  void refresh();
  void append(const Scopes& list, std::size_t parent);
  std::uint32_t first_in(const DifferenceSearch& search, const Scopes& list, std::size_t begin);
  std::uint32_t last_in(const DifferenceSearch& search, const Scopes& list, std::size_t end);

  const Difference& difference_;
  Options options_;
  Key key_;
  std::vector<bool> open_;
  std::unordered_map<std::uint32_t, Scopes> children_;
  std::vector<Row> rows_;
};

}  // namespace culprit::views
