#include "findings/segment_begins.hpp"

#include "text/quantity.hpp"

#include <algorithm>

namespace culprit::viewer {
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
