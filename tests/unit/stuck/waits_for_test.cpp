#include "stuck/waits_for.hpp"

#include "jobs.hpp"
#include "stuck/other_half.hpp"

#include <catch2/catch.hpp>

using namespace culprit::stuck;
using namespace culprit::stuck::testing;

namespace {

WaitsFor of(const Picture& picture, std::int32_t rank) {
  const Process& process = picture.processes[static_cast<std::size_t>(rank)];
  return waits_for(Ranks(picture), process, process.threads.front());
}

using List = std::vector<std::int32_t>;

/// All that the ranks sent and received is known.
void know_all(Picture& picture) {
  for (Process& process : picture.processes) process.threads.front().all_messages = true;
}

/// The rank begins an operation, or makes it; returns it as its request's.
Message begin(Picture& picture, std::int32_t rank, Message begun) {
  std::vector<Message>& last = thread_of(picture, rank).last;
  begun.begun = last.size() + 1;
  last.push_back(begun);
  return begun;
}

/// The rank waits for all of these requests since so many seconds.
void waits_for_all(Picture& picture, std::int32_t rank, std::vector<Message> requests, double seconds = 41) {
  in(picture, rank, CallKind::all_requests, "MPI_Waitall", seconds).messages = std::move(requests);
}

}  // namespace

TEST_CASE("a message matches its other half alone") {
  const Message sent = message(CallKind::send, 1, 5);
  CHECK(matches(sent, 0, message(CallKind::receive, 0, 5), 1));
  CHECK(matches(message(CallKind::receive, 0, 5), 1, sent, 0));
  CHECK(matches(sent, 0, message(CallKind::receive, kAnySource, kAnyTag), 1));
  CHECK_FALSE(matches(sent, 0, message(CallKind::receive, 0, 6), 1));
  CHECK_FALSE(matches(sent, 0, message(CallKind::receive, 2, 5), 1));
  CHECK_FALSE(matches(sent, 0, message(CallKind::receive, 0, 5), 2));
  CHECK_FALSE(matches(sent, 0, message(CallKind::receive, 0, 5, 77), 1));
  CHECK_FALSE(matches(sent, 0, sent, 0));
}

TEST_CASE("a receive waits for its source, one from anywhere for any") {
  Picture picture = job(3);
  receives(picture, 0, 2);
  CHECK(of(picture, 0).ranks == List{2});
  CHECK_FALSE(of(picture, 0).one_suffices);
  receives(picture, 0, kAnySource);
  CHECK(of(picture, 0).ranks == List{1, 2});
  CHECK(of(picture, 0).one_suffices);
  receives(picture, 0, kUnknownRank);
  CHECK(of(picture, 0).unknown);
}

TEST_CASE("a message that both sides wait for is under way, for a while") {
  Picture picture = job(2);
  know_all(picture);
  sends(picture, 0, 1, 5);
  receives(picture, 1, 0, 5);
  thread_of(picture, 0).since_ns = kNow - 1'000'000'000;
  CHECK(of(picture, 0).unknown);
  receives(picture, 1, 0, 6);
  CHECK(of(picture, 0).ranks == List{1});
}

TEST_CASE("what the other end has begun without waiting is under way") {
  Picture picture = job(2);
  know_all(picture);
  const Message sent = message(CallKind::send, 1, 5);
  for (const std::int32_t rank : {0, 1}) receives(picture, rank, 1 - rank, 5);
  CHECK(of(picture, 1).ranks == List{0});
  begin(picture, 0, sent);  // MPI_Isend
  CHECK(of(picture, 1).unknown);
  CHECK(of(picture, 1).ranks.empty());
  CHECK(of(picture, 0).ranks == List{1});
  const Message request = begin(picture, 1, message(CallKind::receive, 0, 5));
  CHECK(of(picture, 1).ranks == List{0});  // that message was received: another one is waited for
  receives(picture, 1, kAnySource, kAnyTag);
  CHECK(of(picture, 1).ranks == List{0});
  waits_for_all(picture, 1, {request});
  CHECK(of(picture, 1).unknown);
  // The other way round: MPI_Irecv.
  thread_of(picture, 0).last.clear();
  thread_of(picture, 1).last.clear();
  sends(picture, 0, 1, 5);
  receives(picture, 1, 0, 6);
  CHECK(of(picture, 0).ranks == List{1});
  begin(picture, 1, message(CallKind::receive, 0, 5));
  CHECK(of(picture, 0).unknown);
}

