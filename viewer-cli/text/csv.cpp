#include "text/csv.hpp"

#include <cmath>

#include <fmt/core.h>

namespace culprit::viewer {

void write_csv_row(std::ostream& out, const std::vector<std::string>& fields) {
  for (std::size_t index = 0; index < fields.size(); ++index) {
    if (index != 0) out << ',';
    const std::string& field = fields[index];
    if (field.find_first_of(",\"\n\r") == std::string::npos) {
      out << field;
      continue;
    }
    out << '"';
    for (const char letter : field) {
      if (letter == '"') out << '"';
      out << letter;
    }
    out << '"';
  }
  out << '\n';
}

std::string csv_number(double value) {
  return std::isnan(value) ? std::string{} : fmt::format("{}", value);
}

}  // namespace culprit::viewer
