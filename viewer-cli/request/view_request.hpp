#pragma once

#include "request/command_line.hpp"
#include "views/shown.hpp"
#include "views/source.hpp"
#include "views/view.hpp"

#include <memory>
#include <vector>

namespace culprit::viewer {

inline constexpr double kLeastInText = 1;  ///< percent: what text leaves out unless it is asked for

/// A view as the command line asks for it: its figures, columns and what of it is shown.
struct ViewRequest {
  std::unique_ptr<views::Figures> figures;
  std::unique_ptr<views::View> view;
  std::vector<views::Column> columns;
  std::size_t defaults = 0;  ///< how many of them, at the beginning, are the default ones
  views::ShowOptions options;
  std::string role;  ///< empty: all
  bool without_startup = false;

  /// What shares of a column refer to; 0 where there is nothing.
  [[nodiscard]] double whole(const views::Column& column) const;
};

/// Resolves metrics, ranks and roles, and the defaults (which differ between text and the other formats).
/// Throws UsageError for names that the database does not have.
ViewRequest make_view_request(const views::Source& source, const Invocation& invocation);

/// The run's total of what shares refer to.
double whole_of(const ViewRequest& request);

/// The name of views::main_metric.
std::string primary_metric(const database::Contents& experiment);

/// Of the columns that are shown, those that say whether a row was sampled: all of them where the run's time
/// is among them, else none.
std::vector<views::Column> sampled_columns(const database::Contents& experiment,
                                           const std::vector<views::Column>& shown);

/// The figures that --ranks and --role ask for: all threads, or those.
std::unique_ptr<views::Figures> make_figures(const views::Source& source, const Invocation& invocation,
                                             const std::vector<views::Column>& columns);

/// What --derive defines; throws UsageError.
std::vector<views::Column> derived_columns(const views::Source& source, const Invocation& invocation);

/// As views::find_column, with the role of --role and the metrics of --derive; throws UsageError.
views::Column require_column(const views::Source& source, const Invocation& invocation,
                             const std::string& name);

}  // namespace culprit::viewer
