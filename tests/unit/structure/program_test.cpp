// Structure recovered from real programs, compared with what their sources say.
#include "annotations.hpp"
#include "modules.hpp"

#include <set>

#include <catch2/catch.hpp>

namespace program_test {

using culprit::structure::kNone;
using culprit::structure::ModuleStructure;
using culprit::structure::Point;
using culprit::structure::Scope;

namespace {

void check_line(const ModuleStructure& module, const std::vector<const Point*>& points, std::uint32_t number,
                const Annotations::Line& wanted, const Annotations& annotations) {
  INFO("line " << number << ", wanted: " << joined(*wanted.path));
  REQUIRE(!points.empty());
  std::set<std::string> paths;
  bool any = false, all = true;
  for (const Point* point : points) {
    const std::vector<std::string> path = path_of(module, *point, annotations);
    paths.insert("[" + joined(path) + "]");
    const bool same = matches(*wanted.path, path, wanted.some);
    any = any || same;
    all = all && same;
    if (!wanted.procedure.empty()) CHECK(module.procedures[point->procedure].name == wanted.procedure);
  }
  INFO("found: " << joined({paths.begin(), paths.end()}));
  CHECK(any);
  if (!wanted.some) CHECK(all);
}

/// Every loop found in the source is one that the source has.
void check_loops(const ModuleStructure& module, const std::filesystem::path& file,
                 const Annotations& annotations) {
  std::set<std::uint32_t> lines;
  for (const auto& [name, line] : annotations.loops) lines.insert(line);
  for (const Scope& scope : module.scopes) {
    if (scope.kind != Scope::Kind::loop || scope.file == kNone) continue;
    if (module.files[scope.file] != file) continue;
    INFO("loop at line " << scope.line);
    CHECK(lines.contains(scope.line));
  }
}

/// Every annotated line of a source file against the program's instructions of that line.
void check_program(const std::string& name, const std::filesystem::path& file) {
  INFO(name);
  const Annotations annotations = read_annotations(file);
  REQUIRE(annotations.lines.size() >= 2);
  const auto addresses = section_addresses(program(name), ".text");
  const ModuleStructure module = recover_all(program(name), addresses);
  CHECK(module.notes.empty());
  const std::set<std::uint64_t> call_sites = calls(program(name));
  std::map<std::uint32_t, std::vector<const Point*>> by_line;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Point& point = module.points[i];
    if (point.file == kNone || module.files[point.file] != file) continue;
    const auto wanted = annotations.lines.find(point.line);
    if (wanted == annotations.lines.end()) continue;
    if (wanted->second.some || call_sites.contains(addresses[i])) by_line[point.line].push_back(&point);
  }
  for (const auto& [number, wanted] : annotations.lines)
    check_line(module, by_line[number], number, wanted, annotations);
  if (annotations.every_loop) check_loops(module, file, annotations);
}

}  // namespace

TEST_CASE("C++ loops and inlined calls are found at every level of optimisation") {
  for (const char* level : {"O0", "O1", "O2", "O3"})
    check_program(std::string("loops-") + level, source("loops.cpp"));
}

TEST_CASE("programs at a fixed address are read as well") {
  check_program("loops-fixed", source("loops.cpp"));
  check_program("loops-fixed-O0", source("loops.cpp"));
}

TEST_CASE(
    "DWARF 4, compressed, split and minimal debug information and split code sections are read as well") {
  check_program("loops-dwarf4", source("loops.cpp"));
  check_program("loops-compressed", source("loops.cpp"));
  check_program("loops-sections", source("loops.cpp"));
  check_program("loops-split", source("loops.cpp"));
  check_program("loops-types", source("loops.cpp"));
#ifdef STRUCTURE_DWZ
  check_program("loops-dwz", source("loops.cpp"));
#endif
  check_program("numeric-few", source("numeric.c"));
}

TEST_CASE("numeric loops keep their scopes when the compiler transforms them") {
  for (const char* level : {"O0", "O1", "O2", "O3"})
    check_program(std::string("numeric-") + level, source("numeric.c"));
}

TEST_CASE("vectorised, unrolled and small code keeps its loops") {
  for (const char* variant : {"v3", "unrolled", "lto", "size"})
    check_program(std::string("numeric-") + variant, source("numeric.c"));
  for (const char* variant : {"lto", "size", "debugging"})
    check_program(std::string("loops-") + variant, source("loops.cpp"));
}

#ifdef STRUCTURE_FORTRAN
TEST_CASE("Fortran module procedures and their loops are found") {
  for (const char* level : {"O0", "O2", "O3"})
    check_program(std::string("module-") + level, source("module.f90"));
}
#endif

