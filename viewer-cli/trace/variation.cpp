#include "trace/variation.hpp"

#include "call_path_text.hpp"
#include "command_line.hpp"
#include "database/procedure_name.hpp"
#include "text/csv.hpp"
#include "text/prose.hpp"
#include "text/shorten.hpp"
#include "trace/rows.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::Variation;

constexpr std::size_t kRowsDrawn = 32;  // ranks; more share a line
constexpr std::size_t kLabel = 14;      // columns for `ranks 123-456  `
constexpr std::size_t kOutliersShown = 10;
constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 9> kLetters = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};

const char* segment_name(const Variation& variation) {
  return variation.marked ? "iteration" : "invocation";
}

/// The longest of the ranks' segments that share a cell of the picture: outliers must not vanish.
class Picture {
 public:
  Picture(const Variation& variation, std::size_t columns) {
    for (const Variation::Row& row : variation.rows) longest_ = std::max(longest_, row.sos_ns.size());
    columns_ = std::max<std::size_t>(1, std::min(columns, longest_));
    rows_ = std::min(kRowsDrawn, variation.rows.size());
    cells_.resize(rows_ * columns_);
    for (std::size_t r = 0; r < variation.rows.size(); ++r) {
      const std::vector<std::uint64_t>& sos = variation.rows[r].sos_ns;
      for (std::size_t i = 0; i < sos.size(); ++i) {
        std::uint64_t& cell = cells_[line_of(r, variation.rows.size()) * columns_ + i * columns_ / longest_];
        cell = std::max(cell, sos[i]);
        most_ = std::max(most_, sos[i]);
      }
    }
  }

  /// Which line a row is in.
  [[nodiscard]] std::size_t line_of(std::size_t row, std::size_t rows) const { return row * rows_ / rows; }
  [[nodiscard]] std::size_t lines() const { return rows_; }
  [[nodiscard]] std::size_t segments() const { return longest_; }
  [[nodiscard]] std::uint64_t most() const { return most_; }

  void write_line(std::ostream& out, const Screen& screen, std::size_t line, std::uint64_t median) const {
    for (std::size_t c = 0; c < columns_; ++c) {
      const std::uint64_t ns = cells_[line * columns_ + c];
      const auto level =
          most_ == 0
              ? 0
              : std::min<std::size_t>(8, static_cast<std::size_t>(std::lround(8.0 * static_cast<double>(ns) /
                                                                              static_cast<double>(most_))));
      const double above = median == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(median) - 1;
      out << screen.heat(above, (screen.unicode ? kBlocks : kLetters).at(level));
    }
    out << '\n';
  }

 private:
  std::size_t longest_ = 0, columns_ = 1, rows_ = 0;
  std::uint64_t most_ = 0;
  std::vector<std::uint64_t> cells_;
};

void draw(std::ostream& out, const Screen& screen, const Variation& variation) {
  const Picture picture(variation, screen.width > kLabel + 10 ? screen.width - kLabel : 10);
  std::size_t row = 0;
  for (std::size_t line = 0; line < picture.lines(); ++line) {
    const std::size_t first = row;
    while (row < variation.rows.size() && picture.line_of(row, variation.rows.size()) == line) ++row;
    std::string label = (row - first > 1 ? "ranks " : "rank ") + std::to_string(variation.rows[first].rank);
    if (row - first > 1) label += "-" + std::to_string(variation.rows[row - 1].rank);
    out << label << std::string(label.size() < kLabel ? kLabel - label.size() : 1, ' ');
    picture.write_line(out, screen, line, variation.median_ns);
  }
  out << screen.dim(wrap("Left to right: " + keep(counted(picture.segments(), segment_name(variation))) +
                             "; a full block is " +
                             keep(duration(seconds_of(picture.most()), screen.unicode)) + " without MPI.",
                         screen.width))
      << '\n';
}

void write_outliers(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                    const Variation& variation) {
  if (variation.outliers.empty()) {
    out << "\nNone of them took unusually long.\n";
    return;
  }
  out << "\nUnusually long (" << counted(variation.outliers.size(), segment_name(variation)) << "):\n";
  const RowWriter rows(out, screen, experiment, variation.outliers.front().sos_ns);
  const std::size_t shown = std::min(kOutliersShown, variation.outliers.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Variation::Outlier& one = variation.outliers[i];
    rows.row(one.sos_ns, screen.bold("rank " + std::to_string(one.rank)) + ", " + segment_name(variation) +
                             ' ' + std::to_string(one.segment));
    if (one.context != database::kNone) rows.path(scope_around(experiment, one.context), false, "mostly in ");
  }
  rows.rest(variation.outliers.size(), shown);
}

}  // namespace

