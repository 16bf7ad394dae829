// Functions that left their frames by tail calls, found in the machine code of a library.
#include "merge/attribution/tail_calls.hpp"

#include "exchange/threads.hpp"
#include "merge/attribution/recover_structure.hpp"
#include "structure/tail_calls.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <link.h>

namespace merge_tail_calls_test {

using namespace culprit;
using merge::Place;

namespace {

enum Function { pause_for, smooth, relax, twice, either, circle, shown, run, kFunctions };

/// The library, loaded, and where its functions begin in its file.
class Library {
 public:
  Library() {
    void* const handle = ::dlopen(TAIL_CALLING_LIBRARY, RTLD_NOW);
    REQUIRE(handle != nullptr);
    const auto* const functions = static_cast<void* const*>(::dlsym(handle, "functions"));
    const link_map* map = nullptr;
    REQUIRE(::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
    for (int i = 0; i < kFunctions; ++i)
      entries_.push_back(reinterpret_cast<std::uint64_t>(functions[i]) - map->l_addr);
    line_of_smooth = *static_cast<const int*>(::dlsym(handle, "line_of_smooth"));
    module = shared.modules.add({.path = TAIL_CALLING_LIBRARY, .build_id = {}});
  }

  [[nodiscard]] Place entry(Function function) const { return {module, entries_[function]}; }

  /// The calls of run(), in the order of its lines.
  [[nodiscard]] std::vector<Place> calls() const {
    structure::Request request;
    request.path = TAIL_CALLING_LIBRARY;
    const structure::TailCalls code(request);
    std::vector<Place> found;
    for (std::uint64_t at = entry(run).offset; at < entry(run).offset + kBytes; ++at)
      if (code.called_before(at) != 0) found.push_back({module, at - 1});
    return found;
  }

  /// A sample in pause_for, whose frame is found below each call of run().
  void sample_all() {
    for (const Place& call : calls()) {
      const auto node =
          shared.tree.child(0, {.offset = call.offset, .module = module, .kind = cct::FrameKind::call});
      shared.tree.child(
          node, {.offset = entry(pause_for).offset + 1, .module = module, .kind = cct::FrameKind::sample});
    }
  }

  cct::SharedTree shared;
  cct::ModuleId module = 0;
  int line_of_smooth = 0;

 private:
  static constexpr std::uint64_t kBytes = 90;  ///< of run(), to its last call
  std::vector<std::uint64_t> entries_;
};

/// What is missing below the calls of run(), from the outermost on: names, with "@" where no jump is known.
std::vector<std::string> missing(const Library& library, const merge::RecoveredStructure& recovered) {
  std::vector<std::string> rows;
  for (const Place& call : library.calls()) {
    std::string& row = rows.emplace_back();
    for (const Place& jump : recovered.jumps(call, library.entry(pause_for)))
      row += " " + recovered.procedure(jump)->name + (recovered.entry(jump) == jump ? "@" : "");
  }
  return rows;
}

}  // namespace

TEST_CASE("functions that left their frames by tail calls are found between a call and what is below it") {
  Library library;
  library.sample_all();
  exchange::run_on_threads(1, [&](exchange::Communicator& comm) {
    merge::RecoveredStructure recovered = merge::recover_structure(comm, library.shared, {}, true, {}, [] {});
    merge::find_tail_calls(library.shared, {}, recovered);
    CHECK(missing(library, recovered) == std::vector<std::string>{"", " smooth", " relax smooth", " twice@",
                                                                  " either@", " circle@", " shown"});
    const Place& jump = recovered.jumps(library.calls()[1], library.entry(pause_for)).front();
    CHECK(recovered.point(jump)->line == static_cast<std::uint32_t>(library.line_of_smooth));
  });
}

}  // namespace merge_tail_calls_test