#ifdef STRUCTURE_MPI
TEST_CASE("our own programs have the loops of their sources") {
  for (const char* level : {"O2", "O3"}) {
    check_program(std::string("stencil-") + level, app("stencil.cpp"));
    check_program(std::string("sor-") + level, app("sor.c"));
    check_program(std::string("threads-") + level, app("threads.cpp"));
    check_program(std::string("ring-") + level, app("ring.f90"));
  }
  check_program("stencil-wide", app("stencil.cpp"));
}
#endif

#ifdef STRUCTURE_CLANG
TEST_CASE("programs of clang are read as well") {
  for (const char* variant : {"O0", "O2", "O3", "split", "dwarf4"})
    check_program(std::string("clang-loops-") + variant, source("loops.cpp"));
#ifdef STRUCTURE_LLD
  for (const char* variant : {"lto", "thin"})
    check_program(std::string("clang-loops-") + variant, source("loops.cpp"));
#endif
  for (const char* variant : {"O2", "O3", "v4"})
    check_program(std::string("clang-numeric-") + variant, source("numeric.c"));
}
#endif

TEST_CASE("a procedure that only its file knows has one name, inlined and called") {
  const auto addresses = section_addresses(program("both_ways"), ".text");
  const ModuleStructure module = recover_all(program("both_ways"), addresses);
  for (const std::string name : {"weigh(int, double const*)", "halve(double)", "Scale::of(double) const"}) {
    INFO(name);
    const std::string base = name.substr(0, name.find('('));
    std::set<std::string> called, inlined;
    for (const auto& procedure : module.procedures) {
      if (procedure.name.starts_with(base)) called.insert(procedure.name);
    }
    for (const Scope& scope : module.scopes) {
      if (scope.name.starts_with(base)) inlined.insert(scope.name);
    }
    CHECK(called == std::set{name});
    CHECK(inlined == std::set{name});
  }
}

TEST_CASE("what compilers outline, copy and split reads as the user wrote it") {
  const auto file = program("parts");
  const ModuleStructure module = recover_all(file, section_addresses(file, ".text"));
  std::set<std::string> names;
  for (const auto& procedure : module.procedures) names.insert(procedure.name);
  CHECK(names.contains("main"));
  CHECK(names.contains("power(double, int, int)"));
  for (const std::string& name : names) {
    INFO(name);
    for (const char* made_up : {".part", ".constprop", ".isra", ".cold", "_omp_fn", "[clone"})
      CHECK(name.find(made_up) == std::string::npos);
  }
  if (symbol_value(file, "_ZN7physics5FieldIdE5relaxEi._omp_fn.0") != 0)
    CHECK(names.contains("physics::Field<double>::relax(int) [OpenMP region 0]"));
  for (const char* part : {"main.cold", "_Z6rarelyl.cold"}) {
    const std::uint64_t cold = symbol_value(file, part);
    if (cold == 0) continue;
    const ModuleStructure there = recover_all(file, {cold});
    CHECK(there.procedures.at(0).name.find("cold") == std::string::npos);
  }
  // Of all scopes only that which calls itself lies in one of its own name.
  bool inlined = false;
  for (const Scope& scope : module.scopes) {
    if (scope.kind != Scope::Kind::inlined || !scope.name.starts_with("reduce(")) continue;
    inlined = true;
    for (std::uint32_t at = scope.parent; at != kNone; at = module.scopes[at].parent)
      CHECK(module.scopes[at].name != scope.name);
  }
  CHECK(inlined);
}

TEST_CASE(
    "procedures that only their file knows are named alike where symbols name them and where nothing does") {
  const auto local = [](const std::string& name) { return name.find("local_") != std::string::npos; };
  const auto all = [](const char* name) {
    return recover_all(program(name), section_addresses(program(name), ".text"));
  };
  const ModuleStructure called = all("local-called"), inlined = all("local-inlined");
  std::set<std::string> procedures, scopes;
  for (const auto& procedure : called.procedures)
    if (local(procedure.name)) procedures.insert(procedure.name);
  for (const Scope& scope : inlined.scopes)
    if (local(scope.name)) scopes.insert(scope.name);
  CHECK(procedures.contains("local_arrays(double (&) [8], int (*) [4][2], double const*)"));
  CHECK(procedures.contains("within::local_within(int)"));
  CHECK(procedures.size() == 14);
  CHECK(scopes == procedures);
  for (const auto& procedure : inlined.procedures) CHECK_FALSE(local(procedure.name));
  // Where debug information has no types, nothing is made up.
  for (const Scope& scope : all("local-few").scopes) {
    if (local(scope.name)) CHECK(scope.name.find('(') == std::string::npos);
  }
}

}  // namespace program_test
