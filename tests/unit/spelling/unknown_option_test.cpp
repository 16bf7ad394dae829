#include "spelling/unknown_option.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace culprit::spelling {
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
  CHECK(refusal({"--depth", "deep"}) == "--depth: 'deep' is no such number as it takes (see tool --help)");
  CHECK(refusal({"--sort"}) == "--sort: no value given (see tool --help)");
  CHECK(refusal({"--sort", "a", "--sort", "b"}) == "--sort: given more than once (see tool --help)");
  CHECK(refusal({"one", "two"}).find("two") != std::string::npos);
  CHECK(refusal({"--sort", "time"}).empty());
}

}  // namespace culprit::spelling
