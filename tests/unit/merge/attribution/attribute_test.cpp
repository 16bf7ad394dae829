#include "merge/attribution/attribute.hpp"

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

namespace attribute_test {

using namespace culprit;
using database::ContextKind;
using merge::Attribution;
using merge::IdleRules;
using merge::RecoveredStructure;

namespace {

/// A module that is made up: procedure p holds the addresses [100 p, 100 p + 100); an address a lies at line
/// a.
class Code {
 public:
  Code() {
    shared.modules.add({.path = "/app", .build_id = ""});
    shared.modules.add({.path = "/lib/library.so", .build_id = ""});
  }

  std::uint32_t procedure(const std::string& name) {
    structure::Procedure procedure;
    procedure.name = name;
    procedure.file = 0;
    procedure.source = structure::NameSource::symbol;
    procedure.low = 100 * procedures.size();
    procedures.push_back(procedure);
    return static_cast<std::uint32_t>(procedures.size() - 1);
  }
  std::uint32_t scope(structure::Scope scope) {
    scopes.push_back(std::move(scope));
    return static_cast<std::uint32_t>(scopes.size() - 1);
  }
  /// Where `offset` lies; unless given, at line `offset` directly in the procedure of its hundred.
  void point(std::uint64_t offset, std::uint32_t line, std::uint32_t in_scope = structure::kNone) {
    lines[offset] = {
        .procedure = static_cast<std::uint32_t>(offset / 100), .scope = in_scope, .file = 0, .line = line};
  }
  cct::NodeId add(cct::NodeId parent, std::uint64_t offset, cct::FrameKind kind = cct::FrameKind::call) {
    const bool root = kind != cct::FrameKind::call && kind != cct::FrameKind::sample;
    if (!root && !lines.contains(offset)) point(offset, static_cast<std::uint32_t>(offset));
    return shared.tree.child(parent, {.offset = offset, .module = root ? cct::kNoModule : 0, .kind = kind});
  }
  /// A frame in the library, all of whose procedures hold 100 addresses, too.
  cct::NodeId in_library(cct::NodeId parent, std::uint64_t offset,
                         cct::FrameKind kind = cct::FrameKind::call) {
    library_points[offset] = {.procedure = static_cast<std::uint32_t>(offset / 100)};
    return shared.tree.child(parent, {.offset = offset, .module = 1, .kind = kind});
  }
  void library_procedure(const std::string& name, structure::NameSource source) {
    structure::Procedure procedure;
    procedure.name = name;
    procedure.source = source;
    procedure.low = 100 * library.size();
    library.push_back(procedure);
  }
  cct::NodeId root() { return add(0, 0, cct::FrameKind::program_root); }
  cct::NodeId sample(cct::NodeId parent, std::uint64_t offset) {
    return add(parent, offset, cct::FrameKind::sample);
  }

  [[nodiscard]] Attribution attribute() const {
    RecoveredStructure::Module module;
    module.structure.files = {"/src/app.c"};
    module.structure.procedures = procedures;
    module.structure.scopes = scopes;
    for (const auto& [offset, point] : lines) {
      module.addresses.push_back(offset);
      module.structure.points.push_back(point);
    }
    RecoveredStructure::Module other;
    other.structure.procedures = library;
    for (const auto& [offset, point] : library_points) {
      other.addresses.push_back(offset);
      other.structure.points.push_back(point);
    }
    module.structure.callees = callees;
    RecoveredStructure structure({module, other});
    structure.set_jumps(jumps);
    return merge::attribute(shared, structure, IdleRules::built_in(), {{"/src", "/moved"}});
  }