TEST_CASE(
    "where not all operations are known, the other half may have begun, for as long as a slow network "
    "takes") {
  Picture picture = job(2);
  const auto waits_for = [&](double seconds) {
    receives(picture, 1, 0, 5);
    thread_of(picture, 1).since_ns = kNow - static_cast<std::uint64_t>(seconds * 1e9);
  };
  waits_for(2);
  CHECK(of(picture, 1).unknown);
  waits_for(29);
  CHECK(of(picture, 1).unknown);
  waits_for(31);
  CHECK(of(picture, 1).ranks == List{0});
  Message large = message(CallKind::send, 1, 5);
  large.bytes = 1'000'000'000;
  begin(picture, 0, large);
  CHECK(of(picture, 1).unknown);
}

TEST_CASE("of receives that were posted together, each waits for the message of its turn") {
  Picture picture = job(2);
  know_all(picture);
  std::vector<Message> requests(4);
  for (Message& request : requests) request = begin(picture, 1, message(CallKind::receive, 0, 5));
  receives(picture, 0, 1, 9);
  for (std::size_t sent = 0; sent <= requests.size(); ++sent) {
    for (std::size_t waited = 0; waited < requests.size(); ++waited) {
      CAPTURE(sent, waited);
      waits_for_all(picture, 1, {requests[waited]});
      CHECK(of(picture, 1).ranks == (waited < sent ? List{} : List{0}));
      CHECK(of(picture, 1).unknown == (waited < sent));
    }
    // MPI_Waitany, in any order: any of them that comes ends the call.
    in(picture, 1, CallKind::any_request, "MPI_Waitany").messages = {requests[3], requests[1]};
    thread_of(picture, 1).call.one_suffices = true;
    CHECK(of(picture, 1).unknown == (sent > 1));
    begin(picture, 0, message(CallKind::send, 1, 5));
  }
}

TEST_CASE("an earlier receive of another sort may have taken the message, or not") {
  Picture picture = job(3);
  know_all(picture);
  for (const std::int32_t rank : {1, 2}) begin(picture, rank, message(CallKind::send, 0, 5));
  begin(picture, 0, message(CallKind::receive, kAnySource, 5));
  receives(picture, 0, 1, 5);
  thread_of(picture, 0).since_ns = kNow - 2'000'000'000;
  CHECK(of(picture, 0).unknown);
  begin(picture, 0, message(CallKind::receive, kAnySource, 5));  // both were received
  CHECK(of(picture, 0).unknown);                                 // which only both ends together show
  receives(picture, 0, kAnySource, 5);
  CHECK(of(picture, 0).ranks == List{1, 2});
  // A narrower one that is still open takes no message of another tag.
  picture = job(2);
  know_all(picture);
  begin(picture, 1, message(CallKind::receive, 0, 5));
  waits_for_all(picture, 1, {begin(picture, 1, message(CallKind::receive, 0, kAnyTag))}, 2);
  begin(picture, 0, message(CallKind::send, 1, 7));
  CHECK(of(picture, 1).unknown);
}

TEST_CASE("an operation of an unknown communicator may be the other half, or have met it") {
  Picture picture = job(2);
  know_all(picture);
  begin(picture, 1, message(CallKind::receive, 0, 5, 0));  // cancelled
  receives(picture, 1, 0, 5);
  thread_of(picture, 1).since_ns = kNow - 2'000'000'000;
  CHECK(of(picture, 1).ranks == List{0});
  begin(picture, 0, message(CallKind::send, 1, 5));
  CHECK(of(picture, 1).unknown);
  thread_of(picture, 0).last = {message(CallKind::send, 1, 5, 0)};
  CHECK(of(picture, 1).unknown);
}

