#include "views/start_up.hpp"

#include "views/derived.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::views {

using database::ContextId;

bool is_start_up(std::string_view procedure) {
  return procedure == "MPI_Init" || procedure == "MPI_Init_thread" || procedure == "MPI_Finalize";
}

bool is_mpi_file_call(std::string_view procedure) {
  return procedure.starts_with("MPI_File_");
}

namespace {

std::vector<ContextId> outermost_calls(const database::Contents& experiment,
                                       bool (*is_wanted)(std::string_view procedure)) {
  std::vector<ContextId> found;
  for (ContextId at = 0; at < experiment.contexts.size();) {
    const database::Context& context = experiment.contexts[at];
    const bool wanted =
        context.kind == database::ContextKind::procedure && is_wanted(experiment.strings[context.name]);
    if (wanted) found.push_back(at);
    at = wanted ? context.end : at + 1;
  }
  return found;
}

}  // namespace

std::vector<ContextId> mpi_start_up(const database::Contents& experiment) {
  return outermost_calls(experiment, is_start_up);
}

std::vector<ContextId> mpi_file_calls(const database::Contents& experiment) {
  return outermost_calls(experiment, is_mpi_file_call);
}

std::vector<ContextId> mpi_calls(const database::Contents& experiment) {
  return outermost_calls(experiment,
                         [](std::string_view procedure) { return procedure.starts_with("MPI_"); });
}

bool is_within(const database::Contents& experiment, std::span<const ContextId> contexts, ContextId context) {
  return std::ranges::any_of(contexts, [&](ContextId around) {
    return around <= context && context < experiment.contexts[around].end;
  });
}

bool is_part_without_start_up(const Frame& frame, double value, double whole) {
  constexpr double kRounding = 1 + 1e-6;
  const bool start_up = frame.kind == database::ContextKind::procedure && is_start_up(frame.name);
  return !start_up && value <= kRounding * whole;
}

double total_without(const Figures& figures, const Column& column, std::span<const ContextId> contexts) {
  if (column.derived) {
    std::vector<double> totals;
    for (const Column& operand : column.derived->operands())
      totals.push_back(total_without(figures, operand, contexts));
    return column.derived->evaluate(totals);
  }
  double whole = total(figures, column);
  if (!column.additive() || column.blame) return whole;
  Column inclusive = column;
  inclusive.name.inclusive = true;
  for (const ContextId context : contexts) {
    const double part = figures.at_context(inclusive, context);
    if (!std::isnan(part)) whole -= part;
  }
  return whole > 0 ? whole : 0;
}

}  // namespace culprit::views
