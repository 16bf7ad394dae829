// The page of `export html`: its data, and which rows of large trees it has.
#include "commands/html/packed_values.hpp"
#include "commands/html/page.hpp"
#include "commands/html/page_tree.hpp"
#include "request/errors.hpp"
#include "viewer-cli/run.hpp"
#include "views/calling_context.hpp"
#include "views/figures.hpp"
#include "views/solver_sample.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {
namespace {

using database::ContextId;
using database::ContextKind;
using views::testing::SampleExperiment;
using views::testing::SolverSample;

/// main calls `calls` procedures; the n-th takes n seconds.
void add_calls(SampleExperiment& sample, std::uint32_t calls, const std::string& name) {
  sample.add_location(0, 0, sample.add_role("main"));
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 3});
  for (std::uint32_t line = 1; line <= calls; ++line) {
    const ContextId call = sample.add(main, {ContextKind::call, "", "a.c", line});
    const ContextId callee =
        sample.add(call, {ContextKind::procedure, name + std::to_string(line), "b.c", 100 * line});
    sample.set(sample.add(callee, {ContextKind::statement, "", "b.c", 100 * line + 1}), 0, 0, line * kSecond);
  }
  sample.finish();
}

std::string data_of(const std::string& page) {
  const std::string start = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(start) + start.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

/// Of all parts of the report on the page, a line each.
std::string sentences_of(const Json& data) {
  std::string text;
  for (const Json& paragraph : data["report"]) {
    for (const Json& part : paragraph["parts"]) text += part["text"].get<std::string>();
    text += '\n';
  }
  return text;
}

}  // namespace

TEST_CASE("Numbers of the page have five digits") {
  CHECK(short_number(1234567.0).dump() == "1234600");
  CHECK(short_number(0.000123456).dump() == "0.00012346");
  CHECK(short_number(-2.5).dump() == "-2.5");
  CHECK(short_number(0).dump() == "0");
  CHECK(short_number(std::nan("")).dump() == "null");
  CHECK(short_number(std::numeric_limits<double>::denorm_min()).dump() == "0");
}

TEST_CASE("Bytes are written as RFC 4648 has them") {
  const auto coded = [](const std::string& text) {
    return base64(std::vector<std::uint8_t>(text.begin(), text.end()));
  };
  CHECK(coded("") == "");
  CHECK(coded("f") == "Zg==");
  CHECK(coded("fo") == "Zm8=");
  CHECK(coded("foo") == "Zm9v");
  CHECK(coded("foobar") == "Zm9vYmFy");
}

TEST_CASE("What is there at all is not nothing on the page") {
  const std::vector<double> values = {0, 1e-9, 1};
  const Json packed = scaled_values(values, 8);
  CHECK(packed["most"] == 1);
  CHECK(packed["data"] == "AAH/");
}

TEST_CASE("A page that cannot hold all rows has the weightiest, and says what is left out") {
  SampleExperiment sample({"REALTIME"});
  add_calls(sample, 9, "f");
  const views::Figures figures(sample);
  std::size_t shown = 0;
  const std::vector<PageColumn> columns = page_columns(figures, 8, shown);
  CHECK(columns.front().heading == "time");
  views::CallingContext view(figures);
  const PageTree tree(view, columns, shown, 5, {});
  PageTexts texts;
  const Json json = tree.to_json(texts);
  std::vector<std::string> names;
  for (const Json& name : json["name"]) names.push_back(texts.all()[name.get<std::size_t>()]);
  CHECK(names == std::vector<std::string>{"<run>", "main", "f9", "f8", "f7"});
  CHECK(tree.left_out() == 6);
  CHECK(json["left"].dump() == "[[1,6,21]]");
  CHECK(tree.row_of(view.children(1).front()).has_value());
}

TEST_CASE("The page's report is the report") {
  if (page_template().empty()) return;  // built without esbuild or D3
  const SolverSample solver;
  const Json data = Json::parse(data_of(run(solver.sample, {"export", "html"})));
  const std::string page = sentences_of(data);
  const std::string text = flowing(run(solver.sample, {"report"}));
  const std::size_t first = page.find('\n');
  INFO(page);
  INFO(text);
  CHECK(text.find(page.substr(0, first)) != std::string::npos);
  CHECK(page.find("All of the waiting happens inside the loop at solver.c:412 in cg_iterate") !=
        std::string::npos);
  bool leads = false;
  for (const Json& paragraph : data["report"]) {
    for (const Json& part : paragraph["parts"]) {
      if (part["text"] != "the loop at solver.c:412 in cg_iterate") continue;
      const std::size_t row = part["to"]["row"];
      const Json& calls = data["trees"][0];
      const std::string name = data["texts"][calls["name"][row].get<std::size_t>()];
      CHECK(name == "loop at solver.c:412");
      leads = true;
    }
  }
  CHECK(leads);
}

TEST_CASE("Names are data on the page, whatever they hold") {
  if (page_template().empty()) return;
  SampleExperiment sample({"REALTIME"});
  const std::string hostile = "<img src=x onerror=alert(1)></script><!--";
  add_calls(sample, 2, hostile);
  const std::string page = run(sample, {"export", "html"});
  CHECK(page.find("<img") == std::string::npos);
  CHECK(page.find("<!--") == std::string::npos);
  const Json data = Json::parse(data_of(page));
  bool found = false;
  for (const Json& text : data["texts"]) found |= text == hostile + "2";
  CHECK(found);
}

TEST_CASE("Tools that were built without the page's script say what is missing") {
  if (!page_template().empty()) return;
  const SolverSample solver;
  CHECK_THROWS_WITH(run(solver.sample, {"export", "html"}), Catch::Contains("node-d3 and esbuild"));
}

}  // namespace culprit::viewer::testing