TEST_CASE("whether a receive from any source has met its message, all senders say together") {
  Picture picture = job(3);
  know_all(picture);
  for (const std::int32_t rank : {1, 2}) begin(picture, rank, message(CallKind::send, 0, 5));
  for (int i = 0; i < 2; ++i) begin(picture, 0, message(CallKind::receive, kAnySource, 5));
  receives(picture, 0, kAnySource, 5);
  CHECK(of(picture, 0).ranks == List{1, 2});
  begin(picture, 0, message(CallKind::send, 0, 5));  // to itself
  CHECK(of(picture, 0).unknown);
}

TEST_CASE("a receive from any source on an intercommunicator has its message from the other side") {
  constexpr std::uint64_t kInter = 9;
  for (const std::int32_t receiver : {0, 2}) {
    Picture picture = job(3);
    know_all(picture);
    picture.contexts[kInter] = {.kind = ContextKind::intercommunicator, .members = {0, 1}, .others = {2}};
    in(picture, receiver, CallKind::receive, "MPI_Recv").messages = {
        message(CallKind::receive, kAnySource, 5, kInter)};
    CHECK_FALSE(of(picture, receiver).unknown);
    begin(picture, 2 - receiver, message(CallKind::send, receiver, 5, kInter));
    CHECK(of(picture, receiver).unknown);
  }
}

TEST_CASE("of several requests, one that can come is enough to hope for") {
  Picture picture = job(3);
  in(picture, 0, CallKind::all_requests, "MPI_Waitall").messages = {message(CallKind::receive, 1, 0),
                                                                    message(CallKind::receive, 2, 0)};
  CHECK(of(picture, 0).ranks == List{1, 2});
  CHECK(of(picture, 0).one_suffices);
}

TEST_CASE("of several requests, what was not sent is waited for, and not what was") {
  Picture picture = job(3);
  know_all(picture);
  const auto begins = [&](std::vector<Message> messages) {
    thread_of(picture, 0).last.clear();
    for (Message& each : messages) each = begin(picture, 0, each);
    waits_for_all(picture, 0, std::move(messages));
  };
  begins({message(CallKind::receive, 1, 0), message(CallKind::receive, 2, 0), message(CallKind::send, 1, 0),
          message(CallKind::send, 2, 0)});
  CHECK(of(picture, 0).ranks == List{1, 2});
  CHECK_FALSE(of(picture, 0).one_suffices);  // neither has sent; whether they receive may not matter
  begin(picture, 1, message(CallKind::send, 0, 0));
  CHECK(of(picture, 0).unknown);  // rank 1 computes: it may have to be asked for the data
  sends(picture, 1, 2, 9);
  CHECK(of(picture, 0).ranks == List{2});
  thread_of(picture, 0).since_ns = kNow - 1'000'000'000;
  CHECK(of(picture, 0).unknown);  // the data may still move
  // One came, two are waited for.
  begins({message(CallKind::receive, 1, 0), message(CallKind::receive, 1, 0)});
  CHECK(of(picture, 0).ranks == List{1});
  CHECK_FALSE(of(picture, 0).unknown);
  begin(picture, 1, message(CallKind::send, 0, 0));
  CHECK(of(picture, 0).unknown);
  // A thread that has ended may have sent more than is known.
  begins({message(CallKind::receive, 1, 1), message(CallKind::receive, 2, 1)});
  picture.processes[1].all_threads = false;
  picture.processes[2].all_threads = false;
  CHECK(of(picture, 0).ranks == List{1, 2});
  CHECK(of(picture, 0).one_suffices);
}

TEST_CASE("a collective waits for those that have begun fewer") {
  Picture picture = job(4);
  for (const std::int32_t rank : {0, 1, 2}) collective(picture, rank, "MPI_Barrier");
  CHECK(of(picture, 0).ranks == List{3});
  collective(picture, 3, "MPI_Barrier");
  CHECK(of(picture, 0).unknown);
  picture.processes[3].publishes = false;  // measured by an older hpcrun-lite, or not at all
  CHECK(of(picture, 0).unknown);
}

