// What the structure cache says is what would be recovered without it, whatever happens to its files.
#include "structure/cache.hpp"

#include "modules.hpp"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include <catch2/catch.hpp>
#include <rapidcheck.h>
#include <unistd.h>

namespace cache_test {

using namespace culprit::structure;
namespace fs = std::filesystem;

namespace {

/// A directory of this test, removed with it.
struct Scratch {
  fs::path path = fs::temp_directory_path() / ("structure-cache-" + std::to_string(::getpid()));
  Scratch() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Scratch() { fs::remove_all(path); }
  [[nodiscard]] fs::path cache() const { return path / "cache"; }
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// The entries in a cache: those of its files that are not hidden.
std::vector<fs::path> entries(const fs::path& cache) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& file : fs::directory_iterator(cache, none))
    if (!file.path().filename().string().starts_with('.')) found.push_back(file.path());
  return found;
}

ModuleStructure recover_with(const fs::path& cache, const fs::path& file,
                             const std::vector<std::uint64_t>& addresses) {
  Request request;
  request.path = file;
  request.addresses = addresses;
  request.cache = cache;
  return recover(request);
}

/// What is said, names of procedures and scopes, files and notes included.
void check_same(const ModuleStructure& with, const ModuleStructure& without) {
  RC_ASSERT(reported(with) == reported(without));
  RC_ASSERT(with.files == without.files);
  RC_ASSERT(with.notes == without.notes);
  RC_ASSERT(with.procedures.size() == without.procedures.size());
  RC_ASSERT(with.scopes.size() == without.scopes.size());
  RC_ASSERT(std::set(with.callees.begin(), with.callees.end()) ==
            std::set(without.callees.begin(), without.callees.end()));
}

bool has_lines(const ModuleStructure& module) {
  return std::ranges::any_of(module.points, [](const Point& point) { return point.line != 0; });
}

}  // namespace

TEST_CASE("a cache says of any addresses what is said without it however much it knows already") {
  for (const char* name : {"loops-O3", "loops-fixed", "loops-lto", "loops-dwarf4", "loops-stripped",
                           "loops-linked", "numeric-O3", "libgaps.so", "libgaps-stripped.so"}) {
    const Scratch scratch;
    std::vector<std::uint64_t> addresses = section_addresses(program(name), ".text");
    for (const std::uint64_t stub : section_addresses(program(name), ".plt")) addresses.push_back(stub);
    std::ranges::sort(addresses);
    INFO(name);
    const bool holds = rc::check([&] {
      const auto chosen =
          *rc::gen::container<std::set<std::size_t>>(rc::gen::inRange<std::size_t>(0, addresses.size()));
      std::vector<std::uint64_t> some;
      for (const std::size_t i : chosen) some.push_back(addresses[i]);
      check_same(recover_with(scratch.cache(), program(name), some), recover_all(program(name), some));
    });
    CHECK(holds);
    CHECK(entries(scratch.cache()).size() == 1);
    CHECK(reported(recover_with(scratch.cache(), program(name), addresses)) ==
          reported(recover_all(program(name), addresses)));
  }
}

TEST_CASE("Of pieces that overlap, all addresses stay known") {
  ModuleStructure said;
  said.procedures.resize(2);
  said.points = {Point{.procedure = 0}, Point{.procedure = 1}, Point{.procedure = 1}};
  const CodeMap map({{.low = 0x10, .high = 0x20}, {.low = 0x18, .high = 0x30}, {.low = 0x12, .high = 0x14}},
                    said);
  const std::vector<std::uint64_t> addresses = {0x13, 0x1f, 0x20, 0x2f};
  REQUIRE(map.unknown(addresses).empty());
  const ModuleStructure around = map.around(addresses);
  CHECK(around.points[1].procedure == around.points[0].procedure);
  CHECK(around.points[2].procedure != around.points[1].procedure);
  CHECK(around.points[3].procedure == around.points[2].procedure);
  CHECK(map.unknown(std::vector<std::uint64_t>{0x30}).size() == 1);
}

TEST_CASE("a function of which one address was sampled is known as a whole") {
  const Scratch scratch;
  const fs::path file = program("loops-O2");
  const std::uint64_t main = symbol_value(file, "main");
  REQUIRE(main != 0);
  recover_with(scratch.cache(), file, {main});
  REQUIRE(entries(scratch.cache()).size() == 1);
  const fs::path entry = entries(scratch.cache())[0];
  const std::string bytes = read(entry);
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(entry, old);
  const std::vector<std::uint64_t> others{main + 1, main + 7, main + 20};
  CHECK(reported(recover_with(scratch.cache(), file, others)) == reported(recover_all(file, others)));
  CHECK(fs::last_write_time(entry) == old);  // nothing was learnt
  CHECK(read(entry) == bytes);
}

