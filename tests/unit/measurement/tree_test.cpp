#include "recording.hpp"

#include <map>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace tree_test {

using namespace recording;
using culprit::measurement::EndReason;
using culprit::measurement::Measurement;
using culprit::measurement::NodeIndex;
using culprit::measurement::ThreadTree;

namespace {

constexpr std::uint32_t kModules = 3;

using Path = std::vector<cct::FrameKey>;

// Few distinct frames, so that paths share prefixes and frames repeat at many depths.
rc::Gen<cct::FrameKey> frames() {
  return rc::gen::map(
      rc::gen::tuple(
          rc::gen::inRange<std::uint64_t>(0, 6), rc::gen::inRange<std::uint32_t>(0, kModules + 1),
          rc::gen::element(cct::FrameKind::call, cct::FrameKind::sample, cct::FrameKind::interrupted)),
      [](const std::tuple<std::uint64_t, std::uint32_t, cct::FrameKind>& t) {
        const auto module = std::get<1>(t) == kModules ? cct::kNoModule : std::get<1>(t);
        return cct::FrameKey{std::get<0>(t) * 0x123456789, module, std::get<2>(t)};
      });
}

std::map<Path, std::uint64_t> recorded_in(const culprit::measurement::ThreadProfile& thread) {
  std::map<Path, std::uint64_t> found;
  for (cct::NodeId i = 0; i < thread.nodes.size(); ++i) {
    if (thread.cell[i] != cct::kNoNode) found[path_of(thread, i)] = thread.cells[thread.cell[i]].time_ns;
  }
  return found;
}

}  // namespace

TEST_CASE("the tree holds exactly the paths that were inserted, with their sums, live and sealed") {
  const bool holds = rc::check([] {
    const auto paths =
        *rc::gen::resize(20, rc::gen::container<std::vector<Path>>(rc::gen::container<Path>(frames())));
    const Directory directory;
    File file(directory / "a.culprit", process());
    RC_ASSERT(file.error() == 0);
    for (std::uint32_t i = 0; i < kModules; ++i) {
      RC_ASSERT(file->module(i, ("/m" + std::to_string(i)).c_str(), nullptr, 0, 0) == i);
    }
    ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
    std::map<Path, std::uint64_t> reference;
    std::map<Path, NodeIndex> nodes;
    std::uint64_t time = 0;
    for (const Path& path : paths) {
      const NodeIndex node = insert(tree, path);
      Path whole = path;
      whole.insert(whole.begin(), {.kind = cct::FrameKind::program_root});
      const auto known = nodes.emplace(whole, node);
      RC_ASSERT(known.first->second == node);  // the same path is the same node
      tree.record(node, values(++time));
      reference[whole] += time;
    }
    const Measurement live = culprit::measurement::Reader().read(directory / "a.culprit");
    RC_ASSERT(invalid(live) == "");
    RC_ASSERT(recorded_in(live.threads.at(0)) == reference);
    RC_ASSERT(file->seal(EndReason::exit, kStart + 1) == 0);
    const Measurement sealed = culprit::measurement::Reader().read(directory / "a.culprit");
    RC_ASSERT(invalid(sealed) == "");
    RC_ASSERT(recorded_in(sealed.threads.at(0)) == reference);
  });
  CHECK(holds);
}

TEST_CASE("siblings come in the order of module, offset and kind; every child once") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  for (int i = 0; i < 3; ++i)
    file->module(static_cast<std::uint64_t>(i), ("/m" + std::to_string(i)).c_str(), nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  const Path keys{call(5, 2), call(7, 0), sample(7, 0),        call(1, cct::kNoModule),
                  call(9, 1), call(0, 2), call(UINT64_MAX, 1), call(8, 0),
                  call(6, 0)};
  for (int round = 0; round < 2; ++round) {
    for (const auto& key : keys) tree.child(tree.program_root(), key);
  }
  const Path expected{call(6, 0), call(7, 0), sample(7, 0),
                      call(8, 0), call(9, 1), call(UINT64_MAX, 1),
                      call(0, 2), call(5, 2), call(1, cct::kNoModule)};
  for (const bool sealed : {false, true}) {
    if (sealed) REQUIRE(file->seal(EndReason::exit, kStart) == 0);
    const Measurement m = culprit::measurement::Reader().read(directory / "a.culprit");
    Path found;
    for (const auto& node : m.threads.at(0).nodes) {
      if (node.parent == 1) found.push_back(node.frame);
    }
    CHECK(found == expected);
  }
}

TEST_CASE("a path a hundred thousand frames deep and a node with as many children go through every form") {
  const Directory directory;
  File file(directory / "a.culprit", process());
  file->module(0, "/m", nullptr, 0, 0);
  ThreadTree& tree = *file->add_thread(1, true, {}, kStart);
  constexpr std::uint64_t kMany = 100'000;
  NodeIndex deep = tree.program_root();
  for (std::uint64_t i = 0; i < kMany; ++i) {
    deep = tree.child(deep, call(i * 16));
    tree.child(tree.thread_root(), call(i * 16));
    if (i % 512 == 0) REQUIRE(file->maintain(kStart) == 0);
  }
  tree.record(deep, values(3));
  const Measurement live = culprit::measurement::Reader().read(directory / "a.culprit");
  REQUIRE(file->seal(EndReason::exit, kStart) == 0);
  const Measurement sealed = culprit::measurement::Reader().read(directory / "a.culprit");
  CHECK(invalid(live) == "");
  CHECK(live.threads.at(0).nodes.size() == 2 * kMany + 4);
  CHECK(path_of(live.threads[0], static_cast<cct::NodeId>(2 * kMany + 3)).size() == 1);
  REQUIRE(sealed.threads.at(0).nodes.size() == live.threads[0].nodes.size());
  bool same = true;
  for (std::size_t i = 0; i < live.threads[0].nodes.size(); ++i) {
    same = same && live.threads[0].nodes[i].frame == sealed.threads[0].nodes[i].frame &&
           live.threads[0].nodes[i].parent == sealed.threads[0].nodes[i].parent;
  }
  CHECK(same);
}

}  // namespace tree_test
