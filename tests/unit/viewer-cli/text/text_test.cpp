#include "text/call_path_text.hpp"
#include "text/node_label.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/screen.hpp"
#include "text/shorten.hpp"
#include "text/table.hpp"
#include "views/calling_context.hpp"
#include "views/sample_experiment.hpp"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace culprit::viewer::testing {

TEST_CASE("A recursion is one step of a call path, however deep it is") {
  using database::ContextId;
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME"});
  sample.add_location(0, 0, sample.add_role("main"));
  const ContextId main = sample.add(0, {ContextKind::procedure, "main", "a.c", 1});
  std::vector<ContextId> sends;
  ContextId walk = main;
  for (int level = 0; level < 3; ++level) {
    walk = sample.add(level == 0 ? main : sample.add(walk, {ContextKind::loop, "", "a.c", 11}),
                      {ContextKind::procedure, "walk", "a.c", 9});
    sends.push_back(sample.add(walk, {ContextKind::procedure, "MPI_Send", "", 0, "libmpi"}));
  }
  sample.set(sample.add(sends.back(), {ContextKind::statement, "", "a.c", 1}), 0, 0, 1);
  sample.finish();
  const database::Contents& experiment = sample.experiment();
  CHECK(path_text(experiment, sends[0], {}) == "main › walk › MPI_Send");
  const std::string recursive = "main › " + keep("walk (recursion)") + " › MPI_Send";
  CHECK(path_text(experiment, sends[1], {}) == recursive);
  CHECK(path_text(experiment, sends[2], {}) == recursive);
  ShownPaths paths(experiment);
  CHECK(paths.number(sends[2]) == paths.number(sends[1]));
  CHECK(paths.number(sends[0]) == paths.number(sends[1]));
  CHECK(paths.number(walk) == paths.number(experiment.contexts[sends[1]].parent));
}

TEST_CASE("A short call path loses code without names before the program's own functions") {
  using database::ContextId;
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME"});
  sample.add_location(0, 0, sample.add_role("main"));
  ContextId at = 0;
  for (const char* const name : {"<module>", "main", "Solver.exchange"})
    at = sample.add(at, {ContextKind::procedure, name, "heat.py", 1, "<python>"});
  at = sample.add(at,
                  {ContextKind::procedure, "_find_and_load", "<frozen importlib._bootstrap>", 1, "<python>"});
  at = sample.add(at, {ContextKind::loop, "", "heat.py", 3, "<python>"});
  for (const char* const name : {"MPI.so@0xe3910", "MPI.so@0xe2520"})
    at = sample.add(at, {ContextKind::procedure, name, "", 0, "/lib/MPI.cpython-311-x86_64-linux-gnu.so"});
  at = sample.add(at, {ContextKind::procedure, "MPI_Mprobe", "", 0, "/lib/libmpi.so"});
  sample.finish();
  const database::Contents& experiment = sample.experiment();
  CHECK(path_line(experiment, at, 72, true) ==
        "<module> › main › Solver.exchange › loop at heat.py:3 › MPI_Mprobe");
  CHECK(path_line(experiment, at, 60, true) == "<module> › main › Solver.exchange › MPI_Mprobe");
  CHECK(path_line(experiment, experiment.contexts[at].parent, 50, true) ==
        "<module> › main › Solver.exchange › MPI.so@0xe2520");
}

TEST_CASE("A row that folds a library says which one") {
  using database::ContextKind;
  views::testing::SampleExperiment sample({"REALTIME"});
  const std::uint32_t location = sample.add_location(0, 0, sample.add_role("main"));
  const auto add = [&](const char* name, const char* file, const char* module) {
    const database::ContextId at = sample.add(0, {ContextKind::procedure, name, file, 1, module});
    sample.set(sample.add(at, {ContextKind::statement, "", file, 1}), 0, location, 1);
    return at;
  };
  const database::ContextId python = add("Solver.step", "heat.py", "<python>");
  const database::ContextId interpreter = add("Py_FinalizeEx", "", "/usr/bin/python3.11");
  const database::ContextId standard = add("std::sort", "stl_algo.h", "/bin/a");
  sample.finish();
  const views::Figures figures(sample);
  views::CallingContext view(figures);
  const auto phrase = [&](database::ContextId at, const views::Fold& fold) {
    return folded_phrase(view, {.node = at, .call = {}, .fold = std::make_shared<views::Fold>(fold)});
  };
  views::Fold library, recursion;
  library.library = true;
  recursion.recursion = 3;
  CHECK(phrase(python, library) == "Python's interpreter folded (u)");
  CHECK(phrase(interpreter, library) == "Python's interpreter folded (u)");
  CHECK(phrase(standard, library) == "std:: folded (u)");
  CHECK(phrase(python, recursion) == "recursion folded (u)");
  CHECK(folded_phrase(view, {.node = python, .call = {}, .fold = {}}).empty());
}

