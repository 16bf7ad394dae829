#pragma once

#include "text/table.hpp"
#include "tui/state/findings.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/page.hpp"

#include <array>
#include <cstdint>

namespace culprit::viewer::tui {

/// The analyses, each a page.
enum class Finding : std::uint8_t {
  blame,
  suspects,
  waits,
  causes,
  critical_path,
  hotspots,
  variation,
  efficiency,
  communication,
};
/// As wide as the narrowest terminal, with a blank on either side of each.
inline constexpr std::array<const char*, 9> kFindingNames = {
    "Blame", "Suspects", "Waits", "Causes", "Critical", "Hotspots", "Variation", "Efficiency", "MPI"};

/// The diagnosis with links to what it names: the first thing that one sees.
Page start_page(const Workspace& workspace, const Findings& findings, int width);

/// `by_rank`: those of waits, causes and hotspots have a row for each rank.
Page finding_page(const Workspace& workspace, const Findings& findings, Finding finding, bool by_rank,
                  int width);
/// Whether `by_rank` makes a difference.
constexpr bool has_ranks(Finding finding) {
  return finding == Finding::waits || finding == Finding::causes || finding == Finding::hotspots;
}
/// The rows that `w` writes; none where the run has none.
Table finding_table(const Workspace& workspace, const Findings& findings, Finding finding);

// Each page; see the command of that name.
Page blame_page(const Workspace& workspace, const Findings& findings, int width);
Page suspects_page(const Workspace& workspace, const Findings& findings, int width);
Page waits_page(const Workspace& workspace, const Findings& findings, bool by_rank, int width);
Page causes_page(const Workspace& workspace, const Findings& findings, bool by_rank, int width);
Page critical_path_page(const Workspace& workspace, const Findings& findings, int width);
Page hotspots_page(const Workspace& workspace, const Findings& findings, bool by_rank, int width);
Page variation_page(const Workspace& workspace, int width);
Page efficiency_page(const Workspace& workspace, const Findings& findings, int width);
Page communication_page(const Workspace& workspace, const Findings& findings, int width);

}  // namespace culprit::viewer::tui
