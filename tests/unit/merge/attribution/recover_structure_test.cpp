// Structure recovered by several ranks, each a part of it.
#include "merge/attribution/recover_structure.hpp"

#include "exchange/threads.hpp"
#include "structure/combine.hpp"
#include "structure/structure.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <link.h>

namespace recover_structure_test {

using namespace culprit;

namespace {

constexpr std::uint64_t kAddresses = 2000, kStep = 12;

/// Where the functions begin in this very program's file, whatever address it is loaded at.
std::vector<std::uint64_t> begins_of_functions() {
  std::vector<std::uint64_t> begins;
  for (const void* function : {reinterpret_cast<const void*>(&merge::recover_structure),
                               reinterpret_cast<const void*>(&structure::recover),
                               reinterpret_cast<const void*>(&structure::combine),
                               reinterpret_cast<const void*>(&exchange::run_on_threads)}) {
    Dl_info here{};
    void* mapping = nullptr;
    REQUIRE(::dladdr1(function, &here, &mapping, RTLD_DL_LINKMAP) != 0);
    begins.push_back(reinterpret_cast<std::uint64_t>(function) -
                     static_cast<const link_map*>(mapping)->l_addr);
  }
  return begins;
}

/// This very program, "sampled" at many addresses from the beginnings of several of its functions on: one
/// function may be large enough for all of them, as those are into which a sanitizer puts its checks.
cct::SharedTree much_of_one_module() {
  cct::SharedTree shared;
  const cct::ModuleId self = shared.modules.add({.path = "/proc/self/exe", .build_id = {}});
  const std::vector<std::uint64_t> begins = begins_of_functions();
  for (const std::uint64_t begin : begins) {
    for (std::uint64_t i = 0; i < kAddresses / begins.size(); ++i)
      shared.tree.child(0, {.offset = begin + i * kStep, .module = self, .kind = cct::FrameKind::sample});
  }
  return shared;
}

/// Of each address: its procedure, its line, and how many scopes of which lines are around it.
std::vector<std::string> reported(const structure::ModuleStructure& module) {
  std::vector<std::string> words;
  for (const structure::Point& point : module.points) {
    std::string& text = words.emplace_back(module.procedures.at(point.procedure).name);
    for (std::uint32_t at = point.scope; at != structure::kNone; at = module.scopes.at(at).parent)
      text += " in " + module.scopes[at].name + ":" + std::to_string(module.scopes[at].line);
    text += " at " + std::to_string(point.line);
  }
  return words;
}

}  // namespace

TEST_CASE("a module that several ranks recover in parts comes out as if one had") {
  const cct::SharedTree shared = much_of_one_module();
  std::vector<structure::ModuleStructure> modules;
  std::vector<std::vector<std::string>> words;
  for (const int ranks : {1, 2, 5}) {
    exchange::run_on_threads(ranks, [&](exchange::Communicator& comm) {
      const merge::RecoveredStructure recovered = merge::recover_structure(comm, shared, {}, true, {}, [] {});
      if (comm.rank() != 0) return;
      modules.push_back(recovered.modules().at(0).structure);
      words.push_back(reported(modules.back()));
    });
    CHECK(words.back() == words.front());
    CHECK(modules.back().procedures.size() == modules.front().procedures.size());
    CHECK(modules.back().scopes.size() == modules.front().scopes.size());
    CHECK(modules.back().files == modules.front().files);
  }
  CHECK(words.front().size() == kAddresses);
  CHECK(modules.front().procedures.size() >= 4);
  CHECK(modules.front().scopes.size() > 1);
}

}  // namespace recover_structure_test
