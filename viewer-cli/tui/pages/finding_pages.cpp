#include "tui/pages/finding_pages.hpp"

#include "commands/communication.hpp"
#include "commands/efficiency.hpp"
#include "commands/list.hpp"
#include "commands/report.hpp"
#include "commands/variation.hpp"

namespace culprit::viewer::tui {

Page finding_page(const Workspace& workspace, const Findings& findings, Finding finding, bool by_rank,
                  int width) {
  switch (finding) {
    case Finding::blame:
      return blame_page(workspace, findings, width);
    case Finding::suspects:
      return suspects_page(workspace, findings, width);
    case Finding::waits:
      return waits_page(workspace, findings, by_rank, width);
    case Finding::causes:
      return causes_page(workspace, findings, by_rank, width);
    case Finding::critical_path:
      return critical_path_page(workspace, findings, width);
    case Finding::hotspots:
      return hotspots_page(workspace, findings, by_rank, width);
    case Finding::variation:
      return variation_page(workspace, width);
    case Finding::communication:
      return communication_page(workspace, findings, width);
    case Finding::efficiency:
      break;
  }
  return efficiency_page(workspace, findings, width);
}

Table finding_table(const Workspace& workspace, const Findings& findings, Finding finding) {
  const database::Contents& experiment = workspace.experiment();
  const views::Figures all(workspace.source());  // whatever ranks are selected
  const bool without = findings.diagnosis.without_startup;
  switch (finding) {
    case Finding::blame:
      return blame_table(all, findings.diagnosis.blamed, idleness_of(all, without));
    case Finding::suspects:
      return suspects_table(all);
    case Finding::waits:
      return waits_table(experiment);
    case Finding::causes:
      return causes_table(experiment);
    case Finding::critical_path:
      return critical_path_table(experiment);
    case Finding::hotspots:
      return hotspots_table(experiment);
    case Finding::communication:
      return calls_table(experiment, findings.mpi);
    case Finding::variation:
      if (const auto& levels = experiment.trace().variations; !levels.empty())
        return segments_table(experiment, levels.front());
      return {};
    case Finding::efficiency:
      return efficiency_table(all);
  }
  return {};
}

}  // namespace culprit::viewer::tui
