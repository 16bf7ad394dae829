#pragma once

#include "tui/state/shown_columns.hpp"
#include "views/figures.hpp"
#include "views/view.hpp"
#include "views/visible.hpp"

#include <array>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// A node of one of the views.
struct NodeRef {
  std::size_t view = 0;  ///< index of Workspace::views()
  views::NodeId node = 0;
  std::shared_ptr<const views::Fold> fold = nullptr;  ///< where its row stands for more nodes

  friend bool operator==(const NodeRef& one, const NodeRef& other) {
    return one.view == other.view && one.node == other.node;
  }
};

/// What all panes look at: the database, the views of it, which threads and which metrics, and the node that
/// the user chose. Not thread-safe.
class Workspace {
 public:
  static constexpr std::size_t kCallingContext = 0, kCallers = 1, kFlat = 2, kViews = 3;

  /// `source` must outlive this. `database`: its path. `unicode`: what the terminal shows.
  Workspace(const views::Source& source, std::string database, bool unicode);

  [[nodiscard]] const views::Source& source() const { return source_; }
  [[nodiscard]] const database::Contents& experiment() const { return source_.experiment(); }
  [[nodiscard]] const std::string& database() const { return database_; }
  [[nodiscard]] bool unicode() const { return unicode_; }
  [[nodiscard]] const views::Figures& figures() const { return *figures_; }
  [[nodiscard]] views::View& view(std::size_t index) { return *views_.at(index); }

  [[nodiscard]] const ShownColumns& columns() const { return columns_; }
  [[nodiscard]] ShownColumns& columns() { return columns_; }

  /// Takes only the ranks of a list such as `0-3,8` (empty: all) and, where set, one role. Reads their
  /// profiles, which may take long: on a thread of its own, see finish_select(). Throws std::invalid_argument
  /// or views::UnknownMetric, and leaves everything as it was.
  void select(const std::string& ranks, std::optional<std::uint32_t> role);
  /// Whether profiles are being read.
  [[nodiscard]] bool selecting() const { return selecting_.valid(); }
  /// Waits a few milliseconds at most for what select() began; true: it is done, the figures are new, and all
  /// nodes of the view of callers invalid. Throws what reading the database throws.
  bool finish_select();
  [[nodiscard]] const std::string& ranks() const { return ranks_; }
  [[nodiscard]] std::optional<std::uint32_t> role() const { return role_; }

  views::PassedOver passed_over;
  double least_percent = 0;  ///< branches below this share of the run's time are left out
  bool percent = false;      ///< shares instead of amounts
  bool smallest_first = false;

  std::optional<NodeRef> chosen;                ///< the node under the cursor of the last tree
  std::vector<NodeRef> marked;                  ///< nodes to be drawn together
  std::vector<std::uint32_t> marked_locations;  ///< threads that a finding named

  /// What a node is called, with its place.
  [[nodiscard]] std::string title_of(const NodeRef& ref);
  /// The names that lead to a node with `/` between them, as `threads` takes them: without call sites,
  /// start-up frames and parameters.
  [[nodiscard]] std::string path_of(const NodeRef& ref);
  /// The context that a node is, or the costliest one it stands for; kNone where there is none.
  [[nodiscard]] database::ContextId context_of(const NodeRef& ref);

  /// A view with the columns and threads that are chosen, as `view --format csv` writes it. Throws
  /// UsageError.
  [[nodiscard]] std::string csv_of(std::size_t view) const;

 private:
  void make_views();

  const views::Source& source_;
  std::string database_;
  bool unicode_;
  std::unique_ptr<views::Figures> figures_;
  ShownColumns columns_;
  std::array<std::unique_ptr<views::View>, kViews> views_;
  std::string ranks_;
  std::optional<std::uint32_t> role_;
  std::string next_ranks_;  ///< while they are being read
  std::optional<std::uint32_t> next_role_;
  std::future<std::unique_ptr<views::Figures>> selecting_;
};

}  // namespace culprit::viewer::tui
