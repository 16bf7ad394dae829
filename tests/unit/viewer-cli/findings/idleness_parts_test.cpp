#include "findings/idleness_parts.hpp"

#include "text/prose.hpp"

#include <cmath>
#include <string>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace culprit::viewer::testing {
namespace {

std::string plain(const IdlenessParts& parts) {
  return wrap(idleness_parts_phrase(parts), 1000);
}

/// The sum of the numbers in a phrase.
double sum_of(const std::string& text) {
  double sum = 0;
  std::string digits;
  for (const char letter : text + '.') {
    if ((letter >= '0' && letter <= '9') || letter == '.') {
      digits += letter;
    } else if (!digits.empty() && letter != ' ') {
      sum += std::stod(digits);
      digits.clear();
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("the parts of waiting add up to what is shown of the whole") {
  CHECK(idleness_parts_phrase({.late_s = 2}).empty());
  CHECK(idleness_parts_phrase({}).empty());
  const std::string text =
      plain({.late_s = 2.423, .transfer_s = 0.114, .library_s = 0.049, .no_processor_s = 0.066});
  CHECK(text.find("2.42") != std::string::npos);
  CHECK(text.find("for late ranks") < text.find("for transfers"));
  CHECK(text.find("for transfers") < text.find("without a processor"));
  rc::check("whatever they are", [] {
    const auto part = [] { return *rc::gen::inRange(0, 100'000) / 1000.0; };
    const IdlenessParts parts{.late_s = part(), .transfer_s = part(), .library_s = part()};
    RC_PRE(parts.sum() >= 1 && parts.sum() < 100);
    const std::string shown = plain(parts);
    RC_PRE(!shown.empty());
    const double step = parts.sum() < 10 ? 0.01 : 0.1;
    RC_ASSERT(std::abs(sum_of(shown) - std::round(parts.sum() / step) * step) < step / 10);
  });
}

}  // namespace culprit::viewer::testing
