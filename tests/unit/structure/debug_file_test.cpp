// Debug information that lies in a file of its own.
#include "files/at_death.hpp"
#include "modules.hpp"
#include "structure/module.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace debug_file_test {

using namespace culprit::structure;
namespace fs = std::filesystem;

namespace {

/// A directory of this test, removed with it.
struct Place {
  fs::path path = fs::temp_directory_path() / ("structure-debug-" + std::to_string(::getpid()));
  Place() { fs::create_directories(path); }
  ~Place() { fs::remove_all(path); }
};

Request request_for(const fs::path& file) {
  Request request;
  request.path = file;
  request.addresses = section_addresses(program("loops-O2"), ".text", 7);
  return request;
}

bool has_lines(const ModuleStructure& module) {
  return std::ranges::any_of(module.points, [](const Point& point) { return point.line != 0; });
}

}  // namespace

TEST_CASE("a debug link leads to lines and inlined calls") {
  const ModuleStructure whole = recover(request_for(program("loops-O2")));
  const ModuleStructure linked = recover(request_for(program("loops-linked")));
  CHECK(linked.notes.empty());
  REQUIRE(linked.points.size() == whole.points.size());
  CHECK(linked.files == whole.files);
  for (std::size_t i = 0; i < whole.points.size(); ++i) {
    CHECK(linked.points[i].line == whole.points[i].line);
    CHECK(linked.points[i].scope == whole.points[i].scope);
  }
}

