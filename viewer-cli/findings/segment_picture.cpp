// Draws segments over ranks and time as blocks. A cell shows the largest value of all segments that share it,
// so that single long ones stay visible; where they are far longer than all others they are marked instead,
// and the others fill the scale. Columns are segments' numbers, or, where ranks have differently many, times,
// since the n-th segments of two ranks then need not belong together.
#include "findings/segment_picture.hpp"

#include "findings/coverage.hpp"
#include "findings/diagnosis.hpp"
#include "findings/phrases.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::viewer {

namespace {

using database::Variation;

constexpr std::size_t kRowsDrawn = 32;  // ranks; more share a line
constexpr std::size_t kLeastLabel = 14;
constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 9> kLetters = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};

/// Marks values beyond a full block.
const char* more_sign(const Screen& screen) {
  return screen.unicode ? "↑" : "^";
}

/// What a full block is: the largest value, or, where few values are far larger than all others, what one in
/// a hundred exceeds. Twice the median at least, so that equal values do not fill their cells.
std::uint64_t full_block(const SegmentRows& rows, std::uint64_t median) {
  std::vector<std::uint64_t> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  if (values.empty()) return 0;
  const std::uint64_t largest = *std::ranges::max_element(values);
  const auto high = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) - values.size() / 100);
  std::ranges::nth_element(values, high);
  const std::uint64_t full = std::max(*high, 2 * median);
  return full != 0 && largest / 2 > full ? full : largest;
}

/// Which line a row is in.
std::size_t line_of(std::size_t row, std::size_t rows) {
  return row * std::min(kRowsDrawn, rows) / rows;
}

/// The highest of the ranks' segments that share a cell of the picture: outliers must not vanish.
class Picture {
 public:
  /// `by_time`: segments are where they began, up to where the next one did.
  Picture(const Variation& variation, const SegmentFigures& figures, std::size_t columns, bool by_time)
      : median_(figures.median), full_(full_block(figures.values, figures.median)) {
    const SegmentRows& rows = figures.values;
    for (const auto& row : rows) longest_ = std::max(longest_, row.size());
    columns_ = std::max<std::size_t>(1, std::min(columns, longest_));
    rows_ = std::min(kRowsDrawn, rows.size());
    cells_.resize(rows_ * columns_);
    if (by_time) find_times(variation);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::size_t line = line_of(r, rows.size());
      for (std::size_t i = 0; i < rows[r].size(); ++i) {
        if (by_time) {
          const std::vector<std::uint64_t>& begins = variation.rows[r].begin_ns;
          const std::size_t first = column_at(begins[i]);
          const std::size_t next = i + 1 < begins.size() ? column_at(begins[i + 1]) : first;
          put(line, first, std::max(next, first + 1), rows[r][i]);
        } else {
          const std::size_t column = i * columns_ / longest_;
          put(line, column, column + 1, rows[r][i]);
        }
      }
    }
  }

  [[nodiscard]] std::size_t segments() const { return longest_; }
  [[nodiscard]] std::uint64_t most() const { return most_; }
  [[nodiscard]] std::uint64_t full() const { return full_; }
  /// By time: of the first segment's beginning, and of the last's.
  [[nodiscard]] std::uint64_t first_ns() const { return first_ns_; }
  [[nodiscard]] std::uint64_t last_ns() const { return last_ns_; }

  void write_line(std::ostream& out, const Screen& screen, std::size_t line) const {
    for (std::size_t c = 0; c < columns_; ++c) {
      const std::uint64_t value = cells_[line * columns_ + c];
      const auto level = full_ == 0 ? 0
                                    : static_cast<std::size_t>(std::lround(8.0 * static_cast<double>(value) /
                                                                           static_cast<double>(full_)));
      const double above = median_ == 0 ? 0 : static_cast<double>(value) / static_cast<double>(median_) - 1;
      out << screen.heat(above,
                         level > 8 ? more_sign(screen) : (screen.unicode ? kBlocks : kLetters).at(level));
    }
    out << '\n';
  }

 private:
  void put(std::size_t line, std::size_t first, std::size_t last, std::uint64_t value) {
    for (std::size_t column = first; column < last; ++column) {
      std::uint64_t& cell = cells_[line * columns_ + column];
      cell = std::max(cell, value);
    }
    most_ = std::max(most_, value);
  }
  void find_times(const Variation& variation) {
    first_ns_ = std::numeric_limits<std::uint64_t>::max();
    for (const Variation::Row& row : variation.rows) {
      if (row.begin_ns.empty()) continue;
      first_ns_ = std::min(first_ns_, row.begin_ns.front());
      last_ns_ = std::max(last_ns_, row.begin_ns.back());
    }
  }
  [[nodiscard]] std::size_t column_at(std::uint64_t ns) const {
    const double part = last_ns_ <= first_ns_
                            ? 0
                            : static_cast<double>(ns - first_ns_) / static_cast<double>(last_ns_ - first_ns_);
    return std::min(columns_ - 1, static_cast<std::size_t>(part * static_cast<double>(columns_)));
  }

  std::uint64_t first_ns_ = 0, last_ns_ = 0;
  std::size_t longest_ = 0, columns_ = 1, rows_ = 0;
  std::uint64_t median_ = 0, full_ = 0, most_ = 0;
  std::vector<std::uint64_t> cells_;
};

/// What is marked.
std::string above_phrase(const Screen& screen, const SegmentFigures& figures, const Picture& picture) {
  if (picture.full() == picture.most()) return {};
  return std::string(", ") + more_sign(screen) + " is more, up to " + keep(figures.amount(picture.most()));
}

