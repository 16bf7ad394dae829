#pragma once

#include "tui/widgets/canvas.hpp"
#include "tui/widgets/event.hpp"

#include <string>
#include <utility>
#include <vector>

namespace culprit::viewer::tui {

/// A key and what it does here, for the bar at the bottom.
using Hint = std::pair<std::string, std::string>;

/// What one tab shows: state that keys change, drawn on a canvas. Knows no terminal.
class Pane {
 public:
  virtual ~Pane() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  /// True: the key was meant for this pane.
  virtual bool handle(const Event& event) = 0;
  /// May note the size it is drawn in.
  virtual void draw(Canvas& canvas, const Area& area) = 0;
  /// The most useful keys, the most useful first.
  [[nodiscard]] virtual std::vector<Hint> hints() const = 0;
  /// What the cursor is on, in a line.
  [[nodiscard]] virtual std::string status() const { return {}; }
  /// Goes on with what takes long, for a few milliseconds; true: there is more.
  virtual bool work() { return false; }
  /// Whether another thread reads or forms something that nobody waits for at the end.
  [[nodiscard]] virtual bool busy() const { return false; }
  /// The columns or the selection of ranks changed.
  virtual void figures_changed() {}
  /// The pane comes to the front.
  virtual void shown() {}
  /// The call path of what the cursor is on, as commands take it (`main/solve/MPI_Bcast`); empty: none.
  [[nodiscard]] virtual std::string path() const { return {}; }
  /// Whether csv() has rows.
  [[nodiscard]] virtual bool has_table() const { return false; }
  /// All that the pane lists, as the command of that name writes it with --format csv. Throws UsageError.
  [[nodiscard]] virtual std::string csv() const { return {}; }
  /// Metric or wait pattern under the cursor, for explanations; empty: none.
  [[nodiscard]] virtual std::string topic() const { return {}; }
};

}  // namespace culprit::viewer::tui