TEST_CASE("missing split debug information is reported") {
  const Place place;
  std::ifstream in(program("loops-split"), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::size_t renamed = 0;
  for (std::size_t at = 0; (at = bytes.find(".dwo", at)) != std::string::npos; ++at, ++renamed)
    bytes[at + 3] = 'x';
  REQUIRE(renamed > 0);
  std::ofstream(place.path / "split", std::ios::binary) << bytes;
  const ModuleStructure module = recover(request_for(place.path / "split"));
  CHECK(has_lines(module));
  REQUIRE(module.notes.size() == 1);
  CHECK(module.notes[0].starts_with("split debug information (.dwo) is missing"));
}

TEST_CASE("a debug file of another build is not used") {
  const Place place;
  fs::copy_file(program("loops-linked"), place.path / "loops-linked");
  fs::copy_file(program("loops-O3"), place.path / "loops.debug");
  const ModuleStructure module = recover(request_for(place.path / "loops-linked"));
  CHECK_FALSE(has_lines(module));
  CHECK_FALSE(module.notes.empty());
}

TEST_CASE("debug files are found by build-id below a given directory") {
  const Place place;
  Request request = request_for(place.path / "loops-linked");
  fs::copy_file(program("loops-linked"), request.path);
  CHECK_FALSE(has_lines(recover(request)));
  std::string why;
  const std::string id = Module::open(request, why)->build_id();
  REQUIRE(id.size() > 8);
  const fs::path directory = place.path / "debug" / ".build-id" / id.substr(0, 2);
  fs::create_directories(directory);
  fs::copy_file(program("loops.debug"), directory / (id.substr(2) + ".debug"));
  request.debug_path = place.path / "debug";
  CHECK(has_lines(recover(request)));
}

TEST_CASE("a FIFO where a debug file might be is not waited for") {
  const Place place;
  fs::copy_file(program("loops-linked"), place.path / "loops-linked");
  for (const char* directory : {".", ".debug"}) {
    INFO(directory);
    fs::create_directories(place.path / directory);
    const fs::path fifo = place.path / directory / "loops.debug";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    CHECK_FALSE(has_lines(recover(request_for(place.path / "loops-linked"))));
    fs::remove(fifo);
  }
}

TEST_CASE("a debug link that leads out of the directory of debug files to a FIFO is not waited for") {
  const Place place;
  std::ifstream in(program("loops-linked"), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string link = "loops.debug", outside = "../lo.debug";
  const std::size_t at = bytes.find(link + '\0');
  REQUIRE(at != std::string::npos);
  bytes.replace(at, link.size(), outside);
  const fs::path directory = place.path / "here" / "and" / "there";
  fs::create_directories(directory);
  fs::create_directories(place.path / "debug");
  std::ofstream(directory / "loops", std::ios::binary) << bytes;
  REQUIRE(::mkfifo((place.path / "lo.debug").c_str(), 0600) == 0);
  Request request = request_for(directory / "loops");
  request.debug_path = place.path / "debug";
  CHECK_FALSE(has_lines(recover(request)));
}

TEST_CASE("a FIFO where a supplementary file might be is not waited for") {
  const Place place;
  std::ifstream in(program("loops-supplemented"), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::string why;
  // Names are said to be there: DW_AT_name with DW_FORM_strp_sup instead of DW_FORM_strp.
  const auto module = Module::open(request_for(program("loops-supplemented")), why);
  REQUIRE(module != nullptr);
  const auto abbreviations = module->section(".debug_abbrev").bytes;
  const std::size_t begin =
      bytes.find({reinterpret_cast<const char*>(abbreviations.data()), abbreviations.size()});
  REQUIRE(begin != std::string::npos);
  std::size_t changed = 0;
  for (std::size_t at = begin; at < begin + abbreviations.size(); ++at) {
    if (bytes[at] != 0x03 || bytes[at + 1] != 0x0e) continue;
    bytes[at + 1] = 0x1d;
    ++changed;
  }
  REQUIRE(changed > 0);
  std::ofstream(place.path / "loops", std::ios::binary) << bytes;
  REQUIRE(::mkfifo((place.path / "loops.sup").c_str(), 0600) == 0);
  CHECK(has_lines(recover(request_for(place.path / "loops"))));
}

TEST_CASE("a FIFO where split debug information might be is not waited for") {
  const Place place;
  std::ifstream in(program("loops-split"), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string there = ".dwo", instead = ".fif";
  std::string name;
  for (std::size_t at = 0; (at = bytes.find(there, at)) != std::string::npos; ++at) {
    bytes.replace(at, there.size(), instead);
    const std::size_t begin = bytes.rfind('\0', at) + 1;
    name = bytes.substr(begin, at + instead.size() - begin);
  }
  REQUIRE_FALSE(name.empty());
  std::ofstream(place.path / "split", std::ios::binary) << bytes;
  REQUIRE(::mkfifo((place.path / fs::path(name).filename()).c_str(), 0600) == 0);
  const ModuleStructure module = recover(request_for(place.path / "split"));
  CHECK(has_lines(module));
  REQUIRE(module.notes.size() == 1);
  CHECK(module.notes[0].starts_with("split debug information (.dwo) is missing"));
}

TEST_CASE("a module that is truncated while it is read is one that cannot be read") {
  const Place place;
  const fs::path file = place.path / "loops";
  fs::copy_file(program("loops-O2"), file);
  // In a process of its own, since the handler of faults is for the whole process.
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    culprit::files::put_right_at_death("test");
    const culprit::files::LostPages lost;
    std::string why;
    const auto module = Module::open(request_for(file), why);
    fs::resize_file(file, 0);
    std::uint64_t bias = 0;
    (void)module->dwarf(bias);
    for (const char* section : {".text", ".debug_info", ".debug_str", ".symtab"})
      for (const std::byte byte : module->section(section).bytes) bias += static_cast<std::uint64_t>(byte);
    ::_exit(lost.count() > 0 && module->changed() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

#ifdef STRUCTURE_XZ
TEST_CASE("symbols that a stripped library keeps compressed are used") {
  const std::uint64_t hidden = symbol_value(program("libgaps.so"), "hidden");
  const ModuleStructure module = recover_all(program("libgaps-mini.so"), {hidden + 4});
  CHECK(module.procedures.at(0).name == "hidden");
  CHECK(module.procedures.at(0).source == NameSource::symbol);
}
#endif

TEST_CASE("what uncompressed would fill memory is passed over, and noted") {
  if (!fs::exists(program("zeros.xz"))) return;  // no xz
  const auto check = [](const Request& request, const std::string& note) {
    INFO(request.path);
    const ModuleStructure module = recover(request);
    CHECK_FALSE(has_lines(module));
    CHECK(std::ranges::any_of(module.notes, [&](const std::string& said) {
      return said.find("not read") != std::string::npos && said.find(note) != std::string::npos;
    }));
    return module;
  };
  const ModuleStructure swollen = check(request_for(program("loops-swollen")), ".debug_");
  // Its symbols are not compressed.
  CHECK(std::ranges::any_of(
      swollen.procedures, [](const Procedure& procedure) { return procedure.source == NameSource::symbol; }));
  check(request_for(program("loops-linked-swollen")), "swollen.debug");
  for (const char* name : {"libgaps-swollen.so", "libgaps-nested.so"}) {
    Request request;
    request.path = program(name);
    request.addresses = section_addresses(program("libgaps.so"), ".text", 7);
    check(request, ".gnu_debugdata");
  }
}

}  // namespace debug_file_test
