#include "follow/machine.hpp"

#include <vector>

#include <catch2/catch.hpp>

using namespace culprit::follow;

namespace {

/// Ranks of one host with these processors, each of which lacked one for a share of the time.
std::vector<Scheduling> ranks(std::int32_t number, std::uint16_t processors, std::uint64_t percent,
                              std::uint32_t allowed) {
  std::vector<Scheduling> threads;
  for (std::int32_t rank = 0; rank < number; ++rank) {
    Scheduling thread{.rank = rank,
                      .host = "node",
                      .ran_ns = 100 - percent,
                      .runnable_ns = percent,
                      .processors = {},
                      .allowed = allowed};
    for (std::uint16_t processor = 0; processor < processors; ++processor) thread.processors.add(processor);
    threads.push_back(thread);
  }
  return threads;
}

}  // namespace

TEST_CASE("ranks that share too few processors are named with how long they lacked one") {
  CHECK(
      machine_in_words(ranks(8, 2, 73, 2)) ==
      "on host node, ranks 0-7 share 2 processors, and lacked one for 73 % of the time that they wanted one, "
      "within MPI calls too");
  CHECK(machine_in_words(ranks(4, 1, 70, 16)) ==
        "on host node, ranks 0-3 are bound to the same 1 processor, and lacked one for 70 % of the time that "
        "they wanted one, within MPI calls too");
  CHECK(machine_in_words(ranks(1, 2, 40, 2)) ==
        "on host node, others take processors from rank 0, which lacked one for 40 % of the time that it "
        "wanted "
        "one, within MPI calls too");
}

TEST_CASE("of ranks that have processors of their own, others take them") {
  std::vector<Scheduling> threads = ranks(2, 1, 40, 2);
  threads[1].processors = {};
  threads[1].processors.add(1);
  CHECK(
      machine_in_words(threads) ==
      "on host node, others take processors from ranks 0, 1, which lacked one for 40 % of the time that they "
      "wanted one, within MPI calls too");
}

TEST_CASE("a machine that has processors for all is not named") {
  CHECK(machine_in_words({}).empty());
  CHECK(machine_in_words(ranks(8, 8, 5, 8)).empty());
  CHECK(machine_in_words(ranks(8, 2, 14, 2)).empty());
  const std::vector<Scheduling> unknown(2);
  CHECK(machine_in_words(unknown).empty());
}

TEST_CASE("of several hosts the worst is named") {
  std::vector<Scheduling> threads = ranks(2, 1, 30, 1);
  for (Scheduling thread : ranks(2, 1, 60, 1)) {
    thread.host = "other";
    thread.rank += 2;
    threads.push_back(thread);
  }
  CHECK(machine_in_words(threads) ==
        "on host other, ranks 2, 3 share 1 processor, and lacked one for 60 % of the time that they wanted "
        "one, "
        "within MPI calls too (worst of 2 places)");
}