TEST_CASE("Numbers are grouped by thousands") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1 000");
  CHECK(grouped(1234567.891, 2) == "1 234 567.89");
  CHECK(grouped(-1234) == "-1 234");
  CHECK(grouped(-0.001, 1) == "0.0");
}

TEST_CASE("Durations take a fitting unit") {
  CHECK(duration(0, true) == "0 s");
  CHECK(duration(1990, true) == "1 990 s");
  CHECK(duration(43.21, true) == "43.2 s");
  CHECK(duration(3.14159, true) == "3.14 s");
  CHECK(duration(0.25, true) == "250 ms");
  CHECK(duration(0.0041, true) == "4.1 ms");
  CHECK(duration(12e-6, true) == "12 µs");
  CHECK(duration(12e-6, false) == "12 us");
  CHECK(duration(140e-9, true) == "140 ns");
  CHECK(duration(0.99999, true) == "1.00 s");
  CHECK(duration(99.99, true) == "100 s");
}

TEST_CASE("Shares never round to nothing or to all") {
  CHECK(percent(0) == "0 %");
  CHECK(percent(0.318) == "31.8 %");
  CHECK(percent(0.0001) == "under 0.1 %");
  CHECK(percent(1) == "100 %");
  CHECK(round_percent(0.79) == "79 %");
  CHECK(round_percent(0.001) == "under 1 %");
}

TEST_CASE("A column's numbers share unit and decimals") {
  CHECK(scale_for(8000, "s", true).write(1720) == "1 720.0");
  CHECK(scale_for(16.35, "s", true).write(8.7) == "8.70");
  CHECK(scale_for(0.5, "s", true).unit == "ms");
  CHECK(scale_for(5e-6, "s", false).unit == "us");
  CHECK(scale_for(40, "count", true).write(7) == "7");
  CHECK(scale_for(1, "ratio", true).write(0.163) == "16.3");
}

TEST_CASE("Names give up parameters, template arguments, namespaces, then their middle") {
  const std::string name = "ns::solver<double, std::vector<int>>::apply(matrix const&, int) const";
  CHECK(shorten_name(name, 100, true) == name);
  CHECK(shorten_name(name, 50, true) == "ns::solver<double, std::vector<int>>::apply");
  CHECK(shorten_name(name, 30, true) == "ns::solver<…>::apply");
  CHECK(shorten_name(name, 30, false) == "ns::solver<...>::apply");
  CHECK(columns(shorten_name(name, 12, true)) == 12);
  CHECK(shorten_name(name, 12, true) == "…solve…apply");
  CHECK(shorten_name(name, 19, true) == "…solver<…>::apply");
  CHECK(shorten_name(name, 21, false) == "...solver<...>::apply");
  CHECK(shorten_name("LAMMPS_NS::Outer::PairLJCut::compute", 20, true) == "…PairLJCut::compute");
  CHECK(shorten_name("LAMMPS_NS::initialize_everything", 20, true) == "LAMMPS_NS:…verything");
}

TEST_CASE("Operators, anonymous namespaces and remarks survive shortening") {
  CHECK(without_parameters("operator()(int)") == "operator()");
  CHECK(without_parameters("a::operator<<(std::ostream&, int)") == "a::operator<<");
  CHECK(without_parameters("(anonymous namespace)::f(int)") == "(anonymous namespace)::f");
  CHECK(without_parameters("f(int) [clone .cold]") == "f [clone .cold]");
  CHECK(without_parameters("f(int)::{lambda(double)#1}::operator()(double) const") ==
        "f(int)::{lambda(double)#1}::operator()");
  CHECK(without_parameters("void fill<double>(double*, int)") == "fill<double>");
  CHECK(without_parameters("decltype (::new (((void*)0)) A(f<B>())) std::construct_at<A, B>(A*, B&&)") ==
        "std::construct_at<A, B>");
  CHECK(without_parameters("std::map<int, A> (anonymous namespace)::f<int>(int) [clone .cold]") ==
        "(anonymous namespace)::f<int> [clone .cold]");
  CHECK(without_parameters("bool a::operator< <int>(b<int> const&)") == "a::operator< <int>");
  CHECK(without_parameters("a::operator unsigned long()") == "a::operator unsigned long");
  CHECK(without_parameters("f(int) const::{lambda(int)#1}::operator()(int) const") ==
        "f(int) const::{lambda(int)#1}::operator()");
  CHECK(without_parameters("non-virtual thunk to a::f()") == "non-virtual thunk to a::f");
  CHECK(without_parameters("<program root>") == "<program root>");
  CHECK(without_parameters("").empty());
  CHECK(shorten_name("<unknown in libverylongname.so>", 20, true) == "<unknown i…gname.so>");
}

