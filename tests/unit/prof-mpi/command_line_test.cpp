#include "command_line.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

using namespace culprit::prof_mpi;

namespace {

std::variant<CommandLine, int> parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "prof-mpi");
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return parse_command_line(static_cast<int>(arguments.size()), pointers.data(), false);
}

CommandLine parsed(const std::vector<std::string>& arguments) {
  return std::get<CommandLine>(parse(arguments));
}

}  // namespace

TEST_CASE("defaults are those of the manual", "[command_line]") {
  const CommandLine line = parsed({"run1"});
  CHECK(line.options.measurement == "run1");
  CHECK(line.options.output == "run1.db");
  CHECK_FALSE(line.options.force);
  CHECK_FALSE(line.options.dry_run);
  CHECK(line.options.loops);
  CHECK(line.options.sources);
  CHECK(line.options.blame.mode == culprit::blame::Mode::noise_aware);
  CHECK(line.options.blame.alpha == 1.1);
  CHECK(line.options.blame.tau == 0.01);
  CHECK(line.options.blame.epsilon == 0.01);
  CHECK(line.options.hotspot_threshold == 0.01);
  CHECK_FALSE(line.quiet);
}

TEST_CASE("the database lies beside the directory, however that is written", "[command_line]") {
  CHECK(parsed({"a/run1/"}).options.output == "a/run1.db");
  CHECK(parsed({"./a/../run1"}).options.output == "run1.db");
  CHECK(parsed({"/x/run.2"}).options.output == "/x/run.2.db");
  const std::filesystem::path here = std::filesystem::canonical(".");
  CHECK(parsed({"."}).options.output == here.string() + ".db");
  CHECK(parsed({".."}).options.output == here.parent_path().string() + ".db");
  CHECK(parsed({"run1", "-o", "other"}).options.output == "other");
}

TEST_CASE("every option arrives, before or after the directory", "[command_line]") {
  const CommandLine line =
      parsed({"--force",   "-R",           "/a=/b",      "--balance",   "paper",     "run1",
              "-R",        "/c=/d=e",      "--alpha",    "2",           "--tau",     "0",
              "--epsilon", "0.05",         "--no-loops", "--no-source", "--dry-run", "-q",
              "-v",        "--idle-rules", "f",          "-j",          "3",         "--hotspot-threshold",
              "0.5"});
  CHECK(line.options.force);
  CHECK(line.options.replace_prefix ==
        std::vector<std::pair<std::string, std::string>>{{"/a", "/b"}, {"/c", "/d=e"}});
  CHECK(line.options.blame.mode == culprit::blame::Mode::paper);
  CHECK(line.options.blame.alpha == 2);
  CHECK(line.options.blame.tau == 0);
  CHECK(line.options.blame.epsilon == 0.05);
  CHECK(line.options.hotspot_threshold == 0.5);
  CHECK_FALSE(line.options.loops);
  CHECK_FALSE(line.options.sources);
  CHECK(line.options.dry_run);
  CHECK(line.options.idle_rules == "f");
  CHECK((line.quiet && line.verbose));
  CHECK(line.threads == 3);
}

TEST_CASE("structure is cached where XDG says, or where asked for, or nowhere", "[command_line]") {
  ::setenv("XDG_CACHE_HOME", "/a/cache", 1);
  CHECK(parsed({"run1"}).options.structure_cache == "/a/cache/culprit/structure");
  CHECK(parsed({"run1", "--structure-cache", "there"}).options.structure_cache == "there");
  CHECK(parsed({"run1", "--no-structure-cache"}).options.structure_cache.empty());
  CHECK(parsed({"run1", "--dry-run"}).options.structure_cache.empty());
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/home/of", 1);
  CHECK(parsed({"run1"}).options.structure_cache == "/home/of/.cache/culprit/structure");
  ::unsetenv("XDG_CACHE_HOME");
  CHECK(parsed({"run1"}).options.structure_cache == "/home/of/.cache/culprit/structure");
  ::unsetenv("HOME");
  CHECK(parsed({"run1"}).options.structure_cache.empty());
}

TEST_CASE("wrong usage is status 2, help and version 0", "[command_line]") {
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"a", "b"},
      {"a", "--no-such-option"},
      {"a", "-R", "no-equals-sign"},
      {"a", "-R", "=b"},
      {"a", "--balance", "maybe"},
      {"a", "--alpha", "0"},
      {"a", "--alpha", "x"},
      {"a", "--tau", "-1"},
      {"a", "--tau", "nan"},
      {"a", "--epsilon", "0"},
      {"a", "--epsilon", "1"},
      {"a", "--hotspot-threshold", "-0.1"},
      {"a", "--hotspot-threshold", "1.5"},
      {"a", "--hotspot-threshold", "1%"},
      {"a", "--hotspot-threshold", "nan"},
      {"a", "--hotspot-threshold", ""},
      {"a", "-j", "0"},
      {"a", "-j", "1.5"},
      {"a", "-o"},
      {"a", "--structure-cache"},
      {"a", "--structure-cache", "b", "--no-structure-cache"},
  };
  for (const std::vector<std::string>& arguments : wrong) CHECK(std::get<int>(parse(arguments)) == 2);
  CHECK(std::get<int>(parse({"--help"})) == 0);
  CHECK(std::get<int>(parse({"--version"})) == 0);
}
