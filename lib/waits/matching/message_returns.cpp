// Finds who waited for a large message until its other end came back into MPI to complete it
// (docs/algorithms.md 7, Late return; our own). Such messages move in several steps, with which most
// libraries go on only while both ends are inside MPI: halos that were posted early stand still while a
// neighbour computes. A call waited for that where it ended after the other end's completing call was
// entered, and sooner after that than it had waited before, and the other end was outside MPI for half of
// that or more. What happens then is the transfer, no waiting. Messages that need one step end independently
// of each other. Cost: one message per large nonblocking send, and one per wait.
#include "waits/matching/message_returns.hpp"

#include "waits/timeline/dependencies.hpp"

#include <algorithm>

namespace culprit::waits {

namespace {

constexpr std::uint64_t kSeveralSteps = 16384;  // bytes: libraries send less at once (lib/waits/replay)

/// Whether `end` was held up until `other` came back.
bool waited(const MessageEnd& end, const MessageEnd& other) {
  if (end.any || other.enter_ns <= end.enter_ns || other.enter_ns >= end.exit_ns) return false;
  const std::uint64_t free_ns = std::max(end.enter_ns, other.begun_ns);
  if (free_ns >= other.enter_ns) return false;
  const std::uint64_t wait_ns = other.enter_ns - free_ns;
  const std::uint64_t outside_ns = other.enter_ns - std::max(free_ns, other.left_ns);
  return end.exit_ns - other.enter_ns <= wait_ns && 2 * outside_ns >= wait_ns;
}

}  // namespace

bool MessageReturns::may_stand_still(std::uint16_t size) {
  static const std::uint16_t least = size_code(kSeveralSteps);
  return size >= least;
}

void MessageReturns::begin(const CallSite& call, std::uint64_t operation) {
  Open& open = *open_.try_emplace(call.process, operation).first;
  open = {};
  open.begun_ns = call.enter_ns;
}

void MessageReturns::complete(const CallSite& call, std::uint64_t operation) {
  Open* const open = open_.find(call.process, operation);
  if (open == nullptr) return;
  const MessageEnd sender{.call = call.id,
                          .begun_ns = open->begun_ns,
                          .left_ns = call.left_ns,
                          .enter_ns = call.enter_ns,
                          .exit_ns = call.exit_ns,
                          .context = call.context,
                          .any = call.any};
  if (!open->received) {
    open->complete = sender;
    open->sent = true;
    return;
  }
  compare(sender, open->complete, open->size);
  open_.erase(call.process, operation);
}

void MessageReturns::received(Location sender, std::uint64_t operation, std::uint16_t size,
                              const MessageEnd& receiver) {
  const std::int32_t rank = rank_map_.rank_of(sender);
  exchange_.send(
      rank_map_.owner_of(rank),
      ReceivedNotice{.source_rank = rank, .operation = operation, .size = size, .receiver = receiver});
}

void MessageReturns::receive(const ReceivedNotice& notice) {
  const std::uint32_t process = completions_.process_of(notice.source_rank);
  Open* const open = open_.find(process, notice.operation);
  if (open == nullptr) return;
  if (!open->sent) {
    open->complete = notice.receiver;
    open->size = notice.size;
    open->received = true;
    return;
  }
  compare(open->complete, notice.receiver, notice.size);
  open_.erase(process, notice.operation);
}

void MessageReturns::compare(const MessageEnd& sender, const MessageEnd& receiver, std::uint16_t size) {
  const bool receiver_waited = waited(receiver, sender);
  if (!receiver_waited && !waited(sender, receiver)) return;
  const MessageEnd& waiter = receiver_waited ? receiver : sender;
  const MessageEnd& late = receiver_waited ? sender : receiver;
  const Candidate candidate{
      .event = waiter.call.index,
      .pattern = receiver_waited ? WaitPattern::late_sender : WaitPattern::late_receiver,
      .returned = true,
      .size = size,
      .ns = late.enter_ns,
      .cause = late.call,
      .cause_context = late.context};
  exchange_.send(rank_map_.holder_of(waiter.call.location),
                 MessageReturnNotice{.waiter = waiter.call.location, .candidate = candidate});
}

}  // namespace culprit::waits
