// Failures that all ranks share.
#include "merge/input/collectively.hpp"

#include "exchange/threads.hpp"

#include <new>

#include <catch2/catch.hpp>

namespace collectively_test {

using namespace culprit;

TEST_CASE("all ranks report that memory ran out on one, with the step that needed it") {
  const merge::Progress nobody;
  CHECK_THROWS_WITH(exchange::run_on_threads(3,
                                             [&](exchange::Communicator& comm) {
                                               const merge::Phase phase(comm, nobody, "time lines", 1);
                                               merge::collectively(comm, [&] {
                                                 if (comm.rank() == 1) throw std::bad_alloc();
                                               });
                                             }),
                    Catch::StartsWith("merge: time lines: out of memory ("));
}

}  // namespace collectively_test
