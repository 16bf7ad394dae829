// Whatever a path leads to, the answer is complete and nothing is thrown.
#include "damaged_file.hpp"
#include "modules.hpp"
#include "structure/tail_calls.hpp"
#include "structure_validity.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace bad_input_test {

using namespace culprit::structure;
namespace fs = std::filesystem;

namespace {

struct Scratch {
  fs::path path = fs::temp_directory_path() / ("structure-bad-" + std::to_string(::getpid()));
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
};

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void check_consistent(const ModuleStructure& module, std::size_t points) {
  REQUIRE(validity::invalid(module, points).empty());
}

void check_unknown(const fs::path& path, const std::string& why) {
  INFO(path);
  const ModuleStructure module = recover_all(path, {0x1000, 0x2000});
  check_consistent(module, 2);
  REQUIRE(module.notes.size() == 1);
  CHECK(module.notes[0].find(why) != std::string::npos);
  REQUIRE(module.procedures.size() == 1);
  CHECK(module.procedures[0].source == NameSource::none);
  CHECK(module.procedures[0].name == "<unknown in " + path.filename().string() + ">");
}

/// Asks whom the code at the addresses calls and jumps to.
void ask_for_tail_calls(const fs::path& path, const std::vector<std::uint64_t>& addresses) {
  Request request;
  request.path = path;
  try {
    TailCalls code(request);
    for (const std::uint64_t address : addresses) {
      code.of(address);
      for (const TailCall& jump : code.of(code.called_before(address))) code.exported(jump.name);
    }
  } catch (const std::exception&) {  // as it may
  }
}

/// A damaged copy: cut, overwritten in one place, or with bits turned over.
std::string damaged(std::string bytes, std::mt19937& random) {
  const auto any = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  switch (any(3)) {
    case 0:
      bytes.resize(any(bytes.size()));
      break;
    case 1: {
      const std::size_t start = any(bytes.size());
      const char fill = any(2) == 0 ? '\xff' : '\0';
      for (std::size_t i = start; i < std::min(bytes.size(), start + 16); ++i) bytes[i] = fill;
      break;
    }
    default:
      for (std::size_t i = 0, flips = 1 + any(40); i < flips; ++i)
        bytes[any(bytes.size())] ^= static_cast<char>(1U << any(8));
  }
  return bytes;
}

}  // namespace

TEST_CASE("what is no module is named and noted") {
  const Scratch scratch;
  check_unknown(scratch.path / "missing", "No such file");
  check_unknown(scratch.path, "not a regular file");
  write(scratch.path / "empty", "");
  check_unknown(scratch.path / "empty", "not an ELF file");
  write(scratch.path / "text", "#!/bin/sh\necho hello\n");
  check_unknown(scratch.path / "text", "not an ELF file");
  check_unknown(program("sink.o"), "neither an executable nor a shared object");
  REQUIRE(::mkfifo((scratch.path / "fifo").c_str(), 0600) == 0);
  check_unknown(scratch.path / "fifo", "not a regular file");
}

TEST_CASE("a module that changed since it was measured is not read") {
  Request request;
  request.path = program("loops-O2");
  request.build_id = "0123456789abcdef";
  request.addresses = section_addresses(program("loops-O2"), ".text", 64);
  const ModuleStructure module = recover(request);
  check_consistent(module, request.addresses.size());
  REQUIRE(module.notes.size() == 1);
  CHECK(module.notes[0].find("build-id differs") != std::string::npos);
  CHECK(module.procedures.size() == 1);
}

TEST_CASE("addresses outside the module belong to an unknown procedure") {
  const ModuleStructure module =
      recover_all(program("loops-O2"), {0, 1, 0x7fffffffffff, 0xfffffffffffffffe, 0xffffffffffffffff});
  check_consistent(module, 5);
  CHECK(module.procedures.size() == 1);
  CHECK(module.procedures[0].source == NameSource::none);
}

TEST_CASE("no addresses give no points") {
  check_consistent(recover_all(program("loops-O2"), {}), 0);
  check_consistent(recover_all("/nonexistent", {}), 0);
}

TEST_CASE("damaged modules are survived") {
  const Scratch scratch;
  const fs::path victim = scratch.path / "victim";
  for (const char* name : {"loops-O2", "libgaps-stripped.so", "loops-compressed"}) {
    const std::string whole = read(program(name));
    const auto addresses = section_addresses(program(name), ".text", 5);
    std::mt19937 random(20);
    for (int round = 0; round < 120; ++round) {
      write(victim, damaged(whole, random));
      check_consistent(recover_all(victim, addresses), addresses.size());
      ask_for_tail_calls(victim, addresses);
    }
  }
}

TEST_CASE("a module whose table of sections was cut off is noted") {
  const Scratch scratch;
  const auto addresses = section_addresses(program("loops-O2"), ".text", 5);
  const std::string whole = read(program("loops-O2"));
  const fs::path victim = scratch.path / "victim";
  const auto notes = [&](std::size_t size) {
    write(victim, whole.substr(0, size));
    return recover_all(victim, addresses).notes;
  };
  const std::string note = "cannot be read to its end: the file was cut short";
  CHECK(std::ranges::count(notes(whole.size()), note) == 0);
  CHECK(std::ranges::count(notes(whole.size() - 1), note) == 1);
  CHECK(std::ranges::count(notes(whole.size() / 2), note) == 1);
}

TEST_CASE("a module that is cut or flipped at any byte is survived") {
  const Scratch scratch;
  const auto addresses = section_addresses(program("libgaps-stripped.so"), ".text", 5);
  const std::string whole = read(program("libgaps-stripped.so"));
  damage::File file(scratch.path / "victim", {whole.begin(), whole.end()});
  const auto look = [&](std::size_t at) {
    INFO("at " << at);
    check_consistent(recover_all(file.path(), addresses), addresses.size());
  };
  damage::flip_each(file, look);
  damage::cut_each(file, look);
}

// Its checksum is compared only where the module has no build-id: what is damaged may give other lines.
TEST_CASE("a debug file that is cut or flipped at any 61st byte is survived") {
  constexpr std::size_t kStride = 61;
  const Scratch scratch;
  fs::copy_file(program("loops-linked"), scratch.path / "loops-linked");
  const auto addresses = section_addresses(program("loops-O2"), ".text", 5);
  const std::string whole = read(program("loops.debug"));
  damage::File file(scratch.path / "loops.debug", {whole.begin(), whole.end()});
  const auto look = [&](std::size_t at) {
    INFO("at " << at);
    check_consistent(recover_all(scratch.path / "loops-linked", addresses), addresses.size());
  };
  for (std::size_t at = 0; at < file.size(); at += kStride) file.flip(at, [&] { look(at); });
  for (std::size_t size = file.size() / kStride * kStride; size > 0; size -= kStride) {
    file.cut(size);
    look(size);
  }
}

}  // namespace bad_input_test
