#pragma once

#include "tui/state/workspace.hpp"
#include "tui/widgets/canvas.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// Procedures over ranks: the work that takes most time and the MPI calls that take most, a row each, a
/// column for each rank, or, where ranks share one, for that with most. Rows are read one by one, as with
/// many ranks each takes longer than a key may; at the end, that with most is the first.
class ProcedureHeat {
 public:
  /// Forgets all: other figures are to be shown.
  void clear();
  /// Reads the next row, of the threads of a role; false where all are read.
  bool step(const Workspace& workspace, std::uint32_t role);
  /// `first`, `shown`: which of the threads. `cursor`: one of them, marked.
  void draw(Canvas& canvas, const Area& area, std::size_t first, std::size_t shown, std::size_t cursor,
            bool unicode) const;

 private:
  struct Row {
    std::string name;
    std::vector<database::ContextId> contexts;  ///< ascending
    bool call = false;                          ///< of MPI, with what is below it
    double whole = 0;
    std::vector<double> values;  ///< seconds, by thread; empty: not read yet
  };

  void choose(const Workspace& workspace, std::uint32_t role);
  void order();

  std::optional<std::uint32_t> role_;  ///< empty: nothing is chosen yet
  bool of_ranks_ = true;               ///< the threads are main threads of ranks
  std::size_t read_ = 0;
  double largest_ = 0;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> locations_;  ///< the threads of the columns, in order
};

}  // namespace culprit::viewer::tui
