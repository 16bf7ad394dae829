#include "example.hpp"
#include "image.hpp"
#include "views/derived.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

// Any bytes are the lines of a file of metrics beside a database: each defines one, or is a BadDefinition.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace views = culprit::views;
  static const culprit::database::Image image(culprit::database::make_example().experiment);
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  std::vector<views::Column> defined;
  for (std::string line; std::getline(lines, line);) {
    try {
      defined.push_back(views::define_column(image.contents(), line, std::nullopt, defined));
    } catch (const views::BadDefinition&) {
      continue;
    }
    const views::Derived& derived = *defined.back().derived;
    for (const double value : {0.0, 1e300})
      (void)derived.evaluate(std::vector<double>(derived.operands().size(), value));
  }
  return 0;
}
