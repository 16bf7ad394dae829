#include "spelling/closest.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace culprit::spelling {
namespace {

const std::vector<std::string> kCommands = {"report",        "view",       "hot-path", "threads", "waits",
                                            "critical-path", "efficiency", "export",   "info"};

/// The shortest way by trying every edit, as the definition says; for short words only.
std::size_t by_definition(const std::string& a, const std::string& b) {
  if (a.empty()) return b.size();
  if (b.empty()) return a.size();
  const std::string rest_a = a.substr(1);
  const std::string rest_b = b.substr(1);
  std::size_t least = by_definition(rest_a, rest_b) + (a[0] == b[0] ? 0 : 1);
  least = std::min({least, by_definition(rest_a, b) + 1, by_definition(a, rest_b) + 1});
  if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0])
    least = std::min(least, by_definition(a.substr(2), b.substr(2)) + 1);
  return least;
}

std::string word(std::size_t longest) {
  const auto length = *rc::gen::inRange<std::size_t>(0, longest + 1);
  return *rc::gen::container<std::string>(length, rc::gen::element('a', 'b', 'c'));
}

}  // namespace

TEST_CASE("The distance is the least number of edits") {
  CHECK(distance("report", "report") == 0);
  CHECK(distance("reprot", "report") == 1);
  CHECK(distance("REPORT", "report") == 0);
  CHECK(distance("rport", "report") == 1);
  CHECK(distance("", "info") == 4);
  CHECK(rc::check("for all words", [] {
    const std::string a = word(5);
    const std::string b = word(5);
    RC_ASSERT(distance(a, b) == by_definition(a, b));
  }));
}

TEST_CASE("What is nearly a known word was meant for it") {
  CHECK(closest("reprot", kCommands) == "report");
  CHECK(closest("hotpath", kCommands) == "hot-path");
  CHECK(closest("wait", kCommands) == "waits");
  CHECK(closest("critical_path", kCommands) == "critical-path");
  CHECK(closest("critical", kCommands) == "critical-path");
  CHECK(closest("eff", kCommands) == "efficiency");
  CHECK(did_you_mean("exprot", kCommands) == "did you mean export? ");
}

TEST_CASE("What is near to nothing is taken for nothing") {
  CHECK_FALSE(closest("frobnicate", kCommands));
  CHECK_FALSE(closest("", kCommands));
  CHECK_FALSE(closest("x", kCommands));
  CHECK_FALSE(closest("e", kCommands));
  CHECK_FALSE(closest(std::string(100000, 'x'), kCommands));
  CHECK_FALSE(closest("report", std::vector<std::string>{}));
  CHECK(did_you_mean("frobnicate", kCommands).empty());
}

TEST_CASE("Of several that begin alike none is guessed") {
  const std::vector<std::string> known = {"trace-limit-of-processes", "trace-limit-of-threads"};
  CHECK_FALSE(closest("tra", known));
}

}  // namespace culprit::spelling
