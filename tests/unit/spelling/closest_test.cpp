#include "spelling/closest.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
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

namespace {

/// What the user reads of these words.
std::string refusal(std::vector<std::string> words) {
  CLI::App app;
  std::string sort, word;
  bool quiet = false;
  int depth = 0;
  app.add_option("--sort", sort);
  app.add_option("--depth", depth);
  app.add_flag("-q,--quiet", quiet);
  app.add_option("word", word);
  std::reverse(words.begin(), words.end());  // what CLI11 wants
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return explain(app, error, "tool --help");
  }
  return {};
}

}  // namespace

TEST_CASE("A misspelt option is reported with the one that was meant") {
  CHECK(refusal({"--sotr=x"}) == "--sotr: no such option (did you mean --sort? see tool --help)");
  CHECK(refusal({"a", "--queit"}) == "--queit: no such option (did you mean --quiet? see tool --help)");
  CHECK(refusal({"--frobnicate"}) == "--frobnicate: no such option (see tool --help)");
}

TEST_CASE("Other wrong use is reported in one line") {
  CHECK(refusal({"--depth", "deep"}) == "--depth: 'deep' is not a number that it takes (see tool --help)");
  CHECK(refusal({"--sort"}) == "--sort: no value given (see tool --help)");
  CHECK(refusal({"--sort", "a", "--sort", "b"}) == "--sort: given more than once (see tool --help)");
  CHECK(refusal({"one", "two"}).find("two") != std::string::npos);
  CHECK(refusal({"--sort", "time"}).empty());
}

}  // namespace culprit::spelling
