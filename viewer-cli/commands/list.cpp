#include "commands/list.hpp"

#include "findings/coverage.hpp"
#include "request/errors.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"

#include <algorithm>

namespace culprit::viewer {

std::optional<double> share_of(const List& list, const ListRow& row) {
  if (list.whole_ns == 0 || row.counted_ns == 0) return std::nullopt;
  return static_cast<double>(row.counted_ns.value_or(row.ns)) / static_cast<double>(list.whole_ns);
}

std::string part_of_waits_phrase(const RowGroup& group, const ListOptions& options) {
  std::uint64_t count = 0, ns = 0;
  for (const database::Wait* wait : group.made_wait) {
    count += wait->count;
    ns += wait->ns;
  }
  if (!options.counts || count < 2) return {};
  return " (part of " +
         keep(counted(count, "wait") + ", mean " + duration(seconds_of(ns / count), options.unicode)) + ')';
}

namespace {

constexpr std::size_t kPathIndent = 4;

std::string paragraph(const std::string& text, const Screen& screen) {
  return std::string(kPathIndent, ' ') + wrap(text, screen.width, kPathIndent, kPathIndent);
}

/// In a column of numbers.
std::string short_percent(double share) {
  constexpr double kLeast = 0.0005;  // of what is written as 0.1 %
  return share < kLeast ? "<0.1 %" : percent(share);
}

}  // namespace

std::string between_phrase(const database::Contents& experiment, const ListPath& path) {
  if (!path.between) return {};
  const std::string calls = lines_are_threads(experiment) ? "waits" : "MPI calls";
  return " (between two " + calls + ", where no sample was taken)";
}

void write_list(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                const List& list) {
  constexpr std::size_t kShareColumns = 6;  // `87.7 %`
  if (!list.introduction.empty()) out << wrap(list.introduction, screen.width) << '\n';
  const bool heads_rows = list.introduction.empty() || list.introduction.ends_with(':');
  if (!heads_rows && !list.rows.empty()) out << '\n';
  double largest = 0;
  for (const ListRow& row : list.rows) largest = std::max(largest, seconds_of(row.ns));
  const Scale scale = scale_for(largest, "s", screen.unicode);
  const std::size_t width = columns(scale.write(largest));
  std::size_t number = 0;
  for (const ListRow& row : list.rows) {
    const std::optional<double> share = share_of(list, row);
    std::string text;
    if (list.whole_ns > 0) text = keep(align_right(share ? short_percent(*share) : "", kShareColumns) + "  ");
    if (!row.name.empty()) text += screen.bold(row.name);
    if (!row.id.empty()) text += keep("  " + screen.dim('[' + row.id + ']'));
    if (!list.apart && !row.text.empty()) text += (row.name.empty() ? "" : keep("  ")) + row.text;
    const std::string head =
        list.numbered ? std::to_string(++number) + ". "
                      : align_right(scale.write(seconds_of(row.ns)), width) + ' ' + scale.unit + "  ";
    out << head << wrap(text, screen.width, kPathIndent, columns(head)) << '\n';
    if (list.apart) out << paragraph(row.text, screen) << '\n';
    for (const ListPath& path : row.paths) write_list_path(out, screen, experiment, path);
  }
  if (list.left_out > 0)
    out << wrap("and " + counted(list.left_out, "row") + " more, of at most " +
                    keep(duration(seconds_of(list.largest_left_ns), screen.unicode)) +
                    " each; --format json or csv leaves out nothing",
                screen.width)
        << '\n';
  if (list.has_sets) {
    const char* const single = experiment.run.ranks == 0 ? "threads" : "ranks";
    out << screen.dim(std::string("--by-rank lists single ") + single) << '\n';
  }
  for (const std::string& note : list.notes) out << wrap(note, screen.width) << '\n';
}

void write_list_path(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                     const ListPath& path) {
  const std::string text =
      path.before + path_text(experiment, path.context, screen) + between_phrase(experiment, path);
  out << screen.dim(paragraph(text, screen)) << '\n';
}

void require_trace(const database::Contents& experiment, const std::string& command,
                   const std::string& database) {
  if (experiment.trace().traced > 0) return;
  throw CommandError(command + ": " + database + ": " + no_time_lines_phrase(experiment));
}

}  // namespace culprit::viewer
