#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace culprit::measurement {

/// CPython's function that interprets code; compilers add suffixes for its parts.
inline constexpr std::string_view kPythonInterpreter = "_PyEval_EvalFrameDefault";

/// A Python function, as the runtime writes it into the table of modules: `LINE⇥NAME⇥FILE`. Frames of it have
/// the kind `region`, and as offset the line that is executed, at least 1; those of a region that the program
/// marks have offset 0.
struct PythonFunction {
  std::string_view name;   ///< qualified, as `Solver.step`
  std::string_view file;   ///< as the interpreter knows it
  std::uint32_t line = 0;  ///< where it begins
};

/// The function that a module's path describes; nothing where that is something else. The views are into
/// `path`.
inline std::optional<PythonFunction> python_function(std::string_view path) {
  PythonFunction function;
  const auto number = std::from_chars(path.data(), path.data() + path.size(), function.line);
  if (number.ec != std::errc()) return std::nullopt;
  path.remove_prefix(static_cast<std::size_t>(number.ptr - path.data()));
  const std::size_t tab = path.find('\t', 1);
  if (path.empty() || path[0] != '\t' || tab == std::string_view::npos) return std::nullopt;
  function.name = path.substr(1, tab - 1);
  function.file = path.substr(tab + 1);
  return function;
}

}  // namespace culprit::measurement