TEST_CASE("requests of which nothing is known may be what the call waits for") {
  Picture picture = job(2);
  Call& call = in(picture, 0, CallKind::all_requests, "MPI_Waitall");
  call.messages = {message(CallKind::receive, 1, 0)};
  CHECK_FALSE(of(picture, 0).unknown);
  call.others = true;
  CHECK(of(picture, 0).unknown);
}

TEST_CASE("of an exchange, the half that is still to come is not known") {
  Picture picture = job(3);
  in(picture, 0, CallKind::exchange, "MPI_Sendrecv").messages = {message(CallKind::send, 1, 0),
                                                                 message(CallKind::receive, 2, 0)};
  CHECK(of(picture, 0).ranks == List{1, 2});
  CHECK(of(picture, 0).one_suffices);
}

TEST_CASE("a collective needs all where each gives something to each") {
  Picture picture = job(3);
  collective(picture, 0, "MPI_Allreduce");
  CHECK_FALSE(of(picture, 0).one_suffices);
  collective(picture, 0, "MPI_Gather", 0);
  CHECK_FALSE(of(picture, 0).one_suffices);
  collective(picture, 1, "MPI_Bcast", 0);
  CHECK(of(picture, 1).one_suffices);
  for (const char* name : {"MPI_Scan", "MPI_Exscan", "MPI_Neighbor_allgather", "MPI_Alltoallv"}) {
    collective(picture, 2, name);
    CHECK(of(picture, 2).one_suffices);
  }
  for (const char* name : {"MPI_Alltoall", "MPI_Allgatherv", "MPI_Reduce_scatter", "of another MPI"}) {
    collective(picture, 2, name);
    CHECK_FALSE(of(picture, 2).one_suffices);
  }
}

TEST_CASE("a lock is waited for where it is held, not where it is wanted") {
  Picture picture = job(3);
  constexpr std::uint64_t kWindow = 9;
  const HeldLock lock{.window = kWindow, .target = 0, .exclusive = true};
  for (const std::int32_t rank : {1, 2}) thread_of(picture, rank).locks = {lock};
  collective(picture, 0, "MPI_Barrier");
  Call& call = in(picture, 2, CallKind::flush, "MPI_Win_unlock");
  call.context = kWindow;
  call.target = 0;
  CHECK(of(picture, 2).ranks == List{1});
  thread_of(picture, 0).inside = false;  // the target computes, and may be what the call waits for
  CHECK(of(picture, 2).unknown);
  thread_of(picture, 0).inside = true;
  Call& other = in(picture, 1, CallKind::flush, "MPI_Win_flush");
  other.context = kWindow;
  other.target = 0;
  CHECK(of(picture, 2).unknown);  // either may have it: the target has to answer
}

TEST_CASE("shared locks exclude exclusive ones alone") {
  Picture picture = job(3);
  constexpr std::uint64_t kWindow = 9;
  collective(picture, 0, "MPI_Barrier");
  thread_of(picture, 1).locks = {{.window = kWindow, .target = kAllTargets, .exclusive = false}};
  Call& call = in(picture, 2, CallKind::lock, "MPI_Win_lock");
  call.context = kWindow;
  call.target = 0;
  CHECK(of(picture, 2).unknown);
  call.exclusive = true;
  CHECK(of(picture, 2).ranks == List{1});
}

TEST_CASE("an epoch waits for those of its group that are not there") {
  Picture picture = job(3);
  Call& call = in(picture, 0, CallKind::complete, "MPI_Win_complete");
  call.context = 9;
  call.group = {1, 2};
  CHECK(of(picture, 0).ranks == List{1, 2});
  in(picture, 1, CallKind::wait, "MPI_Win_wait").context = 9;
  CHECK(of(picture, 0).ranks == List{2});
  thread_of(picture, 0).call.group = {1, 2, 7};  // which is not measured
  CHECK(of(picture, 0).ranks == List{2});
  CHECK(of(picture, 0).unknown);
}

TEST_CASE("MPI_Finalize waits for all that are not there, and for none that ended") {
  Picture picture = job(4);
  in(picture, 0, CallKind::finalize, "MPI_Finalize");
  in(picture, 1, CallKind::finalize, "MPI_Finalize");
  picture.processes[3].life = Life::ended;
  CHECK(of(picture, 0).ranks == List{2});
}
