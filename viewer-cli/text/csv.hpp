#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace culprit::viewer {

/// One row as RFC 4180 has it (line feed only): fields quoted where they hold a comma, a quote or a line
/// break.
void write_csv_row(std::ostream& out, const std::vector<std::string>& fields);

/// A number with all its digits; empty where there is none (NaN).
std::string csv_number(double value);

}  // namespace culprit::viewer
