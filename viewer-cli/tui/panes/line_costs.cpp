#include "tui/panes/line_costs.hpp"

#include <cmath>

namespace culprit::viewer::tui {

LineCosts costs_of_lines(Workspace& workspace, std::string_view file,
                         const std::vector<NumberColumn>& columns) {
  LineCosts costs;
  const database::Contents& experiment = workspace.experiment();
  std::uint32_t wanted = database::kNone;  // all scopes of a file name it by the same number
  for (database::FlatId scope = 0; scope < experiment.flat.size(); ++scope) {
    const database::FlatScope& self = experiment.flat[scope];
    if (self.kind != database::ContextKind::statement || self.line == 0) continue;
    if (wanted == database::kNone && experiment.strings[self.file] == file) wanted = self.file;
    if (self.file != wanted) continue;
    std::vector<double>& sums = costs[self.line];
    sums.resize(columns.size(), 0);
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const double value = workspace.view(Workspace::kFlat).value(scope, columns[column].column);
      if (!std::isnan(value)) sums[column] += value;
    }
  }
  return costs;
}

}  // namespace culprit::viewer::tui
