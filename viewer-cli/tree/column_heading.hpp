#pragma once

#include "views/column.hpp"

#include <string>

namespace culprit::viewer {

/// A short heading for what everybody looks at (`time`, `self`, `wait`, `blame`), else the metric's name.
std::string column_heading(const views::Column& column);

}  // namespace culprit::viewer
