#include "commands/list.hpp"

#include "commands/rows.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"

namespace culprit::viewer {

std::optional<double> share_of(const List& list, const ListRow& row) {
  if (list.whole_ns == 0 || !row.counts) return std::nullopt;
  return static_cast<double>(row.ns) / static_cast<double>(list.whole_ns);
}

namespace {

/// In a column of numbers.
std::string short_percent(double share) {
  constexpr double kLeast = 0.0005;  // of what is written as 0.1 %
  return share < kLeast ? "<0.1 %" : percent(share);
}

}  // namespace

void write_list(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                const List& list) {
  constexpr std::size_t kShareColumns = 6;  // `87.7 %`
  out << wrap(list.introduction, screen.width) << '\n';
  if (!list.rows.empty()) out << '\n';
  const RowWriter rows(out, screen, experiment, list.rows.empty() ? 0 : list.rows.front().ns);
  for (const ListRow& row : list.rows) {
    const std::optional<double> share = share_of(list, row);
    std::string text = align_right(share ? short_percent(*share) : "", kShareColumns) + "  ";
    if (!row.name.empty()) text += screen.bold(row.name) + "  ";
    rows.row(row.ns, keep(text) + row.text);
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

}  // namespace culprit::viewer
