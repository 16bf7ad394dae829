// What is said of an address depends neither on what else was asked for nor on when.
#include "modules.hpp"
#include "structure/combine.hpp"

#include <set>
#include <thread>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace subset_test {

using namespace culprit::structure;

TEST_CASE("a subset of the addresses gets the same answers") {
  for (const char* name : {"loops-O3", "loops-stripped", "numeric-O3"}) {
    const auto addresses = section_addresses(program(name), ".text");
    const std::vector<std::string> whole = reported(recover_all(program(name), addresses));
    const bool holds = rc::check([&] {
      const auto chosen =
          *rc::gen::container<std::set<std::size_t>>(rc::gen::inRange<std::size_t>(0, addresses.size()));
      std::vector<std::uint64_t> some;
      for (const std::size_t i : chosen) some.push_back(addresses[i]);
      const std::vector<std::string> answers = reported(recover_all(program(name), some));
      std::size_t at = 0;
      for (const std::size_t i : chosen) RC_ASSERT(answers[at++] == whole[i]);
    });
    CHECK(holds);
  }
}

TEST_CASE("procedures, scopes and files that hold no asked address are not reported") {
  const auto addresses = section_addresses(program("loops-O2"), ".text");
  for (const std::size_t step : {1, 40, 700}) {
    std::vector<std::uint64_t> some;
    for (std::size_t i = 0; i < addresses.size(); i += step) some.push_back(addresses[i]);
    const ModuleStructure module = recover_all(program("loops-O2"), some);
    std::set<std::uint32_t> procedures, scopes, files;
    for (const Point& point : module.points) {
      procedures.insert(point.procedure);
      files.insert(point.file);
      for (std::uint32_t at = point.scope; at != kNone; at = module.scopes[at].parent) scopes.insert(at);
    }
    for (const Procedure& procedure : module.procedures) files.insert(procedure.file);
    for (const Scope& scope : module.scopes) files.insert({scope.file, scope.call_file});
    files.erase(kNone);
    CHECK(procedures.size() == module.procedures.size());
    CHECK(scopes.size() == module.scopes.size());
    CHECK(files.size() == module.files.size());
  }
}

TEST_CASE("several threads that share a module say what one does") {
  for (const char* name : {"loops-O3", "loops-lto", "loops-split", "numeric-O3", "loops-stripped"}) {
    Request request;
    request.path = program(name);
    request.addresses = section_addresses(program(name), ".text");
    const std::vector<std::string> alone = reported(recover(request));
    for (const std::size_t threads : {2, 3, 7}) {
      request.threads = threads;
      CHECK(reported(recover(request)) == alone);
    }
  }
}

TEST_CASE("parts of a module combine to the whole, each procedure and scope once") {
  const auto addresses = section_addresses(program("loops-O2"), ".text");
  const ModuleStructure whole = recover_all(program("loops-O2"), addresses);
  for (const std::size_t size : {1, 7, 1000}) {
    std::vector<ModuleStructure> parts;
    for (std::size_t at = 0; at < addresses.size(); at += size) {
      const auto first = addresses.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last =
          addresses.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, addresses.size()));
      if (size > 1 || at < 500) parts.push_back(recover_all(program("loops-O2"), {first, last}));
    }
    const std::size_t covered = size > 1 ? addresses.size() : parts.size();
    const ModuleStructure combined = combine(std::move(parts));
    std::vector<std::string> expected = reported(whole);
    expected.resize(covered);
    CHECK(reported(combined) == expected);
    if (covered < addresses.size()) continue;
    CHECK(combined.procedures.size() == whole.procedures.size());
    CHECK(combined.scopes.size() == whole.scopes.size());
    CHECK(combined.files == whole.files);
    CHECK(combined.notes == whole.notes);
  }
}

TEST_CASE("several threads recover at once") {
  const auto addresses = section_addresses(program("loops-O2"), ".text", 3);
  const std::vector<std::string> alone = reported(recover_all(program("loops-O2"), addresses));
  std::vector<std::vector<std::string>> answers(4);
  std::vector<std::thread> threads;
  for (auto& answer : answers)
    threads.emplace_back([&] { answer = reported(recover_all(program("loops-O2"), addresses)); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& answer : answers) CHECK(answer == alone);
}

}  // namespace subset_test