const Variation& variation_of(const database::Contents& experiment, std::uint32_t finer) {
  static const Variation nothing;
  const std::vector<Variation>& all = experiment.trace().variations;
  const auto levels = static_cast<std::size_t>(std::ranges::count(all, false, &Variation::chosen));
  if (levels == 0) return nothing;
  if (finer < levels) return all[finer];
  throw UsageError("--finer: there " + std::string(levels == 2 ? "is " : "are ") +
                   (levels == 1 ? "no finer levels" : counted(levels - 1, "finer level")));
}

const Variation& variation_of(const database::Contents& experiment, const std::string& procedure) {
  std::string names;
  for (const Variation& one : experiment.trace().variations) {
    if (one.marked || one.context == database::kNone) continue;
    const std::string name(experiment.strings[experiment.contexts[one.context].name]);
    if (database::is_called(name, procedure)) return one;
    names += (names.empty() ? "" : ", ") + without_parameters(name);
  }
  throw UsageError("--procedure: " + procedure + ": this database has the invocations of " +
                   (names.empty() ? "no procedure" : names) + " (prof-mpi --segment '" + procedure +
                   "' adds those of another)");
}

Json variation_json(const database::Contents& experiment, const Variation& variation) {
  Json rows = Json::array();
  Json ranks = Json::array();
  for (const Variation::Row& row : variation.rows) {
    Json sos = Json::array();
    for (const std::uint64_t ns : row.sos_ns) sos.push_back(seconds_of(ns));
    rows.push_back(std::move(sos));
    ranks.push_back(row.rank);
  }
  Json outliers = Json::array();
  for (const Variation::Outlier& one : variation.outliers) {
    outliers.push_back(
        {{"rank", one.rank},
         {"iteration", one.segment},
         {"sos_s", seconds_of(one.sos_ns)},
         {"median_s", seconds_of(variation.median_ns)},
         {"path", one.context == database::kNone ? Json::array() : path_json(experiment, one.context)}});
  }
  return {{"segment", variation.marked ? "iteration" : "procedure"},
          {"path",
           variation.context == database::kNone ? Json::array() : path_json(experiment, variation.context)},
          {"invocations", variation.marked ? "marked" : "inferred"},
          {"median_s", seconds_of(variation.median_ns)},
          {"ranks", std::move(ranks)},
          {"sos_s", std::move(rows)},
          {"outliers", std::move(outliers)}};
}

void write_variation(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                     const Variation& variation) {
  if (variation.rows.empty()) {
    out << wrap(
               "No procedure was seen to be called again and again: mark iterations with "
               "culprit_iteration(n) "
               "(culprit.h).",
               screen.width)
        << '\n';
    return;
  }
  const std::string what =
      variation.marked
          ? std::string("Iterations that the program marked")
          : "Invocations of " + label(views::frame_of(experiment, experiment.contexts[variation.context])) +
                ", told apart by their MPI calls";
  out << wrap(what + "; the median takes " + keep(duration(seconds_of(variation.median_ns), screen.unicode)) +
                  " outside MPI.",
              screen.width)
      << "\n\n";
  draw(out, screen, variation);
  write_outliers(out, screen, experiment, variation);
}

void write_variation_csv(std::ostream& out, const Variation& variation) {
  std::set<std::pair<std::int32_t, std::uint32_t>> outliers;
  for (const Variation::Outlier& one : variation.outliers) outliers.emplace(one.rank, one.segment);
  write_csv_row(out, {"rank", "iteration", "sos_s", "outlier"});
  for (const Variation::Row& row : variation.rows) {
    for (std::uint32_t i = 0; i < row.sos_ns.size(); ++i) {
      write_csv_row(out, {std::to_string(row.rank), std::to_string(i), csv_number(seconds_of(row.sos_ns[i])),
                          outliers.contains({row.rank, i}) ? "true" : "false"});
    }
  }
}

}  // namespace culprit::viewer
