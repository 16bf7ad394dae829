// What remains without debug information: symbols, call-frame bounds, loops.
#include "modules.hpp"

#include <cstdlib>

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace stripped_test {

using namespace culprit::structure;

namespace {

std::size_t loop_depth(const ModuleStructure& module, const Point& point) {
  std::size_t depth = 0;
  for (std::uint32_t at = point.scope; at != kNone; at = module.scopes[at].parent)
    if (module.scopes[at].kind == Scope::Kind::loop) ++depth;
  return depth;
}

Procedure procedure_at(const std::filesystem::path& file, std::uint64_t address) {
  const ModuleStructure module = recover_all(file, {address});
  return module.procedures.at(module.points.at(0).procedure);
}

}  // namespace

TEST_CASE("internal functions of a stripped library are not taken for the exported one before them") {
  const auto whole = program("libgaps.so"), stripped = program("libgaps-stripped.so");
  const std::uint64_t hidden = symbol_value(whole, "hidden");
  REQUIRE(hidden != 0);
  CHECK(procedure_at(whole, hidden + 4).name == "hidden");
  const Procedure found = procedure_at(stripped, hidden + 4);
  CHECK(found.source == NameSource::eh_frame);
  CHECK(found.low == hidden);
  CHECK(found.name.starts_with("libgaps-stripped.so@0x"));
  CHECK(procedure_at(stripped, symbol_value(whole, "first") + 1).name == "first");
  CHECK(procedure_at(stripped, symbol_value(whole, "second") + 1).name == "second");
  CHECK(procedure_at(stripped, symbol_value(whole, "chosen") + 1).name == "chosen");
}

TEST_CASE("Python's extensions are named without what they were built for") {
  const auto directory = std::filesystem::temp_directory_path() / ("culprit-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const auto extension = directory / "gaps.cpython-311-x86_64-linux-gnu.so";
  std::filesystem::copy_file(program("libgaps-stripped.so"), extension);
  CHECK(procedure_at(extension, symbol_value(program("libgaps.so"), "hidden") + 4)
            .name.starts_with("gaps.so@0x"));
  std::filesystem::remove_all(directory);
}

TEST_CASE("of several names the one for the user is chosen") {
  CHECK(procedure_at(program("libgaps.so"), symbol_value(program("libgaps.so"), "PMPI_Twice") + 1).name ==
        "MPI_Twice");
}

TEST_CASE("code behind linkage stubs does not bear the name of who jumps to one") {
  const auto stripped = program("libgaps-stripped.so");
  for (const char* section : {".plt", ".text"}) {
    for (const std::uint64_t address : section_addresses(stripped, section)) {
      if (address >= symbol_value(stripped, "first")) break;
      const std::string name = procedure_at(stripped, address).name;
      INFO(std::hex << address);
      CHECK(name != "says");  // which only jumps to puts@plt
      CHECK(name != "relays");
    }
  }
}

TEST_CASE("what a function only jumps to bears its name where nothing else names it") {
  const auto whole = program("libgaps.so"), stripped = program("libgaps-stripped.so");
  const std::uint64_t behind = symbol_value(whole, "behind");
  REQUIRE(behind != 0);
  CHECK(procedure_at(whole, behind + 4).name == "behind");
  CHECK(procedure_at(stripped, behind + 4).name == "forwards");
  CHECK(procedure_at(stripped, behind + 4).low == behind);
  CHECK(procedure_at(stripped, symbol_value(whole, "forwards")).low == symbol_value(whole, "forwards"));
}

TEST_CASE("what several functions jump to bears the name of none") {
  const auto whole = program("libgaps.so"), stripped = program("libgaps-stripped.so");
  for (const char* shared : {"operate", "scale"}) {
    const std::uint64_t address = symbol_value(whole, shared);
    REQUIRE(address != 0);
    CHECK(procedure_at(whole, address + 4).name == shared);
    CHECK(procedure_at(stripped, address + 4).name.starts_with("libgaps-stripped.so@0x"));
    CHECK(procedure_at(stripped, address + 4).low == address);
  }
}

TEST_CASE("what one function alone leaves its frame to is a part of that") {
  const auto whole = program("libgaps.so"), stripped = program("libgaps-stripped.so");
  const std::uint64_t rest = symbol_value(whole, "rest"), shared = symbol_value(whole, "shared");
  REQUIRE(rest != 0);
  REQUIRE(shared != 0);
  CHECK(procedure_at(whole, rest + 4).name == "rest");
  CHECK(procedure_at(stripped, rest + 4).name == "decides [part]");
  CHECK(procedure_at(stripped, rest + 4).low == rest);
  CHECK(procedure_at(stripped, shared + 4).name.starts_with("libgaps-stripped.so@0x"));
  for (const char* part : {"middle", "end"})
    CHECK(procedure_at(stripped, symbol_value(whole, part) + 4).name == "begins [part]");
}

TEST_CASE("a call of another module's function tells its name") {
  const auto whole = program("libgaps.so"), stripped = program("libgaps-stripped.so");
  const std::uint64_t second = symbol_value(whole, "second");
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t address = second; address < second + 64; ++address) addresses.push_back(address);
  const ModuleStructure module = recover_all(stripped, addresses);
  std::vector<std::string> called;
  for (const Point& point : module.points)
    if (point.callee != kNone) called.push_back(module.callees[point.callee]);
  CHECK(called == std::vector<std::string>{"printf"});
}

TEST_CASE("linkage stubs bear the name of what they call") {
  for (const char* section : {".plt", ".plt.sec", ".plt.got"}) {
    const auto addresses = section_addresses(program("libgaps-stripped.so"), section);
    const ModuleStructure module = recover_all(program("libgaps-stripped.so"), addresses);
    for (const Point& point : module.points) CHECK(module.procedures[point.procedure].name.ends_with("@plt"));
  }
  std::vector<std::uint64_t> addresses = section_addresses(program("libgaps-stripped.so"), ".plt");
  const ModuleStructure module = recover_all(program("libgaps-stripped.so"), addresses);
  CHECK(std::ranges::any_of(module.procedures, [](const Procedure& p) { return p.name == "printf@plt"; }));
}

TEST_CASE("a stripped program still has its main") {
  const std::uint64_t main = symbol_value(program("loops-O2"), "main");
  REQUIRE(main != 0);
  CHECK(procedure_at(program("loops-stripped"), main + 1).name == "main");
  CHECK(procedure_at(program("loops-stripped"), main + 1).low == main);
}

TEST_CASE("a stripped program has the same functions and loops") {
  const auto addresses = section_addresses(program("loops-O2"), ".text", 3);
  const ModuleStructure whole = recover_all(program("loops-O2"), addresses);
  const ModuleStructure stripped = recover_all(program("loops-stripped"), addresses);
  REQUIRE(stripped.notes.size() == 1);
  CHECK(stripped.notes[0].find("no debug information") != std::string::npos);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Procedure& a = whole.procedures[whole.points[i].procedure];
    const Procedure& b = stripped.procedures[stripped.points[i].procedure];
    if (a.source != NameSource::debug_info || a.low != b.low) continue;
    if (symbol_value(program("loops-O2"), a.linkage + ".cold") != 0)
      continue;  // a part that nothing names any more
    ++compared;
    INFO(std::hex << addresses[i] << ' ' << a.name);
    if (b.name != "main") CHECK(b.source == NameSource::eh_frame);  // which the start code names
    CHECK(loop_depth(whole, whole.points[i]) == loop_depth(stripped, stripped.points[i]));
  }
  CHECK(compared > addresses.size() / 2);
}

