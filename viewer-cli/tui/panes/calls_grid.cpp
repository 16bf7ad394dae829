// The map of time near enough to show single MPI calls. Its columns are 2^n-th parts of the time map's bins,
// down to a quarter of a microsecond, so that both have the same axis. A cell shows what most of its time
// went to, from the calls that were read (single_calls.cpp); until these are there, and where they are too
// many, the bins are shown.
#include "tui/panes/calls_grid.hpp"

#include "findings/coverage.hpp"
#include "metrics/wait_pattern.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/widgets/tone.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace culprit::viewer::tui {
namespace {

using database::TimeMap;

constexpr std::uint64_t kFinestNs = 500;  // few calls are shorter
constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
constexpr std::size_t kSums = kParts + 1;  // of a cell: by part; the first is of no part

/// A column is then half the finest to the finest long, where a bin's ns times its columns are a number.
unsigned shift_of(std::uint64_t bin_ns) {
  constexpr int kBits = 63;
  const auto wanted = static_cast<int>(std::bit_width(bin_ns / kFinestNs));
  return static_cast<unsigned>(std::clamp(wanted, 1, kBits - static_cast<int>(std::bit_width(bin_ns))));
}

/// A moment of the run, to the microsecond: `5.120307 s`.
std::string moment(double seconds) {
  std::string text = fmt::format("{:.6f}", seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

/// `2 messages, 16.0 kB with rank 3`; empty: nothing.
std::string moved(const Stretch& call) {
  if (call.messages == 0 && call.bytes == 0) return {};
  std::string text = call.messages > 1 ? counted(call.messages, "message") + ", " : std::string{};
  text += bytes(static_cast<double>(call.bytes));
  if (call.partner >= 0) text += " with rank " + std::to_string(call.partner);
  return text;
}

}  // namespace

CallsGrid::CallsGrid(const database::Contents& experiment, std::unique_ptr<TimeGrid> bins, SingleCalls& calls)
    : line_(of_lines(experiment, "rank")),
      map_(experiment.trace().time_map),
      bins_(std::move(bins)),
      calls_(calls),
      parts_(experiment.contexts.size(), kUnknown),
      shift_(shift_of(map_.bin_ns)) {
  set_rows(std::vector<std::span<const std::uint64_t>>(map_.rows.size()));
  columns_ = std::size_t{map_.bins} << shift_;
}

bool CallsGrid::want(const Part& rows, const Part& columns) {
  CallsWanted wanted{
      .ranks = {}, .begin_ns = time_of(columns.first), .end_ns = time_of(columns.first + columns.count)};
  for (std::size_t row = rows.first; row < rows.first + rows.count; ++row) wanted.ranks.push_back(rank(row));
  return calls_.want(wanted);
}

bool CallsGrid::renew() {
  std::shared_ptr<const CallsRead> read = calls_.read();
  if (read == read_) return false;
  read_ = std::move(read);
  line_of_.clear();
  for (std::size_t line = 0; line < read_->lines.size(); ++line) line_of_[read_->of.ranks[line]] = line;
  return true;
}

std::optional<CallsGrid::Place> CallsGrid::waited_for(std::size_t row, std::size_t column) const {
  const Stretch* const here = stretch_at(row, column);
  if (here == nullptr || here->waited_ns == 0) return std::nullopt;
  const auto found = std::ranges::find(map_.rows, here->waited_for, &TimeMap::Row::rank);
  if (found == map_.rows.end()) return std::nullopt;
  return Place{static_cast<std::size_t>(found - map_.rows.begin()), column_of(here->waited_until_ns)};
}

std::vector<CallsGrid::Line> CallsGrid::lines(const Part& rows, const Part& columns) const {
  std::vector<Line> lines;
  if (!has(rows, columns)) return lines;
  std::map<std::int32_t, std::size_t> row_of;
  for (std::size_t row = rows.first; row < rows.first + rows.count; ++row) row_of[rank(row)] = row;
  const std::uint64_t begin = time_of(columns.first), end = time_of(columns.first + columns.count);
  for (const auto& [receiver, row] : row_of) {
    for (const Arrival& arrival : read_->arrivals[line_of_.at(receiver)]) {
      const auto from = row_of.find(arrival.from);
      if (arrival.ns < begin || arrival.ns >= end || from == row_of.end() || from->second == row) continue;
      lines.push_back({from->second, row, column_of(arrival.ns)});
    }
  }
  return lines;
}

TimeGrid::Part CallsGrid::around(std::size_t row, std::size_t column) const {
  const Stretch* const here = stretch_at(row, column);
  if (here == nullptr) return {column, 1};
  const std::size_t first = column_of(here->begin_ns);
  return {first, column_of(here->end_ns) + 1 - first};
}

std::size_t CallsGrid::beside(std::size_t row, std::size_t column, bool forward) const {
  const Stretch* const here = stretch_at(row, column);
  if (here == nullptr) return column;
  if (forward) return column_of(here->end_ns);
  // Of what comes before the first that was read, only where that begins is known.
  const bool first = here == line(row)->data();
  return column_of(first ? here->begin_ns : (here - 1)->begin_ns);
}

std::uint64_t CallsGrid::part_of(database::ContextId context) const {
  if (context == database::kNone) return 0;
  std::uint32_t& part = parts_[context];
  if (part == kUnknown) part = static_cast<std::uint32_t>(bins_->part_of(context));
  return part;
}

std::string CallsGrid::code_name(database::ContextId context) const {
  return context == database::kNone ? "not sampled" : bins_->code_name(context);
}

std::vector<std::uint64_t> CallsGrid::cells(const Part& rows, const Part& columns, std::size_t lines,
                                            std::size_t wide) const {
  if (!has(rows, columns)) {
    const std::size_t first = columns.first >> shift_;
    const std::size_t last = (columns.first + columns.count - 1) >> shift_;
    return bins_->cells(rows, {first, last + 1 - first}, lines, wide);
  }
  std::vector<std::uint64_t> borders;
  for (std::size_t cell = 0; cell <= wide; ++cell)
    borders.push_back(time_of(columns.first + first_of(cell, wide, columns.count)));
  std::vector<std::uint64_t> cells;
  std::vector<std::uint64_t> sums(wide * kSums);
  for (std::size_t line = 0; line < lines; ++line) {
    std::ranges::fill(sums, 0);
    const std::size_t first = first_of(line, lines, rows.count);
    const std::size_t last = std::max(first_of(line + 1, lines, rows.count), first + 1);
    for (std::size_t row = rows.first + first; row < rows.first + last; ++row) add_row(row, borders, sums);
    for (auto begin = sums.begin(); begin != sums.end(); begin += kSums) {
      const auto most = std::max_element(begin + 1, begin + kSums);
      cells.push_back(*most == 0 ? 0 : static_cast<std::uint64_t>(most - begin));
    }
  }
  return cells;
}

void CallsGrid::add_row(std::size_t row, const std::vector<std::uint64_t>& borders,
                        std::vector<std::uint64_t>& sums) const {
  const std::vector<Stretch>& stretches = *line(row);
  auto at = std::ranges::upper_bound(stretches, borders.front(), {}, &Stretch::end_ns);
  std::size_t first = 0;
  for (; at != stretches.end() && at->begin_ns < borders.back(); ++at) {
    while (borders[first + 1] <= at->begin_ns) ++first;
    const std::uint64_t part = part_of(at->context);
    for (std::size_t cell = first; cell + 1 < borders.size() && borders[cell] < at->end_ns; ++cell) {
      const std::uint64_t begin = std::max(borders[cell], at->begin_ns);
      const std::uint64_t end = std::min(borders[cell + 1], at->end_ns);
      if (end > begin) sums[cell * kSums + part] += end - begin;
    }
  }
}

std::uint64_t CallsGrid::weight(std::size_t row, std::size_t column) const {
  const Stretch* const here = stretch_at(row, column);
  return here == nullptr ? 0 : here->end_ns - here->begin_ns;
}

bool CallsGrid::is_critical(std::size_t row, std::size_t first, std::size_t last) const {
  return bins_->is_critical(row, first >> shift_, ((last - 1) >> shift_) + 1);
}

std::string CallsGrid::title(std::size_t width, bool unicode) const {
  if (const std::string failure = calls_.failure(); !failure.empty())
    return shorten_middle(failure, width, unicode);
  const std::string most = "Where each " + line_ + " spent most of its time; ";
  if (read_ == nullptr) return most + "reading single calls...";
  return read_->cut ? most + "too many calls to show each: zoom in (+)"
                    : "What each " + line_ + " did, call by call";
}

std::string CallsGrid::column_name(std::size_t column, bool /*unicode*/) const {
  return moment(seconds_of(time_of(column)));
}

double CallsGrid::column_length() const {
  return seconds_of(map_.bin_ns) / static_cast<double>(std::uint64_t{1} << shift_);
}

std::string CallsGrid::tick_name(double at, bool /*unicode*/) const {
  return moment(at);
}

std::string CallsGrid::amount_of(double columns, bool unicode) const {
  return duration(columns * column_length(), unicode);
}

std::optional<std::uint64_t> CallsGrid::further_at(std::size_t row, std::size_t column) const {
  return bins_->further_at(row, column >> shift_);
}

std::string CallsGrid::shade_name(bool most, bool unicode) const {
  return bins_->shade_name(most, unicode);
}

std::string CallsGrid::describe(std::size_t row, std::size_t column, bool unicode) const {
  const Stretch* const here = stretch_at(row, column);
  if (here == nullptr) return bins_->describe(row, column >> shift_, unicode);
  std::string text = "at " + moment(seconds_of(here->begin_ns)) + ": " +
                     shorten_name(code_name(here->context), kLongestCode, unicode) + ", " +
                     duration(seconds_of(here->end_ns - here->begin_ns), unicode);
  if (const std::string what = moved(*here); !what.empty()) text += ", " + what;
  if (here->waited_ns == 0) return text;
  text += "; waits " + duration(seconds_of(here->waited_ns), unicode);
  if (here->waited_for >= 0) text += " for " + line_ + ' ' + std::to_string(here->waited_for);
  return text + " (" + std::string(metrics::name_of(here->pattern)) + ')';
}

database::ContextId CallsGrid::context(std::size_t row, std::size_t column) const {
  const Stretch* const here = stretch_at(row, column);
  return here == nullptr ? bins_->context(row, column >> shift_) : here->context;
}

std::uint64_t CallsGrid::time_of(std::size_t column) const {
  const std::uint64_t within = column & ((std::uint64_t{1} << shift_) - 1);
  return (column >> shift_) * map_.bin_ns + ((within * map_.bin_ns) >> shift_);
}

std::size_t CallsGrid::column_of(std::uint64_t ns) const {
  const std::size_t column = ((ns / map_.bin_ns) << shift_) + ((ns % map_.bin_ns) << shift_) / map_.bin_ns;
  return std::min(column, columns_ - 1);
}

bool CallsGrid::has(const Part& rows, const Part& columns) const {
  if (read_ == nullptr || read_->cut || read_->of.begin_ns > time_of(columns.first) ||
      read_->of.end_ns < time_of(columns.first + columns.count))
    return false;
  for (std::size_t row = rows.first; row < rows.first + rows.count; ++row) {
    if (line(row) == nullptr) return false;
  }
  return true;
}

const std::vector<Stretch>* CallsGrid::line(std::size_t row) const {
  const auto found = line_of_.find(rank(row));
  return found == line_of_.end() ? nullptr : &read_->lines[found->second];
}

const Stretch* CallsGrid::stretch_at(std::size_t row, std::size_t column) const {
  const std::vector<Stretch>* const stretches = line(row);
  if (stretches == nullptr) return nullptr;
  // What begins within the column is shown there, too: it may be shorter.
  const std::uint64_t ns = time_of(column + 1) - 1;
  const auto found = std::ranges::upper_bound(*stretches, ns, {}, &Stretch::end_ns);
  return found == stretches->end() || found->begin_ns > ns ? nullptr : &*found;
}

}  // namespace culprit::viewer::tui
