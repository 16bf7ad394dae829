#include "tui/panes/procedure_heat.hpp"

#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/widgets/plot.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

namespace culprit::viewer::tui {
namespace {

using database::ContextId;

constexpr std::size_t kProcedures = 12, kCalls = 6;
constexpr int kProcedureWidth = 20, kAmountWidth = 8;

std::string code_name(const database::Contents& experiment, ContextId context) {
  return without_parameters(label(views::frame_of(experiment, experiment.contexts[context])));
}

}  // namespace

void ProcedureHeat::clear() {
  *this = {};
}

/// The procedures that take most themselves, outside MPI and waits, and the outermost calls of MPI.
void ProcedureHeat::choose(const Workspace& workspace, std::uint32_t role) {
  clear();
  role_ = role;
  const database::Contents& experiment = workspace.experiment();
  of_ranks_ = experiment.run.ranks > 0 && role == views::main_role(experiment);
  const std::optional<std::uint32_t> time = views::metric_named(experiment, "REALTIME");
  if (!time) return;
  for (const std::uint32_t location : workspace.figures().locations()) {
    if (experiment.locations[location].role == role) locations_.push_back(location);
  }
  const auto seconds = [&](ContextId context, bool inclusive) {
    return static_cast<double>(workspace.figures().context(role, *time, context, inclusive).sum) / 1e9;
  };
  std::map<std::string, Row> procedures, calls;
  const auto add = [&](std::map<std::string, Row>& rows, ContextId context, bool call) {
    const double whole = seconds(context, call);
    if (!(whole > 0)) return;
    Row& row = rows[code_name(experiment, context)];
    row.call = call;
    row.whole += whole;
    row.contexts.push_back(context);
  };
  for (ContextId at = 0; at < experiment.contexts.size();) {
    const database::Context& context = experiment.contexts[at];
    const bool frontier = (context.flags & database::kFrontier) != 0;
    if (frontier) {
      add(calls, at, true);
    } else if (context.kind == database::ContextKind::procedure) {
      add(procedures, at, false);
    }
    at = frontier ? context.end : at + 1;
  }
  for (const auto& [rows, most] : {std::pair(&procedures, kProcedures), std::pair(&calls, kCalls)}) {
    std::vector<Row> sorted;
    for (auto& [name, row] : *rows) {
      row.name = name;
      sorted.push_back(std::move(row));
    }
    std::ranges::stable_sort(sorted, std::ranges::greater(), &Row::whole);
    if (sorted.size() > most) sorted.resize(most);
    rows_.insert(rows_.end(), std::move_iterator(sorted.begin()), std::move_iterator(sorted.end()));
  }
}

/// By the amount that a row shows.
void ProcedureHeat::order() {
  std::ranges::stable_sort(rows_, std::ranges::greater(), [](const Row& row) {
    return row.values.empty() ? 0 : *std::max_element(row.values.begin(), row.values.end());
  });
}

bool ProcedureHeat::step(const Workspace& workspace, std::uint32_t role) {
  if (role_ != role) choose(workspace, role);
  if (read_ == rows_.size()) return false;
  Row& row = rows_[read_++];
  const std::uint32_t time = *views::metric_named(workspace.experiment(), "REALTIME");
  const std::vector<std::uint64_t> all = workspace.figures().per_thread(row.contexts, time, row.call);
  for (const std::uint32_t location : locations_) {
    row.values.push_back(seconds_of(all[location]));
    largest_ = std::max(largest_, row.values.back());
  }
  if (read_ < rows_.size()) return true;
  order();
  return false;
}

void ProcedureHeat::draw(Canvas& canvas, const Area& area, std::size_t first, std::size_t shown,
                         std::size_t cursor, bool unicode) const {
  const int width = area.width - kProcedureWidth - kAmountWidth - 2;
  if (width < 4 || rows_.empty()) return;
  const std::string most = "most";
  canvas.write(area.row, area.column + area.width - static_cast<int>(most.size()), most, Tone::heading,
               kAmountWidth);
  const std::size_t threads = std::min(shown, locations_.size() - std::min(first, locations_.size()));
  if (threads == 0) return;
  const auto cells = std::min<std::size_t>(static_cast<std::size_t>(width), threads * 4);
  const std::size_t in_cell = (threads + cells - 1) / cells;
  canvas.write(
      area.row, area.column,
      in_cell > 1
          ? "own time and MPI calls, most of " + counted(in_cell, of_ranks_ ? "rank" : "thread")
          : std::string("own time of procedures and MPI calls over ") + (of_ranks_ ? "ranks" : "threads"),
      Tone::heading, area.width - kAmountWidth);
  const auto cell_of = [&](std::size_t thread) { return (thread - first) * cells / threads; };
  const int lines = std::min(static_cast<int>(rows_.size()), area.height - 2);
  for (int line = 0; line < lines; ++line) {
    const Row& row = rows_[static_cast<std::size_t>(line)];
    const int at = area.row + 1 + line;
    canvas.write(at, area.column, shorten_name(row.name, kProcedureWidth, unicode),
                 row.call ? Tone::dim : Tone::plain, kProcedureWidth);
    if (row.values.empty()) continue;
    const std::vector<double> values =
        threads < cells ? std::vector<double>{} : largest_in_cells(row.values, first, first + threads, cells);
    double largest = 0;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const double value = values.empty() ? row.values[first + cell * threads / cells] : values[cell];
      largest = std::max(largest, value);
      if (!(value > 0) || largest_ <= 0) continue;
      const int heat = std::min(static_cast<int>(value / largest_ * kHeats), kHeats - 1);
      canvas.put(at, area.column + kProcedureWidth + 1 + static_cast<int>(cell),
                 (unicode ? kHeatBlocks : kHeatLetters).at(static_cast<std::size_t>(heat)), heat_tone(heat));
    }
    const std::string amount = duration(largest, unicode);
    canvas.write(at, area.column + area.width - static_cast<int>(columns(amount)), amount, Tone::dim,
                 kAmountWidth);
  }
  if (cursor < first || cursor >= first + threads) return;
  canvas.put(area.row + 1 + lines, area.column + kProcedureWidth + 1 + static_cast<int>(cell_of(cursor)),
             unicode ? U'▲' : U'^', Tone::strong);
}

}  // namespace culprit::viewer::tui