TEST_CASE("loops without lines are distinguished by address") {
  const auto addresses = section_addresses(program("loops-stripped"), ".text", 3);
  const ModuleStructure module = recover_all(program("loops-stripped"), addresses);
  std::size_t loops = 0;
  for (const Scope& scope : module.scopes) {
    CHECK(scope.kind == Scope::Kind::loop);
    CHECK(scope.line == 0);
    CHECK(scope.address != 0);
    ++loops;
  }
  CHECK(loops > 15);
}

TEST_CASE("the C library's functions bear their public names") {
  Dl_info info;
  REQUIRE(::dladdr(reinterpret_cast<const void*>(&std::malloc), &info) != 0);
  const auto base = reinterpret_cast<std::uint64_t>(info.dli_fbase);
  if (std::string(info.dli_fname).find("libc.so") == std::string::npos) return;  // a sanitizer's own
  const auto address = reinterpret_cast<std::uint64_t>(info.dli_saddr) - base;
  CHECK(procedure_at(info.dli_fname, address).name == "malloc");
  Request request;
  request.path = info.dli_fname;
  request.addresses = {address};
  request.debug_info = false;
  const ModuleStructure module = recover(request);
  CHECK(module.procedures.at(0).name == "malloc");
  CHECK(module.procedures.at(0).source == NameSource::symbol);
}

TEST_CASE("the vdso is read from this process") {
  if (getauxval(AT_SYSINFO_EHDR) == 0) {
    WARN("not checked: this kernel, or an emulator, gives processes no vdso");
    return;
  }
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t at = 0x200; at < 0x1000; at += 16) addresses.push_back(at);
  const ModuleStructure module = recover_all("[vdso]", addresses);
  CHECK(std::ranges::any_of(module.procedures, [](const Procedure& p) {
    return p.name.find("clock_gettime") != std::string::npos;
  }));
}

}  // namespace stripped_test