TEST_CASE("damaged entries are ignored and written again") {
  const Scratch scratch;
  const fs::path file = program("loops-O2");
  const auto addresses = section_addresses(file, ".text", 5);
  const std::vector<std::string> expected = reported(recover_all(file, addresses));
  CHECK(reported(recover_with(scratch.cache(), file, addresses)) == expected);
  const fs::path entry = entries(scratch.cache()).at(0);
  const std::string good = read(entry);
  const auto check = [&](const std::string& bytes) {
    write(entry, bytes);
    RC_ASSERT(reported(recover_with(scratch.cache(), file, addresses)) == expected);
    RC_ASSERT(read(entry) == good);
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{32}, good.size() - 1})
    check(good.substr(0, size));
  check(good + '\0');
  CHECK(rc::check([&] {
    std::string bytes = good;
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ *rc::gen::inRange(1, 256));
    check(bytes);
  }));
}

TEST_CASE("an entry that is cut or has a bit turned over anywhere is none") {
  const std::string key = "name app\nfiles\nloops\n";
  ModuleStructure said;
  said.files = {"/src/app.c"};
  said.callees = {"MPI_Barrier"};
  Procedure& solve = said.procedures.emplace_back();
  solve.name = "solve";
  solve.low = 0x1000;
  solve.high = 0x1040;
  solve.file = 0;
  solve.line = 7;
  Scope& loop = said.scopes.emplace_back();
  loop.file = 0;
  loop.line = 9;
  loop.address = 0x1010;
  said.points.resize(2);
  for (Point& point : said.points) point.procedure = point.file = 0;
  said.points[1].scope = said.points[1].callee = 0;
  const std::string good = cache_entry::encode(
      key, CodeMap({{.low = 0x1000, .high = 0x1010}, {.low = 0x1010, .high = 0x1040}}, said));
  REQUIRE(cache_entry::decode(good, key));
  for (std::size_t at = 0; at < good.size(); ++at) {
    if (cache_entry::decode(good.substr(0, at), key)) FAIL("cut at " << at);
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ (1U << bit));
      if (cache_entry::decode(bytes, key)) FAIL("byte " << at << ", bit " << bit);
    }
  }
}

TEST_CASE("a damaged code map decodes to nothing or to a consistent map") {
  const auto addresses = section_addresses(program("loops-O2"), ".text", 5);
  const Scratch scratch;
  recover_with(scratch.cache(), program("loops-O2"), addresses);
  const std::string entry = read(entries(scratch.cache()).at(0));
  std::uint32_t key_size = 0;
  std::memcpy(&key_size, entry.data() + 12, sizeof key_size);
  const std::string good = entry.substr(32 + key_size);
  REQUIRE(decode_code_map(std::as_bytes(std::span(good))));
  CHECK(std::ranges::equal(encode(*decode_code_map(std::as_bytes(std::span(good)))),
                           std::as_bytes(std::span(good))));
  // Without the checksum, damage shows as what leads nowhere, or as another map that is consistent.
  CHECK(rc::check([&] {
    std::string bytes = good;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
      bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = static_cast<char>(*rc::gen::inRange(0, 256));
    const auto map = decode_code_map(std::as_bytes(std::span(bytes)));
    if (!map) return;
    std::vector<std::uint64_t> all;
    for (const Range& piece : map->pieces()) all.push_back(piece.low);
    const ModuleStructure module = map->around(all);
    RC_ASSERT(reported(module).size() == all.size());
  }));
}

TEST_CASE("an entry of another program, version or format is not used") {
  const Scratch scratch;
  const auto addresses = section_addresses(program("loops-O2"), ".text", 5);
  recover_with(scratch.cache(), program("loops-O3"), section_addresses(program("loops-O3"), ".text", 5));
  const fs::path other = entries(scratch.cache()).at(0);
  const std::string foreign = read(other);
  fs::remove(other);
  recover_with(scratch.cache(), program("loops-O2"), addresses);
  const fs::path entry = entries(scratch.cache()).at(0);
  const std::string good = read(entry);
  std::string newer = good;
  newer[8] = 99;
  for (const std::string& bytes : {foreign, newer}) {
    write(entry, bytes);
    CHECK(reported(recover_with(scratch.cache(), program("loops-O2"), addresses)) ==
          reported(recover_all(program("loops-O2"), addresses)));
    CHECK(read(entry) == good);
  }
}

