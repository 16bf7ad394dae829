#pragma once

#include "structure/structure.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// What the comments of a test program say about its lines (programs/loops.cpp explains them). A comment that
/// has a line for itself is about the next one.
struct Annotations {
  struct Line {
    std::optional<std::vector<std::string>> path;  ///< of PATH or SOME
    bool some = false;
    std::string procedure;  ///< of PROC, empty where there is none
  };
  std::map<std::uint32_t, Line> lines;
  std::map<std::string, std::uint32_t> loops;  ///< LOOP name → line
  bool every_loop = false;                     ///< ALL LOOPS: there are no others
};

Annotations read_annotations(const std::filesystem::path& source);

/// The scopes around a point as annotations name them: `loop:NAME` (the name by its line; `loop:LINE` where
/// that line is not annotated), `in:PROCEDURE` without arguments and qualification.
std::vector<std::string> path_of(const culprit::structure::ModuleStructure& module,
                                 const culprit::structure::Point& point, const Annotations& annotations);

/// Whether a path is what an annotation asks for; `loop:*` is any number of loops, an element
/// with `?` may be missing. A procedure that the compiler may inline or not (`in:` of SOME) can be one of its
/// own: then the path begins behind it.
bool matches(const std::vector<std::string>& wanted, const std::vector<std::string>& path, bool some);

std::string joined(const std::vector<std::string>& path);
