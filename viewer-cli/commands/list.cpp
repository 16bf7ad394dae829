#include "commands/list.hpp"

#include "findings/coverage.hpp"
#include "request/errors.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"

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

void write_list(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                const List& list) {
  constexpr std::size_t kShareColumns = 6;  // `87.7 %`
  if (!list.introduction.empty()) out << wrap(list.introduction, screen.width) << '\n';
  const bool heads_rows = list.introduction.empty() || list.introduction.ends_with(':');
  if (!heads_rows && !list.rows.empty()) out << '\n';
  const RowWriter rows(out, screen, experiment, list.rows.empty() ? 0 : list.rows.front().ns);
  std::size_t number = 0;
  for (const ListRow& row : list.rows) {
    const std::optional<double> share = share_of(list, row);
    std::string text;
    if (list.whole_ns > 0) text = keep(align_right(share ? short_percent(*share) : "", kShareColumns) + "  ");
    if (!row.name.empty()) text += screen.bold(row.name);
    if (!row.id.empty()) text += keep("  " + screen.dim('[' + row.id + ']'));
    if (!list.apart && !row.text.empty()) text += (row.name.empty() ? "" : keep("  ")) + row.text;
    rows.row(list.numbered ? std::to_string(++number) + ". " : rows.amount(row.ns), text);
    if (list.apart) out << paragraph(row.text, screen) << '\n';
    for (const ListPath& path : row.paths) rows.path(path.context, path.between, path.before);
  }
  if (list.left_out > 0)
    out << wrap("and " + counted(list.left_out, "row") + " more, of at most " +
                    keep(duration(seconds_of(list.largest_left_ns), screen.unicode)) +
                    " each; --format json or csv leaves out nothing",
                screen.width)
        << '\n';
  if (list.has_sets) out << screen.dim("--by-rank lists single ranks") << '\n';
  for (const std::string& note : list.notes) out << wrap(note, screen.width) << '\n';
}

void require_trace(const database::Contents& experiment, const std::string& command,
                   const std::string& database) {
  if (experiment.trace().traced > 0) return;
  throw CommandError(command + ": " + database + ": " + no_time_lines_phrase(experiment));
}

RowWriter::RowWriter(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                     std::uint64_t largest_ns)
    : out_(out),
      screen_(screen),
      experiment_(experiment),
      scale_(scale_for(seconds_of(largest_ns), "s", screen.unicode)),
      width_(columns(scale_.write(seconds_of(largest_ns)))) {}

std::string RowWriter::amount(std::uint64_t ns) const {
  return align_right(scale_.write(seconds_of(ns)), width_) + ' ' + scale_.unit + "  ";
}

void RowWriter::row(const std::string& head, const std::string& text) const {
  out_ << head << wrap(text, screen_.width, kPathIndent, columns(head)) << '\n';
}

void RowWriter::path(database::ContextId context, bool between, const std::string& before) const {
  std::string text = before + path_text(experiment_, context, screen_);
  if (between) text += " (between two MPI calls, where no sample was taken)";
  out_ << screen_.dim(paragraph(text, screen_)) << '\n';
}

void RowWriter::rest(std::size_t all, std::size_t shown) const {
  if (shown < all) out_ << "and " << all - shown << " more (--format csv or json)\n";
}

}  // namespace culprit::viewer