TEST_CASE("No name breaks shortening, whatever the width") {
  for (const char* name :
       {"", "(", ")", "<", ">>", "a<b", "f(", "operator", "µµµµµµµµµµ", "a(b)::c(d", "<(>)"}) {
    for (std::size_t width = 0; width < 12; ++width) {
      INFO(name << ' ' << width);
      CHECK(columns(shorten_name(name, width, true)) <= std::max<std::size_t>(width, 0));
      CHECK(columns(shorten_name(name, width, false)) <= std::max<std::size_t>(width, 0));
    }
  }
}

TEST_CASE("Prose is wrapped between words, never within a quantity") {
  CHECK(wrap("one two three", 7) == "one two\nthree");
  CHECK(wrap("one two three", 7, 2) == "one two\n  three");
  CHECK(wrap("saves " + keep("1 720 s") + " here", 12) == "saves\n1 720 s here");
  CHECK(wrap("made 3 072 ranks wait", 9) == "made\n3 072\nranks\nwait");
  CHECK(wrap("rank 3 4096", 8) == "rank 3\n4096");
  CHECK(wrap("two three", 9, 2, 4) == "two\n  three");
  CHECK(wrap("", 10).empty());
  CHECK(wrap("unbreakablylongword", 5) == "unbreakablylongword");
  CHECK(enumerate(std::vector<std::string>{"a", "b", "c"}) == "a, b and c");
  CHECK(enumerate(std::vector<std::string>{"a"}) == "a");
}

TEST_CASE("CSV fields are quoted where they must be") {
  std::ostringstream out;
  write_csv_row(out, {"plain", "f(int, int)", "say \"hi\"", ""});
  CHECK(out.str() == "plain,\"f(int, int)\",\"say \"\"hi\"\"\",\n");
  CHECK(csv_number(0.1) == "0.1");
  CHECK(csv_number(std::numeric_limits<double>::quiet_NaN()).empty());
}

TEST_CASE("Colour is written only where it is wanted") {
  const Screen plain{100, false, true};
  const Screen coloured{100, true, true};
  CHECK(plain.bold("x") == "x");
  CHECK(plain.heat(0.9, "x") == "x");
  CHECK(coloured.bold("x") == "\033[1mx\033[0m");
  CHECK(coloured.heat(0.01, "x") == "x");
  CHECK(coloured.heat(0.9, "x") != "x");
}

TEST_CASE("what distinguishes calls of one name stays in a narrow line") {
  const std::vector<std::string> site{"<- exchange.cpp:118"};
  CHECK(fit_label("MPI_Isend", site, 16, false).remark.empty());
  const FittedLabel alike = fit_label("MPI_Isend", site, 16, false, true);
  CHECK(alike.name.size() + 2 + alike.remark.size() <= 16);
  CHECK(alike.remark.ends_with("18"));
  CHECK(fit_label("MPI_Isend", site, 40, false, true).remark == site.front());
  const std::vector<std::string> inlined{"(inlined, a.cpp:12)", "(inlined)"};
  CHECK(fit_label("flux", inlined, 24, false, true).remark.find("12)") != std::string::npos);
}

TEST_CASE("entries of OpenMP's run-time libraries to a barrier are barriers in prose") {
  CHECK(name_in_prose("GOMP_barrier [part]") == "OpenMP barrier");
  CHECK(name_in_prose("GOMP_barrier_cancel") == "GOMP_barrier_cancel");
  CHECK(name_in_prose("solve(int)") == "solve");
}

}  // namespace culprit::viewer::testing