/// What the columns are.
std::string columns_text(const Screen& screen, const database::Contents& experiment,
                         const Variation& variation, const Picture& picture) {
  const std::string name = segment_name(experiment, variation);
  if (line_up(variation)) return keep(counted(picture.segments(), name));
  const std::string differ =
      of_lines(experiment, "their number differs between ranks (") + numbers_of_segments(variation) + ")";
  if (!have_begins(variation))
    return keep(counted(picture.segments(), name)) +
           of_lines(experiment, ", numbered on each rank by itself: ") + differ;
  const std::uint64_t origin = std::min(experiment.trace().time_map.begin_ns, picture.first_ns());
  const auto at = [&](std::uint64_t ns) {
    return keep(duration(static_cast<double>(ns - origin) / kNsPerSecond, screen.unicode));
  };
  return "from " + at(picture.first_ns()) + " to " + at(picture.last_ns()) + " of the run, not " + name +
         " by " + name + ", as " + differ;
}

}  // namespace

SegmentRows sos_times(const Variation& variation) {
  SegmentRows rows;
  rows.reserve(variation.rows.size());
  for (const Variation::Row& row : variation.rows) rows.emplace_back(row.sos_ns);
  return rows;
}

bool is_loop(const database::Contents& experiment, const Variation& variation) {
  return !variation.marked && variation.context != database::kNone &&
         experiment.contexts[variation.context].kind == database::ContextKind::loop;
}

const char* segment_name(const database::Contents& experiment, const Variation& variation) {
  const auto in_python = [&] {  // whose loops are not known
    const database::StringId module = experiment.contexts[variation.context].module;
    return !variation.chosen && experiment.strings[module] == database::kPythonModule;
  };
  const bool iterates =
      variation.marked || is_loop(experiment, variation) ||
      (variation.context != database::kNone &&
       (in_python() || chosen_around(experiment, variation.context) == database::kNone));  // called once
  return iterates ? "iteration" : "invocation";
}

database::ContextId procedure_on_map(const database::Contents& experiment, database::ContextId context) {
  const auto is_nameless = [&](database::ContextId procedure) {
    return views::is_named_for_module(views::frame_of(experiment, experiment.contexts[procedure]));
  };
  const database::ContextId procedure = enclosing_procedure(experiment, users_scope(experiment, context));
  if (procedure == database::kNone || !is_nameless(procedure)) return procedure;
  const database::ContextId around = chosen_around(experiment, procedure);
  return around == database::kNone || is_nameless(around) ? procedure : around;
}

const char* segment_preposition(const database::Contents& experiment, const Variation& variation) {
  const bool inside =
      !is_loop(experiment, variation) && segment_name(experiment, variation) == std::string_view("iteration");
  return inside ? "in" : "of";
}

namespace {

/// `rank 3` and `ranks 4-7` of each line, all as wide as the widest.
std::vector<std::string> line_labels(const database::Contents& experiment, const Variation& variation) {
  const std::size_t rows = variation.rows.size();
  const std::size_t lines = std::min(kRowsDrawn, rows);
  std::vector<std::string> labels(lines);
  std::size_t width = kLeastLabel;
  for (std::size_t row = 0, line = 0; line < lines; ++line) {
    const std::size_t first = row;
    while (row < rows && line_of(row, rows) == line) ++row;
    labels[line] = of_lines(experiment, row - first > 1 ? "ranks " : "rank ") +
                   std::to_string(variation.rows[first].rank);
    if (row - first > 1) labels[line] += "-" + std::to_string(variation.rows[row - 1].rank);
    width = std::max(width, labels[line].size() + 2);
  }
  for (std::string& label : labels) label.resize(width, ' ');
  return labels;
}

}  // namespace

void draw_segments(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                   const Variation& variation, const SegmentFigures& figures) {
  const std::vector<std::string> labels = line_labels(experiment, variation);
  const std::size_t taken = labels.empty() ? 0 : labels.front().size();
  const Picture picture(variation, figures, screen.width > taken + 10 ? screen.width - taken : 10,
                        !line_up(variation) && have_begins(variation));
  for (std::size_t line = 0; line < labels.size(); ++line) {
    out << labels[line];
    picture.write_line(out, screen, line);
  }
  out << screen.dim(wrap("Left to right: " + columns_text(screen, experiment, variation, picture) +
                             "; a full block is " + keep(figures.amount(picture.full())) +
                             above_phrase(screen, figures, picture) + ".",
                         screen.width))
      << '\n';
}

namespace {

using database::Variation;

struct Numbers {
  std::size_t least = 0, most = 0;
};

Numbers numbers(const Variation& variation) {
  Numbers found;
  for (std::size_t i = 0; i < variation.rows.size(); ++i) {
    const std::size_t segments = variation.rows[i].sos_ns.size();
    found = i == 0 ? Numbers{segments, segments}
                   : Numbers{std::min(found.least, segments), std::max(found.most, segments)};
  }
  return found;
}

}  // namespace

bool line_up(const Variation& variation) {
  const Numbers found = numbers(variation);
  return variation.marked || found.least == found.most;
}

bool have_begins(const Variation& variation) {
  return std::ranges::any_of(variation.rows, [](const Variation::Row& row) { return !row.begin_ns.empty(); });
}

std::optional<double> begin_s(const database::Contents& experiment, const Variation::Row& row,
                              std::size_t segment) {
  if (segment >= row.begin_ns.size()) return std::nullopt;
  const std::uint64_t origin = experiment.trace().time_map.begin_ns;
  return seconds_of(row.begin_ns[segment] - std::min(origin, row.begin_ns[segment]));
}

std::string numbers_of_segments(const Variation& variation) {
  const Numbers found = numbers(variation);
  return std::to_string(found.least) + " to " + std::to_string(found.most);
}

}  // namespace culprit::viewer
