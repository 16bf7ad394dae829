// Two ranks that wait for each other; in what one of them publishes one bit is turned over, or its file is
// cut. What is published is in no checksum, so another answer is no fault; no answer would be one.
#include "damaged_file.hpp"
#include "published_rank.hpp"
#include "stuck/findings.hpp"
#include "stuck/look.hpp"

#include <catch2/catch.hpp>

namespace culprit::stuck::testing {
namespace {

/// As it is now, and compared with a second ago.
bool is_stuck(const std::filesystem::path& directory) {
  Picture now = Job(directory).look(true);
  const bool over = find(now, nullptr, {}).stuck();
  now.over = false;
  for (Process& process : now.processes) process.life = Life::running;
  Picture before = now;
  for (Process& process : before.processes) process.now_ns -= recording::kWaitBegan;
  return find(now, &before, {}).stuck() || over;
}

}  // namespace

TEST_CASE("whatever bit is wrong in what a rank publishes, there is an answer") {
  const recording::Directory live(recording::scratch()), damaged(recording::scratch());
  const std::string names[] = {"rank-0.culprit", "rank-1.culprit"};
  recording::PublishingRank first(live / names[0], 0), second(live / names[1], 1);
  recording::publish(*first.block, 0);
  recording::publish(*second.block, 1);
  damage::File file(damaged / names[0], recording::bytes_of(live / names[0]));
  recording::write_bytes(damaged / names[1], recording::bytes_of(live / names[1]));
  REQUIRE(is_stuck(damaged.path()));
  int others = 0;
  const auto look = [&](std::size_t) { others += is_stuck(damaged.path()) ? 0 : 1; };
  damage::flip_each(file, look);
  damage::cut_each(file, look);
  CHECK(others > 0);
}

}  // namespace culprit::stuck::testing