  cct::SharedTree shared;
  std::vector<structure::Procedure> procedures;
  std::vector<structure::Scope> scopes;
  std::map<std::uint64_t, structure::Point> lines;
  std::vector<std::string> callees;
  std::vector<structure::Procedure> library;
  std::map<std::uint64_t, structure::Point> library_points;
  RecoveredStructure::Jumps jumps;
};

/// The contexts as indented lines: "procedure main", "call 3", …
std::vector<std::string> outline(const Attribution& a) {
  static const char* const kinds[] = {"root",      "thread_root", "partial", "module", "file",
                                      "procedure", "inlined",     "loop",    "call",   "statement"};
  std::vector<std::string> lines;
  for (const database::Context& context : a.contexts) {
    std::size_t depth = 0;
    for (auto p = context.parent; p != database::kNone; p = a.contexts[p].parent) ++depth;
    std::string line(depth, ' ');
    line += kinds[static_cast<int>(context.kind)];
    if (context.name != 0) line += " " + a.strings[context.name];
    if (context.line != 0) line += " " + std::to_string(context.line);
    lines.push_back(line);
  }
  return lines;
}

using Outline = std::vector<std::string>;

}  // namespace

TEST_CASE("procedures, loops, inlined procedures, calls and statements nest") {
  Code code;
  code.procedure("main");
  code.procedure("solve");
  const auto loop = code.scope({.kind = structure::Scope::Kind::loop, .name = "", .file = 0, .line = 20});
  const auto inlined = code.scope({.kind = structure::Scope::Kind::inlined,
                                   .parent = loop,
                                   .name = "dot",
                                   .file = 0,
                                   .line = 5,
                                   .call_file = 0,
                                   .call_line = 21});
  code.point(110, 6, inlined);
  code.point(111, 6, inlined);
  code.point(120, 22, loop);
  const auto call = code.add(code.root(), 10);
  const auto first = code.sample(call, 110);
  const auto second = code.sample(call, 111);
  code.sample(call, 120);
  const Attribution a = code.attribute();
  CHECK(outline(a) == Outline{"root", " root <program root>", "  procedure main", "   call 10",
                              "    procedure solve", "     loop 20", "      inlined dot 21",
                              "       statement 6", "      statement 22"});
  CHECK(a.own[first] == a.own[second]);
  CHECK(a.contexts[a.own[first]].line == 6);
  CHECK(a.own[call] == 3);
  CHECK(a.strings[a.contexts[2].file] == "/moved/app.c");
  CHECK(a.strings[a.contexts[7].module] == "/app");
  for (database::ContextId x = 0; x < a.contexts.size(); ++x) CHECK(a.contexts[x].end > x);
  CHECK(a.contexts[0].end == a.contexts.size());
  CHECK(a.contexts[6].end == 8);
}

TEST_CASE("a loop without a line is named by its address in its module") {
  Code code;
  code.procedure("main");
  const auto loop = code.scope({.kind = structure::Scope::Kind::loop, .name = "", .address = 0x1a40});
  code.point(110, 0, loop);
  code.sample(code.root(), 110);
  const std::vector<std::string> lines = outline(code.attribute());
  CHECK(std::ranges::any_of(lines, [](const std::string& line) {
    return line.find("loop ") != std::string::npos && line.ends_with("@0x1a40");
  }));
}

TEST_CASE("a Python function has the interpreter's time, and its calls are at lines of its source") {
  Code code;
  code.procedure("main");
  code.procedure("_PyEval_EvalFrameDefault");
  code.procedure("array_sum");
  const auto function = code.shared.modules.add({.path = "4\tSolver.step\t/src/heat.py", .build_id = ""});
  const auto caller = code.shared.modules.add({.path = "9\tmain\t/src/heat.py", .build_id = ""});
  const auto python = [&](cct::NodeId parent, cct::ModuleId module, std::uint64_t line) {
    return code.shared.tree.child(parent, {.offset = line, .module = module, .kind = cct::FrameKind::region});
  };
  const auto call = code.add(code.root(), 10);
  const auto step = python(python(call, caller, 12), function, 6);
  const auto interpreting = code.sample(step, 110);
  const auto summing = code.sample(code.add(python(python(call, caller, 12), function, 7), 150), 220);
  const Attribution a = code.attribute();
  CHECK(outline(a) == Outline{"root", " root <program root>", "  procedure main", "   call 10",
                              "    procedure main 9", "     call 12", "      procedure Solver.step 4",
                              "       call 7", "        procedure array_sum", "         statement 220",
                              "       statement 6"});
  CHECK(a.contexts[a.own[interpreting]].line == 6);
  CHECK(a.contexts[a.own[summing]].line == 220);
  CHECK(a.strings[a.contexts[6].file] == "/moved/heat.py");
  CHECK(a.strings[a.contexts[6].module] == "<python>");
}

TEST_CASE("a region whose name looks like a Python function's is a region") {
  Code code;
  code.procedure("main");
  const auto name = code.shared.modules.add({.path = "4\tSolver.step\t/src/heat.py", .build_id = ""});
  const auto region = code.shared.tree.child(code.add(code.root(), 10),
                                             {.offset = 0, .module = name, .kind = cct::FrameKind::region});
  const Attribution a = code.attribute();
  CHECK(a.contexts[a.own[region]].kind == ContextKind::region);
}

TEST_CASE("calls of one line merge, their callees do not") {
  Code code;
  code.procedure("main");
  code.procedure("f");
  code.procedure("g");
  code.point(10, 7);
  code.point(14, 7);
  const auto root = code.root();
  code.sample(code.add(root, 14), 210);
  code.sample(code.add(root, 10), 110);
  CHECK(outline(code.attribute()) == Outline{"root", " root <program root>", "  procedure main", "   call 7",
                                             "    procedure f", "     statement 110", "    procedure g",
                                             "     statement 210"});
}

TEST_CASE("the order of insertion does not show") {
  const auto build = [](bool reverse) {
    Code code;
    for (const char* name : {"main", "b", "a"}) code.procedure(name);
    const auto call = code.add(code.root(), 10);
    std::vector<std::uint64_t> offsets = {110, 120, 210, 220};
    if (reverse) std::ranges::reverse(offsets);
    for (const auto offset : offsets) code.sample(call, offset);
    return outline(code.attribute());
  };
  CHECK(build(false) == build(true));
  CHECK(build(false)[4] == "    procedure a");
}

TEST_CASE("all bindings of an MPI call fold into one frame") {
  Code code;
  for (const char* name : {"main", "mpi_allreduce_f08_", "ompi_glue", "PMPI_Allreduce", "PMPI_Barrier"}) {
    code.procedure(name);
  }
  const auto fortran = code.add(code.add(code.root(), 10), 110);
  const auto glue = code.add(fortran, 210);
  const auto c = code.add(glue, 310);
  code.sample(glue, 320);
  code.sample(c, 420);
  const Attribution a = code.attribute();
  CHECK(outline(a) == Outline{"root", " root <program root>", "  procedure main", "   call 10",
                              "    procedure MPI_Allreduce", "     call 310", "      procedure MPI_Barrier",
                              "       statement 420", "     statement 320"});
  // Frames between that lead nowhere else vanish; what was charged to them stays in the folded frame.
  CHECK(a.contexts[a.own[fortran]].kind == ContextKind::procedure);
  CHECK(a.own[glue] == a.own[fortran]);
}

TEST_CASE("a function that is called by name and leaves its frame by a jump stands where it was") {
  Code code;
  code.procedure("main");
  code.callees = {"GOMP_critical_start"};
  code.library_procedure("library.so@0x0", structure::NameSource::eh_frame);
  code.library_procedure("GOMP_barrier", structure::NameSource::symbol);
  const auto root = code.root();
  const auto call = code.add(root, 10);
  code.lines[10].callee = 0;
  code.in_library(call, 20, cct::FrameKind::sample);
  // A function with a name is what was called, under another name.
  code.in_library(call, 120, cct::FrameKind::sample);
  // What is called through a pointer has no name.
  code.in_library(code.add(root, 12), 20, cct::FrameKind::sample);
  const Attribution a = code.attribute();
  CHECK(outline(a) == Outline{"root", " root <program root>", "  procedure main", "   call 10",
                              "    procedure GOMP_barrier", "     statement",
                              "    procedure GOMP_critical_start", "     call",
                              "      procedure library.so@0x0", "       statement", "   call 12",
                              "    procedure library.so@0x0", "     statement"});
  CHECK(a.strings[a.contexts[6].module] == "/lib/library.so");
}

TEST_CASE(
    "functions that left their frames by tail calls stand where they were, at the lines of their jumps") {
  Code code;
  for (const char* name : {"main", "pause", "smooth", "relax"}) code.procedure(name);
  const auto root = code.root();
  const auto first = code.add(root, 10), second = code.add(root, 20);
  const auto waits = code.sample(first, 110);
  code.sample(code.add(second, 120), 130);
  code.sample(first, 210);  // before its jump
  code.sample(code.add(root, 30), 110);
  code.point(220, 220);
  code.point(320, 320);
  code.jumps[{{0, 10}, {0, 100}}] = {{0, 220}};
  code.jumps[{{0, 20}, {0, 100}}] = {{0, 320}, {0, 220}};
  const Attribution a = code.attribute();
  CHECK(outline(a) == Outline{"root",
                              " root <program root>",
                              "  procedure main",
                              "   call 10",
                              "    procedure smooth",
                              "     call 220",
                              "      procedure pause",
                              "       statement 110",
                              "     statement 210",
                              "   call 20",
                              "    procedure relax",
                              "     call 320",
                              "      procedure smooth",
                              "       call 220",
                              "        procedure pause",
                              "         call 120",
                              "          procedure pause",
                              "           statement 130",
                              "   call 30",
                              "    procedure pause",
                              "     statement 110"});
  CHECK(a.contexts[a.own[waits]].line == 110);
}

TEST_CASE("the address of a function that stands in for a frame is one with the function's own frame") {
  Code code;
  code.procedure("main");
  code.library_procedure("pthread_cond_wait", structure::NameSource::symbol);
  code.library_procedure("futex_wait", structure::NameSource::symbol);
  const auto stand_in = code.in_library(code.add(code.root(), 10), 0);
  const auto own = code.in_library(stand_in, 30);
  code.in_library(own, 130, cct::FrameKind::sample);
  // Where it left by a jump, its own frame is not there.
  code.in_library(stand_in, 140, cct::FrameKind::sample);
  // It may call itself.
  code.in_library(own, 40, cct::FrameKind::sample);
  CHECK(outline(code.attribute()) == Outline{"root", " root <program root>", "  procedure main", "   call 10",
                                             "    procedure pthread_cond_wait", "     call",
                                             "      procedure futex_wait", "       statement",
                                             "      procedure pthread_cond_wait", "       statement"});
}

TEST_CASE("code in no module is one procedure") {
  Code code;
  code.procedure("main");
  const auto call = code.add(code.root(), 10);
  for (const std::uint64_t address : {0x7f0000001000U, 0x7f0000002000U}) {
    code.shared.tree.child(call,
                           {.offset = address, .module = cct::kNoModule, .kind = cct::FrameKind::sample});
  }
  const Attribution a = code.attribute();
  CHECK(outline(a) == Outline{"root", " root <program root>", "  procedure main", "   call 10",
                              "    procedure <unknown code>", "     statement"});
  CHECK(a.unresolved == std::vector<std::uint8_t>{0, 0, 0, 0, 1, 0});
}

TEST_CASE("the flat tree holds every scope once, whatever its callers") {
  Code code;
  for (const char* name : {"main", "f", "g"}) code.procedure(name);
  const auto loop = code.scope({.kind = structure::Scope::Kind::loop, .name = "", .file = 0, .line = 101});
  code.point(110, 102, loop);
  const auto root = code.root();
  const auto in_f = code.add(root, 10);
  code.sample(in_f, 110);
  code.sample(code.add(code.add(root, 20), 210), 110);
  const Attribution a = code.attribute();
  std::vector<std::string> names;
  for (const database::FlatScope& scope : a.flat) {
    names.push_back(a.strings[scope.name] + ":" + std::to_string(scope.line));
  }
  // Calls are no scopes of the flat tree.
  CHECK(names == Outline{":0", "/app:0", "/moved/app.c:0", "f:0", ":101", ":102", "g:0", "main:0"});
  for (const database::Context& context : a.contexts) {
    if (context.flat == database::kNone) continue;
    CHECK(a.flat[context.flat].kind == context.kind);
    CHECK(a.flat[context.flat].line == context.line);
    CHECK(a.flat[context.flat].name == context.name);
  }
}

TEST_CASE("a gap is a procedure in no module, with what its frames called below it") {
  Code code;
  for (const char* name : {"main", "descend"}) code.procedure(name);
  const auto outer = code.add(code.add(code.root(), 10), 110);
  const auto gap = code.shared.tree.child(outer, cct::kGap);
  code.sample(code.add(gap, 110), 120);
  const Attribution a = code.attribute();
  CHECK(outline(a) == Outline{"root", " root <program root>", "  procedure main", "   call 10",
                              "    procedure descend", "     call 110",
                              std::string("      procedure ") + merge::kLeftOut, "       procedure descend",
                              "        call 110", "         procedure descend", "          statement 120"});
  CHECK(a.contexts[a.own[gap]].module == 0);
}

}  // namespace attribute_test
