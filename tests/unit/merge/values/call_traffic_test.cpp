#include "merge/values/call_traffic.hpp"

#include "exchange/threads.hpp"

#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

namespace call_traffic_test {

using namespace culprit;
using database::ContextKind;
using measurement::EpochKind;

namespace {

/// One MPI call, made by threads that count their calls, `followed` of which are timed.
struct Fixture {
  merge::Shape shape;
  merge::CallTraffic traffic;

  Fixture() {
    shape.contexts = {{}, {.parent = 0, .kind = ContextKind::procedure, .wait = measurement::WaitKind::mpi}};
    shape.own = {0, 1};
  }
  void add(std::uint32_t location, std::uint64_t calls, std::uint64_t followed, std::uint64_t longest_ns) {
    measurement::ThreadProfile thread;
    thread.nodes = {{.frame = {}, .parent = cct::kNoNode}, {.frame = {}, .parent = 0}};
    thread.epochs = {{.node = 1, .kind = EpochKind::call_count, .count = calls},
                     {.node = 1, .kind = EpochKind::waiting_call, .window = longest_ns, .count = followed}};
    const std::vector<cct::NodeId> same = {0, 1};
    const std::vector<database::ContextId> contexts = {1};
    const std::vector<std::uint64_t> time = {1000};
    add_counted_calls(
        traffic, shape,
        {.thread = thread, .united = same, .location = location, .contexts = contexts, .time = time});
  }
  [[nodiscard]] std::uint64_t longest() const {
    std::uint64_t found = 0;
    exchange::run_on_threads(
        1, [&](exchange::Communicator& comm) { found = traffic.gather(comm).at(0).longest_ns; });
    return found;
  }
};

}  // namespace

TEST_CASE("the longest call is known where each call of all threads was timed") {
  Fixture f;
  f.add(0, 8, 8, 300);
  CHECK(f.longest() == 300);
  f.add(1, 8, 8, 700);
  CHECK(f.longest() == 700);
  f.add(2, 8, 7, 900);
  CHECK(f.longest() == 0);
  f.add(3, 8, 8, 900);
  CHECK(f.longest() == 0);
}

}  // namespace call_traffic_test
