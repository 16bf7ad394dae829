#include "request/command_line.hpp"

#include "commands/run.hpp"
#include "run_export.hpp"
#include "viewer-cli/run.hpp"

#include <sstream>

#include <catch2/catch.hpp>

namespace culprit::viewer::testing {
namespace {

Invocation parse(std::vector<std::string> words) {
  words.insert(words.begin(), "viewer-cli");
  std::vector<const char*> argv;
  argv.reserve(words.size());
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::optional<Answer> answer;
  Invocation invocation = parse_command_line(static_cast<int>(argv.size()), argv.data(), answer);
  REQUIRE_FALSE(answer);
  return invocation;
}

std::string answer_to(std::vector<const char*> argv) {
  argv.insert(argv.begin(), "viewer-cli");
  std::optional<Answer> answer;
  parse_command_line(static_cast<int>(argv.size()), argv.data(), answer);
  REQUIRE(answer);
  return answer->text;
}

}  // namespace

std::string run(const views::Source& source, const std::vector<std::string>& words, std::size_t width,
                bool unicode, const views::Source* other) {
  std::vector<std::string> all = {"run1.db"};
  all.insert(all.end(), words.begin(), words.end());
  std::ostringstream out;
  const Invocation invocation = parse(all);
  if (invocation.command == Command::exporting) {
    run_export(out, source, invocation);
  } else {
    run_command(out, {width, false, unicode}, source, invocation, other);
    // What keeps words on one line while text is formed (text/prose.hpp).
    CHECK(out.str().find('\x1f') == std::string::npos);
  }
  return out.str();
}

std::string flowing(std::string text) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    const std::size_t end = text.find_first_not_of(' ', at + 1);
    text.replace(at, end == std::string::npos ? std::string::npos : end - at, " ");
  }
  return text;
}

TEST_CASE("Without a command the report is shown") {
  CHECK(parse({"run1.db"}).command == Command::report);
  CHECK(parse({"run1.db"}).database == "run1.db");
  CHECK(parse({"run1.db"}).format == Format::text);
}

TEST_CASE("Stacks take processes, a directory or a job, before or behind the command") {
  const Invocation processes = parse({"stacks", "12", "13", "--looks", "5", "--every", "0.1"});
  CHECK(processes.command == Command::stacks);
  CHECK(processes.stacks.subjects == std::vector<std::string>{"12", "13"});
  CHECK(processes.stacks.looks == 5);
  CHECK(processes.every_s == 0.1);
  CHECK(parse({"run1", "stacks"}).stacks.subjects == std::vector<std::string>{"run1"});
  const Invocation job = parse({"stacks", "--job", "12", "--format", "json"});
  CHECK(job.stacks.launcher == 12);
  CHECK(job.stacks.subjects.empty());
  CHECK_FALSE(job.stacks.here);
  const Invocation named = parse({"stacks", "--job", "slurm:7.0", "--here"});
  CHECK(named.stacks.name == "slurm:7.0");
  CHECK(named.stacks.here);
  CHECK_THROWS_AS(parse({"stacks", "--job", "7x"}), UsageError);
  CHECK_THROWS_AS(parse({"stacks"}), UsageError);
  CHECK_THROWS_AS(parse({"stacks", "--job", "0"}), UsageError);
  CHECK_THROWS_AS(parse({"stacks", "--job", "1", "2"}), UsageError);
  CHECK_THROWS_AS(parse({"stacks", "1", "--looks", "0"}), UsageError);
  CHECK_THROWS_AS(parse({"stacks", "1", "--depth", "3"}), UsageError);
  CHECK_THROWS_AS(parse({"stacks", "1", "--format", "csv"}), UsageError);
  CHECK_THROWS_AS(parse({"run1", "report", "--job", "1"}), UsageError);
}

TEST_CASE("Options may stand before and after the command") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--format", "json", "--depth", "3", "run1.db", "view", "callers"},
        std::vector<std::string>{"run1.db", "view", "--format=json", "callers", "--depth=3"},
        std::vector<std::string>{"run1.db", "--depth", "3", "view", "callers", "--format", "json"}}) {
    const Invocation invocation = parse(words);
    CHECK(invocation.command == Command::view);
    CHECK(invocation.view == ViewKind::callers);
    CHECK(invocation.format == Format::json);
    CHECK(invocation.depth == 3U);
    CHECK_FALSE(invocation.min_percent);
  }
}

TEST_CASE("A run that goes on is followed without a command") {
  CHECK(parse({"run1", "--follow"}).follow);
  CHECK(parse({"yet-to-come", "--follow", "-o", "a.db"}).output == "a.db");
  CHECK(parse({"--follow", "--every", "0.5", "run1"}).every_s == 0.5);
  CHECK_FALSE(parse({"run1"}).follow);
  CHECK_THROWS_AS(parse({"run1", "report", "--follow"}), UsageError);
  CHECK_THROWS_AS(parse({"run1", "--every", "1"}), UsageError);
  CHECK_THROWS_AS(parse({"run1", "--follow", "--every", "0"}), UsageError);
  CHECK_THROWS_WITH(parse({"run1", "--follow", "--format", "csv"}),
                    Catch::Contains("--follow has no csv form"));
}

