#pragma once

#include "tui/panes/pane.hpp"
#include "tui/panes/source_text.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/host.hpp"
#include "tui/widgets/scroll.hpp"
#include "tui/widgets/syntax.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// What each line of a file costs, over all call paths: one value per column asked for.
using LineCosts = std::map<std::uint32_t, std::vector<double>>;

/// The source text of the chosen node with what its lines cost; the node's own line is marked.
class SourcePane final : public Pane {
 public:
  SourcePane(Workspace& workspace, Host& host);

  [[nodiscard]] std::string name() const override { return "Source"; }
  bool handle(const Event& event) override;
  void draw(Canvas& canvas, const Area& area) override;
  [[nodiscard]] std::vector<Hint> hints() const override;
  [[nodiscard]] std::string status() const override;
  bool work() override;
  void figures_changed() override { shown_.reset(); }
  void shown() override;

  [[nodiscard]] const PathPrefixes& prefixes() const { return prefixes_; }
  void set_prefixes(PathPrefixes prefixes);
  /// Puts prefixes in front of the others, in the place of those for the same paths.
  void put_first(const PathPrefixes& prefixes);

 private:
  [[nodiscard]] bool up_to_date() const;
  void load();
  [[nodiscard]] std::vector<NumberColumn> columns_shown() const;
  void to_costly_line(bool backwards);
  void ask_search();
  void find(bool backwards);
  void ask_prefix();
  void draw_line(Canvas& canvas, const Area& area, int row, int line) const;
  void draw_missing(Canvas& canvas, const Area& area) const;
  int draw_costs(Canvas& canvas, int row, int column, int line) const;

  Workspace& workspace_;
  Host& host_;
  PathPrefixes prefixes_;
  std::optional<NodeRef> shown_;  ///< the node that the pane was made for
  std::string sorted_;            ///< the column it was made for
  std::string file_;
  int line_ = 0;  ///< the node's, from 1; 0: not known
  SourceText text_;
  LineCosts costs_;
  std::vector<NumberColumn> columns_;
  std::unique_ptr<Syntax> syntax_;
  std::vector<Tones> tones_;  ///< of the lines coloured so far
  Scroll scroll_;
  int sideways_ = 0;
  std::string searched_;
};

}  // namespace culprit::viewer::tui
