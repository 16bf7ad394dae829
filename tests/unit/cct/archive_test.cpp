#include "cct/canonical.hpp"
#include "trees.hpp"

#include <limits>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace culprit::cct;

namespace {

/// A small tree with something in every column.
SharedTree sample() {
  SharedTree shared;
  shared.modules.add({"/bin/app", "0123", 5, 6});
  shared.modules.add({"/lib/x", "", 7, -8});
  const NodeId root = shared.tree.child(0, {0, kNoModule, FrameKind::program_root});
  const NodeId call = shared.tree.child(root, {0x1234, 0, FrameKind::call});
  shared.tree.child(call, {0xffffffffffff, 1, FrameKind::sample});
  return shared;
}

std::vector<std::byte> pack(const SharedTree& shared) {
  MessageWriter message;
  write(message, shared);
  return message.take();
}

SharedTree unpack(std::span<const std::byte> bytes) {
  MessageReader message(bytes);
  SharedTree shared = read(message);
  message.end();
  return shared;
}

bool equal(const SharedTree& a, const SharedTree& b) {
  return std::ranges::equal(a.tree.nodes(), b.tree.nodes()) &&
         std::ranges::equal(a.modules.keys(), b.modules.keys());
}

}  // namespace

TEST_CASE("a tree survives the round trip with its ids", "[archive]") {
  CHECK(equal(unpack(pack(sample())), sample()));
  CHECK(equal(unpack(pack(SharedTree())), SharedTree()));
  CHECK(rc::check([] {
    const SharedTree shared = random_tree();
    RC_ASSERT(equal(unpack(pack(shared)), shared));
  }));
}

TEST_CASE("a message cut anywhere, or followed by anything, is refused", "[archive]") {
  const std::vector<std::byte> message = pack(sample());
  for (std::size_t length = 0; length < message.size(); ++length) {
    CHECK_THROWS_AS(unpack(std::span(message).first(length)), ArchiveError);
  }
  std::vector<std::byte> longer = message;
  longer.push_back(std::byte{0});
  CHECK_THROWS_AS(unpack(longer), ArchiveError);
}

TEST_CASE("a damaged message is refused or gives a valid tree", "[archive]") {
  const std::vector<std::byte> message = pack(sample());
  std::size_t refused = 0;
  for (std::size_t at = 0; at < message.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::vector<std::byte> damaged = message;
      damaged[at] ^= static_cast<std::byte>(flip);
      try {
        const SharedTree shared = unpack(damaged);
        for (NodeId id = 1; id < shared.tree.size(); ++id) {
          const FrameKey& frame = shared.tree[id].frame;
          REQUIRE(shared.tree[id].parent < id);
          REQUIRE(static_cast<int>(frame.kind) < kFrameKinds);
          REQUIRE((frame.module == kNoModule || frame.module < shared.modules.size()));
        }
      } catch (const ArchiveError&) {
        ++refused;
      }
    }
  }
  CHECK(refused > message.size());  // lengths, tags, parents, kinds, modules
}

TEST_CASE("a length that cannot be true reserves no memory", "[archive]") {
  MessageWriter writer;
  writer.value(std::numeric_limits<std::uint64_t>::max());
  const std::vector<std::byte> message = writer.take();
  CHECK_THROWS_AS(MessageReader(message).values<std::uint64_t>(), ArchiveError);
  CHECK_THROWS_AS(MessageReader(message).text(), ArchiveError);
}

TEST_CASE("messages hold values, vectors and texts in order", "[message]") {
  MessageWriter writer;
  writer.value(std::int32_t{-7});
  writer.values(std::vector<std::uint16_t>{1, 2, 3});
  writer.text("why (what to do)");
  writer.values(std::vector<std::uint64_t>{});
  const std::vector<std::byte> message = writer.take();
  MessageReader reader(message);
  CHECK(reader.value<std::int32_t>() == -7);
  CHECK(reader.values<std::uint16_t>() == std::vector<std::uint16_t>{1, 2, 3});
  CHECK(reader.text() == "why (what to do)");
  CHECK(reader.values<std::uint64_t>().empty());
  CHECK_NOTHROW(reader.end());
  CHECK_THROWS_AS(reader.value<std::uint8_t>(), ArchiveError);
}
