#include "waits/matching/matched_messages.hpp"

#include "waits/timeline/dependencies.hpp"

namespace culprit::waits {

/// Both depend on each other; on whether the send does, size and kind decide.
void MatchedMessages::depend(const Sent& send, const Arrival& arrival) {
  Dependencies& all = *store_.dependencies;
  if (arrival.taker != Taker::freed) {
    all.add(arrival.completed.location,
            {.event = arrival.completed.index, .pattern = WaitPattern::late_sender, .cause = send.call});
  }
  if (arrival.taker == Taker::probe || send.buffered) return;
  const Dependency on_receive{.event = send.call.index,
                              .pattern = WaitPattern::late_receiver,
                              .size = send.size,
                              .cause = arrival.posted};
  if (send.blocking) {
    all.add(send.call.location, on_receive);
  } else {
    all.of_operation(rank_map_.rank_of(send.call.location), send.exit_ns, on_receive);
  }
}

void MatchedMessages::match(const Sent& send, const Arrival& arrival) {
  if (store_.dependencies != nullptr) depend(send, arrival);
  if (arrival.taker != Taker::freed) see(send, arrival);
  if (arrival.taker != Taker::probe && may_have_waited(send, arrival)) notify_sender(send, arrival);
  if (arrival.taker == Taker::receive && !send.buffered && MessageReturns::may_stand_still(send.size))
    compare_returns(send, arrival);
}

/// Of two blocking calls, the later one decides what was waited for: neither computes between.
void MatchedMessages::compare_returns(const Sent& send, const Arrival& arrival) {
  const MessageEnd receiver{.call = arrival.completed,
                            .begun_ns = arrival.posted_ns,
                            .left_ns = arrival.left_ns,
                            .enter_ns = arrival.enter_ns,
                            .exit_ns = arrival.exit_ns,
                            .context = arrival.completed_context,
                            .any = arrival.any};
  if (!send.blocking) {
    returns_.received(send.call.location, send.exit_ns, send.size, receiver);
  } else if (arrival.posted != arrival.completed) {
    returns_.compare({.call = send.call,
                      .begun_ns = send.enter_ns,
                      .enter_ns = send.enter_ns,
                      .exit_ns = send.exit_ns,
                      .context = send.call_context},
                     receiver, send.size);
  }
}

/// The receiver sees the message.
void MatchedMessages::see(const Sent& send, const Arrival& arrival) {
  const Location receiver = arrival.completed.location;
  if (send.enter_ns > arrival.exit_ns)
    store_.add(
        ClockViolation{.location = receiver, .received_ns = arrival.exit_ns, .sent_ns = send.enter_ns});
  const bool before = send.enter_ns <= arrival.enter_ns;
  if (arrival.any || !before) {
    store_.add(receiver, Candidate{.event = arrival.completed.index,
                                   .pattern = WaitPattern::late_sender,
                                   .ns = send.enter_ns,
                                   .cause = send.call,
                                   .cause_context = send.call_context});
  }
  // A message that was sent only now was there during no wait before.
  if (arrival.taker == Taker::receive && send.enter_ns < arrival.received_ns)
    store_.add(receiver, Receipt{.event = arrival.completed.index, .sent_ns = send.enter_ns});
}

/// Whether the receive's posting may matter to the call that the send is complete in.
bool MatchedMessages::may_have_waited(const Sent& send, const Arrival& arrival) {
  if (send.buffered) return false;
  if (!send.blocking) return true;
  // What was posted too late to be waited for only shows that the call's other sends up to its size were not,
  // either.
  return arrival.posted_ns > send.enter_ns && (!send.alone || arrival.posted_ns < send.exit_ns);
}

void MatchedMessages::notify_sender(const Sent& send, const Arrival& arrival) {
  const std::int32_t rank = rank_map_.rank_of(send.call.location);
  exchange_.send(rank_map_.owner_of(rank),
                 ReceiptNotice{.source_rank = rank,
                               .blocking = send.blocking,
                               .operation = send.blocking ? 0 : send.exit_ns,
                               .candidate = {.event = send.call.index,
                                             .pattern = WaitPattern::late_receiver,
                                             .size = send.size,
                                             .ns = arrival.posted_ns,
                                             .cause = arrival.posted,
                                             .cause_context = arrival.posted_context},
                               .sender = send.call.location});
}

void MatchedMessages::receive(const ReceiptNotice& notice) {
  if (notice.blocking) {
    store_.add(notice.sender, notice.candidate);
  } else {
    completions_.depends(notice.source_rank, notice.operation, notice.candidate);
  }
}

}  // namespace culprit::waits
