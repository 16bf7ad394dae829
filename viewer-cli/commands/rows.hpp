#pragma once

#include "database/contents.hpp"
#include "text/quantity.hpp"
#include "text/screen.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

// What the outputs on time lines have in common.
namespace culprit::viewer {

/// Rows of a text; csv and json leave out nothing.
inline constexpr std::size_t kTraceRowsShown = 25;
/// Of the whole: what a row needs to be shown in a text.
inline constexpr double kTraceRowShare = 0.002;

/// How many rows, largest first, a text shows.
template <class Rows, class Amount>
std::size_t rows_to_show(const Rows& rows, double whole, Amount amount) {
  std::size_t shown = 0;
  while (shown < rows.size() && shown < kTraceRowsShown &&
         static_cast<double>(amount(rows[shown])) >= kTraceRowShare * whole)
    ++shown;
  return shown;
}

/// Throws CommandError, which says how to get one, unless the run has a trace.
void require_trace(const database::Contents& experiment, const std::string& command,
                   const std::string& database);

/// Writes rows of an amount, a line of text and a call path below it; amounts in one unit, right-aligned.
class RowWriter {
 public:
  /// `largest_ns`: of all amounts.
  RowWriter(std::ostream& out, const Screen& screen, const database::Contents& experiment,
            std::uint64_t largest_ns);

  /// The text is wrapped.
  void row(std::uint64_t ns, const std::string& text) const;
  void path(database::ContextId context, bool between = false, const std::string& before = "") const;
  /// `and 12 more (--format csv or json)`, where some were left out.
  void rest(std::size_t all, std::size_t shown) const;

 private:
  std::ostream& out_;
  const Screen& screen_;
  const database::Contents& experiment_;
  Scale scale_;
  std::size_t width_;
};

}  // namespace culprit::viewer