TEST_CASE("Lists and numbers are taken apart") {
  const Invocation invocation = parse(
      {"run1.db", "view", "--metrics", "REALTIME:mean (I),idleness", "--min", "0.5", "--ranks", "0-3,8"});
  CHECK(invocation.metrics == std::vector<std::string>{"REALTIME:mean (I)", "idleness"});
  CHECK(invocation.min_percent == 0.5);
  CHECK(invocation.ranks == "0-3,8");
  CHECK(parse({"run1.db", "export", "collapsed", "-o", "x.txt"}).output == "x.txt");
  CHECK(parse({"run1.db", "threads", "main/f", "--metric", "idleness"}).node == "main/f");
}

TEST_CASE("Wrong usage is refused with the word at fault") {
  const auto refuses = [](const std::vector<std::string>& words, const std::string& part) {
    INFO(part);
    CHECK_THROWS_WITH(parse(words), Catch::Contains(part));
    CHECK_THROWS_AS(parse(words), UsageError);
  };
  refuses({}, "no database");
  refuses({"run1.db", "frobnicate"}, "frobnicate");
  refuses({"run1.db", "view", "sideways"}, "sideways");
  refuses({"run1.db", "--wrong"}, "--wrong");
  refuses({"run1.db", "--format", "xml"}, "xml");
  refuses({"run1.db", "view", "--depth", "-1"}, "depth");
  refuses({"run1.db", "view", "--depth", "many"}, "depth");
  refuses({"run1.db", "view", "--min", "101"}, "--min");
  refuses({"run1.db", "view", "--min", "nan"}, "--min");
  refuses({"run1.db", "threads"}, "no node");
  refuses({"run1.db", "diff"}, "no second database");
  refuses({"run1.db", "diff", "run2.db", "--scaling", "odd"}, "odd");
  refuses({"run1.db", "view", "--scaling", "weak"}, "--scaling");
  refuses({"run1.db", "suspects", "--without-startup"}, "--without-startup: not an option of suspects");
  refuses({"run1.db", "export"}, "no format");
  refuses({"run1.db", "export", "tarot"}, "tarot");
  refuses({"run1.db", "info", "more"}, "more");
  refuses({"run1.db", "info", "--sort", "REALTIME"}, "--sort");
  refuses({"run1.db", "report", "--format", "csv"}, "csv");
  refuses({"run1.db", "critical"}, "did you mean critical-path? ");
  refuses({"run1.db", "view", "--dept", "3"}, "--dept: no such option (did you mean --depth? ");
  refuses({"run1.db", "view", "--ranks", ""}, "--ranks: no value");
  refuses({"run1.db", "view", "--sort="}, "--sort: no value");
  refuses({"run1.db", "diff", "run2.db", "--browse", "--ranks", "0"}, "--ranks: the browser");
  refuses({"run1.db", "what-if"}, "nothing to change");
  refuses({"run1.db", "what-if", "--remove", "f", "--each"}, "--each: only with --balance");
  refuses({"run1.db", "waits", "--remove", "f"}, "--remove: not an option of waits");
  refuses({"report", "run1.db"}, "viewer-cli run1.db report");
}

TEST_CASE("stuck may stand before its directory") {
  const Invocation invocation = parse({"stuck", "/"});
  CHECK(invocation.command == Command::stuck);
  CHECK(invocation.database == "/");
}

TEST_CASE("Commands that need a trace have tables, and say so in their help") {
  for (const char* command : {"causes", "critical-path", "hotspots", "variation", "communication"}) {
    INFO(command);
    CHECK(parse({"run1.db", command, "--format", "csv"}).format == Format::csv);
    CHECK(answer_to({"--help"}).find(command) != std::string::npos);
    CHECK(answer_to({command, "--help"}).find("--trace") != std::string::npos);
  }
  const Invocation asked =
      parse({"run1", "what-if", "--balance", "f", "--remove", "g/h", "--speedup", "k=2", "--balance", "m"});
  CHECK(asked.what_if.balanced == std::vector<std::string>{"f", "m"});
  CHECK(parse({"run1", "what-if", "--remove", "f", "--format", "csv"}).format == Format::csv);
  CHECK(answer_to({"what-if", "--help"}).find("--trace") != std::string::npos);
  CHECK(asked.what_if.removed == std::vector<std::string>{"g/h"});
  CHECK(asked.what_if.sped_up == std::vector<std::string>{"k=2"});
  CHECK(parse({"run1.db", "variation", "--finer", "2"}).finer == 2);
  CHECK_THROWS_AS(parse({"run1.db", "causes", "--finer", "1"}), UsageError);
}

TEST_CASE("Help begins with examples, wherever it is asked for") {
  CHECK(answer_to({"--help"}).find("viewer-cli run1") < answer_to({"--help"}).find("usage:"));
  CHECK(answer_to({"view", "--help"}) == answer_to({"run1.db", "view", "--help"}));
  CHECK(answer_to({"-h", "threads"}).find("NODE") != std::string::npos);
  CHECK(answer_to({"--version"}).find("Culprit") != std::string::npos);
}

}  // namespace culprit::viewer::testing