TEST_CASE("where nothing can be kept, all is recovered all the same") {
  const Scratch scratch;
  const fs::path file = program("loops-O2");
  const auto addresses = section_addresses(file, ".text", 5);
  const std::vector<std::string> expected = reported(recover_all(file, addresses));
  write(scratch.path / "file", "no directory");
  CHECK(reported(recover_with(scratch.path / "file", file, addresses)) == expected);
  CHECK(reported(recover_with(scratch.path / "file" / "below", file, addresses)) == expected);
  CHECK(reported(recover_with("/proc/self/none", file, addresses)) == expected);
  // An entry that cannot be replaced, nor read.
  recover_with(scratch.cache(), file, addresses);
  const fs::path entry = entries(scratch.cache()).at(0);
  fs::remove(entry);
  fs::create_directories(entry / "occupied");
  CHECK(reported(recover_with(scratch.cache(), file, addresses)) == expected);
}

TEST_CASE("modules without build-id and those with split debug information are not kept") {
  const Scratch scratch;
  for (const char* name : {"loops-unidentified", "loops-split"}) {
    const auto addresses = section_addresses(program(name), ".text", 5);
    CHECK(reported(recover_with(scratch.cache(), program(name), addresses)) ==
          reported(recover_all(program(name), addresses)));
    CHECK(entries(scratch.cache()).empty());
  }
}

TEST_CASE("files of one build that tell more or less have entries of their own") {
  const Scratch scratch;
  const fs::path file = scratch.path / "loops-linked";
  const auto addresses = section_addresses(program("loops-O2"), ".text", 5);
  fs::copy_file(program("loops-linked"), file);
  CHECK_FALSE(has_lines(recover_with(scratch.cache(), file, addresses)));
  fs::copy_file(program("loops.debug"), scratch.path / "loops.debug");  // installed later
  CHECK(has_lines(recover_with(scratch.cache(), file, addresses)));
  CHECK(reported(recover_with(scratch.cache(), file, addresses)) == reported(recover_all(file, addresses)));
  fs::remove(scratch.path / "loops.debug");
  CHECK_FALSE(has_lines(recover_with(scratch.cache(), file, addresses)));
  fs::copy_file(program("loops-O2"), file, fs::copy_options::overwrite_existing);
  CHECK(has_lines(recover_with(scratch.cache(), file, addresses)));
  fs::copy_file(program("loops-stripped"), file, fs::copy_options::overwrite_existing);
  CHECK(reported(recover_with(scratch.cache(), file, addresses)) == reported(recover_all(file, addresses)));
}

TEST_CASE("what several learn at once is all kept") {
  const Scratch scratch;
  const fs::path file = program("loops-O3");
  const auto addresses = section_addresses(file, ".text");
  constexpr std::size_t kThreads = 4;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const auto begin = addresses.begin() + static_cast<std::ptrdiff_t>(addresses.size() * t / kThreads);
        const auto end =
            addresses.begin() + static_cast<std::ptrdiff_t>(addresses.size() * (t + 1) / kThreads);
        recover_with(scratch.cache(), file, {begin, end});
      });
    }
  }
  REQUIRE(entries(scratch.cache()).size() == 1);
  CHECK(reported(recover_with(scratch.cache(), file, addresses)) == reported(recover_all(file, addresses)));
}

TEST_CASE("what was used longest ago makes room; what is none of the cache's stays") {
  const Scratch scratch;
  fs::create_directories(scratch.cache());
  const auto now = fs::file_time_type::clock::now();
  const auto put = [&](const std::string& name, std::uint64_t size, std::chrono::hours ago) {
    write(scratch.cache() / name, "");
    fs::resize_file(scratch.cache() / name, size);
    fs::last_write_time(scratch.cache() / name, now - ago);
  };
  put("0a-0123456789abcdef", kMostCached / 2, std::chrono::hours(30));
  put("0b-0123456789abcdef", kMostCached / 2, std::chrono::hours(20));
  put("0c-0123456789abcdef", kMostCached / 8, std::chrono::hours(10));
  put("thesis.txt", kMostCached, std::chrono::hours(1000));
  put(".new-0123456789abcdef", 10, std::chrono::hours(2));
  put(".new-1123456789abcdef", 10, std::chrono::hours(0));
  recover_with(scratch.cache(), program("loops-O2"), section_addresses(program("loops-O2"), ".text", 50));
  CHECK_FALSE(fs::exists(scratch.cache() / "0a-0123456789abcdef"));
  CHECK(fs::exists(scratch.cache() / "0b-0123456789abcdef"));
  CHECK(fs::exists(scratch.cache() / "0c-0123456789abcdef"));
  CHECK(fs::exists(scratch.cache() / "thesis.txt"));
  CHECK_FALSE(fs::exists(scratch.cache() / ".new-0123456789abcdef"));
  CHECK(fs::exists(scratch.cache() / ".new-1123456789abcdef"));
  CHECK(entries(scratch.cache()).size() == 4);
}

}  // namespace cache_test
