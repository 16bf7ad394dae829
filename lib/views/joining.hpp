#pragma once

#include "views/frame.hpp"
#include "views/visible.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace culprit::views {

/// Whether a load module of this file name is CPython's interpreter: `python3`, `python3.11`,
/// `libpython3.11.so.1.0`.
bool is_interpreter(std::string_view file);

/// Whether a frame is one of CPython's C functions, or of its import machinery, which is written in Python.
bool is_interpreter(const Frame& frame);

/// Whether a frame is the C++ standard library's or CPython's: by its file, its load module, or its name.
bool is_library(const Frame& frame);

/// Which procedures of the calling context tree, or of callers, are shown by the row of a procedure above.
class Joining {
 public:
  enum class Why : std::uint8_t { recursion, library };

  /// Both must outlive this.
  Joining(View& view, const PassedOver& passed_over)
      : view_(view), passed_over_(passed_over), callers_(view.name() == "callers") {}

  /// Why a procedure that is called from `scope` has no row beside that of `scope`. Waits always have one.
  [[nodiscard]] std::optional<Why> joins(NodeId scope, NodeId node) const;

  /// The procedure whose row a cycle of several procedures comes back to at `node`; empty where none does.
  [[nodiscard]] std::optional<NodeId> comes_back_to(NodeId node) const;

  /// Whether the loops of a procedure belong to its row, as those of the library do.
  [[nodiscard]] bool hides_loops(NodeId scope) const { return is_folded_library(scope) || is_glue(scope); }

  /// The call site in a Python function whose row shows the code without lines that calls `node`; empty where
  /// none does.
  [[nodiscard]] std::optional<NodeId> line_of_python(NodeId node) const;

  /// The procedure around what lies in one, or that calls one; kNone where there is none.
  [[nodiscard]] NodeId procedure_around(NodeId node) const;

  [[nodiscard]] bool is_start_up(NodeId node) const {
    return passed_over_.start_up && (view_.flags(node) & database::kStartUp) != 0;
  }
  [[nodiscard]] bool is_wait(NodeId node) const { return (view_.flags(node) & database::kFrontier) != 0; }

  /// Whether a cycle of several procedures may come back somewhere below a procedure.
  [[nodiscard]] bool may_come_back_below(NodeId procedure) const;

 private:
  /// A row on the way to a procedure.
  struct Row {
    NodeId first = 0;
    std::size_t last = 0;         ///< how many procedures on the way stand up to the last that it shows
    std::vector<NodeId> repeats;  ///< what it calls first in the cycles that came back to it
  };

  [[nodiscard]] bool is_same(NodeId one, NodeId other) const;
  [[nodiscard]] bool is_small(NodeId scope) const;
  [[nodiscard]] bool is_folded_library(NodeId scope) const;
  [[nodiscard]] bool is_glue(NodeId node) const;
  [[nodiscard]] bool leads_to_names(NodeId node) const;
  [[nodiscard]] std::vector<NodeId> called_from(NodeId scope, NodeId like) const;
  [[nodiscard]] std::optional<std::size_t> come_back(const std::vector<Row>& rows,
                                                     const std::vector<NodeId>& way, std::size_t at) const;

  View& view_;
  const PassedOver& passed_over_;
  bool callers_;
};

/// Whether it can lie in a procedure: loops, call sites and lines do.
constexpr bool lies_in_procedure(database::ContextKind kind) {
  return kind == database::ContextKind::loop || kind == database::ContextKind::call ||
         kind == database::ContextKind::statement;
}

}  // namespace culprit::views
