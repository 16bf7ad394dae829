#pragma once

#include "tui/state/workspace.hpp"
#include "tui/widgets/canvas.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// Procedures over ranks: the work that takes most time and the MPI calls that take most, a row each, a
/// column for each rank, or, where ranks share one, for that with most. Rows are read one by one: with many
/// ranks each takes longer than a key may.
class ProcedureHeat {
 public:
  /// Forgets all: other figures are to be shown.
  void clear();
  /// Reads the next row; false where all are read.
  bool step(Workspace& workspace);
  /// `first`, `shown`: which of the threads. `cursor`: one of them, marked.
  void draw(Canvas& canvas, const Area& area, std::size_t first, std::size_t shown, std::size_t cursor,
            bool unicode) const;
  /// The threads of the columns: those of the main role, in order.
  [[nodiscard]] const std::vector<std::uint32_t>& locations() const { return locations_; }

 private:
  struct Row {
    std::string name;
    std::vector<database::ContextId> contexts;  ///< ascending
    bool call = false;                          ///< of MPI, with what is below it
    double whole = 0;
    std::vector<double> values;  ///< seconds, by thread; empty: not read yet
  };

  void choose(const Workspace& workspace);

  bool chosen_ = false;
  std::size_t read_ = 0;
  double largest_ = 0;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> locations_;
};

}  // namespace culprit::viewer::tui
