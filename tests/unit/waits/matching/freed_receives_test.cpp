// Receives that MPI_Request_free freed before their messages came: they take them all the same.
#include "scripted_run.hpp"

#include <set>

#include <catch2/catch.hpp>

namespace freed_receives_test {

using namespace culprit::waits;
using namespace culprit::waits::testing;
using culprit::measurement::trace::kAnySource;
using culprit::measurement::trace::kAnyTag;

namespace {

constexpr auto kSend = OperationKind::send;
constexpr auto kReceive = OperationKind::receive;

/// No call completes it.
Operation freed(Operation operation, std::uint64_t id) {
  operation = completed(operation, id);
  operation.completes = false;
  return operation;
}

/// Rank 1 posts a receive for `source` and `tag` and frees it.
void free_receive(ScriptedRun& run, std::uint64_t at, std::int32_t source, std::int32_t tag,
                  std::uint64_t id) {
  run.call(1, at, at + 1, {begun(message(kReceive, source, tag), id)});
  run.call(1, at + 2, at + 3, {freed(message(kReceive, source, tag), id)});
}

}  // namespace

TEST_CASE("a freed receive takes the next message of its source and tag, and waits for nothing") {
  ScriptedRun run(2);
  free_receive(run, 10, 0, 7, 1);
  run.call(0, 20, 22, {message(kSend, 1, 7)});
  const std::uint32_t waited = run.call(1, 30, 60, {message(kReceive, 0, 7)});
  const std::uint32_t sent = run.call(0, 50, 52, {message(kSend, 1, 7)});
  for (const int analysts : {1, 2}) {
    const Found found = analyse(run, analysts);
    CHECK(found.waits == std::vector<FoundWait>{{1, waited, WaitPattern::late_sender, 20, 0, sent}});
    CHECK(found.unmatched == Unmatched{});
  }
}

TEST_CASE("a sender may wait for a receive that is then freed") {
  ScriptedRun run(2);
  const std::uint32_t sent = run.call(0, 5, 40, {message(OperationKind::send_synchronous, 1, 7)});
  free_receive(run, 30, 0, 7, 1);
  const Found found = analyse(run);
  CHECK(found.waits == std::vector<FoundWait>{{0, sent, WaitPattern::late_receiver, 25, 1, 0}});
}

TEST_CASE("a freed receive with wildcards takes the first message that no other receive takes") {
  ScriptedRun run(3);
  free_receive(run, 10, kAnySource, kAnyTag, 1);
  free_receive(run, 15, kAnySource, 6, 2);
  run.call(0, 20, 22, {message(kSend, 1, 7)});
  run.call(2, 21, 22, {message(kSend, 1, 5)});  // the first one's: of this tag there is one receive less
  run.call(2, 23, 24, {message(kSend, 1, 6)});  // the second one's
  const std::uint32_t seventh = run.call(1, 30, 40, {message(kReceive, 0, 7)});
  const std::uint32_t sixth = run.call(1, 50, 60, {message(kReceive, 2, 6)});
  const std::uint32_t late = run.call(2, 55, 56, {message(kSend, 1, 6)});
  CHECK(seventh < sixth);
  for (const int analysts : {1, 2, 3}) {
    const Found found = analyse(run, analysts);
    CHECK(found.waits == std::vector<FoundWait>{{1, sixth, WaitPattern::late_sender, 5, 2, late}});
    CHECK(found.unmatched == Unmatched{});
  }
}

TEST_CASE("a freed receive whose message never came holds nothing back") {
  ScriptedRun run(2);
  free_receive(run, 10, kAnySource, 7, 1);
  const std::uint32_t waited = run.call(1, 30, 60, {message(kReceive, 0, 7)});
  const std::uint32_t sent = run.call(0, 50, 52, {message(kSend, 1, 7)});
  const Found found = analyse(run);
  CHECK(found.waits == std::vector<FoundWait>{{1, waited, WaitPattern::late_sender, 20, 0, sent}});
  CHECK(found.unmatched == Unmatched{.receives = 1});
  CHECK(found.unmatched_ranks == std::set<std::int32_t>{1});
}

}  // namespace freed_receives_test
