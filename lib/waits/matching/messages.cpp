// Matches point-to-point messages and finds late senders and late receivers (docs/algorithms.md 7). The n-th
// send of a source, destination, tag and communicator matches the n-th receive posted for it. Sends travel to
// the rank of the analysis that has the receiver; where the sender may have waited, it reports back when the
// receive was posted. Receives with wildcards wait in their posting order (posting_order.cpp) until their
// source and tag are known. A matched probe takes its message, another probe only looks at it.
// Only operations without a partner are kept. Cost: a hash look-up per operation.
#include "waits/matching/messages.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace culprit::waits {

namespace trace = measurement::trace;
using trace::Operation;
using trace::OperationKind;

namespace {

Candidate late_receiver(EventId send, EventId posted, std::uint64_t posted_ns, std::uint32_t posted_context) {
  return {.event = send.index,
          .pattern = Pattern::late_receiver,
          .ns = posted_ns,
          .cause = posted,
          .cause_context = posted_context};
}

}  // namespace

/// A send that `sent()` makes, as often as it is needed: mostly right where it is kept.
template <typename MakeSent>
void Messages::arrive(const Channel& channel, MakeSent sent) {
  const auto entry = channels_.try_emplace(channel).first;
  Queues& queues = entry.value();
  while (!queues.arrivals.empty()) {
    const Arrival& arrival = arrivals_.front(queues.arrivals);
    const bool probe = arrival.probe;
    match(sent(), arrival);
    arrivals_.pop(queues.arrivals);
    if (probe) {
      --probes_;
      continue;
    }
    if (queues.arrivals.empty() && channels_.size() > kKeptChannels) channels_.erase(entry);
    return;
  }
  sends_.push(queues.sends, sent);
}

// ---- what the processes did

void Messages::send(const CallSite& call, const Operation& operation) {
  if (operation.peer == trace::kNobody) return;
  const bool blocking = operation.begins && operation.completes;
  if (operation.begins) {
    const View& view = contexts_.view(call.process, operation.context);
    const std::optional<std::int32_t> destination =
        view.members == nullptr ? std::nullopt : view.members->at(operation.peer);
    const int owner = destination ? roster_.owner_of(*destination) : -1;
    if (owner < 0 || view.shared == View::kUnknown) {
      ++ledger_.unmatched.strangers;
      return;
    }
    const bool buffered = operation.kind == OperationKind::send_buffered;
    // Of each channel all sends come from one rank of the analysis: nothing overtakes.
    if (owner == mail_.here()) {
      const Channel channel(view.shared, view.rank, *destination, operation.tag);
      arrive(channel, [&] {
        return Sent{.call = call.id,
                    .enter_ns = call.enter_ns,
                    .exit_ns = blocking ? call.exit_ns : operation.id,
                    .call_context = call.context,
                    .blocking = blocking,
                    .buffered = buffered,
                    .alone = call.alone};
      });
    } else {
      mail_.send(owner, SendLetter{.communicator = contexts_.shared(view.shared).global_id,
                                   .source = view.rank,
                                   .destination_rank = *destination,
                                   .tag = operation.tag,
                                   .call = call.id,
                                   .enter_ns = call.enter_ns,
                                   .exit_ns = blocking ? call.exit_ns : 0,
                                   .operation = operation.id,
                                   .blocking = blocking,
                                   .buffered = buffered,
                                   .alone = call.alone,
                                   .call_context = call.context});
    }
  }
  if (operation.completes && !blocking && operation.kind != OperationKind::send_buffered) {
    completions_.completed(call, operation.id);
  }
}

void Messages::receive(const CallSite& call, const Operation& operation) {
  if (operation.kind == OperationKind::receive_matched) return;  // the probe took the message
  if (operation.begins) {
    const View& view = contexts_.view(call.process, operation.context);
    if (view.shared == View::kUnknown) {
      ++ledger_.unmatched.strangers;
    } else if (operation.peer != trace::kNobody) {
      post(call, operation, view);
    }
  } else {
    complete(call, operation);
  }
}

void Messages::probe(const CallSite& call, const Operation& operation) {
  const View& view = contexts_.view(call.process, operation.context);
  if (operation.peer == trace::kNobody) return;
  if (view.shared == View::kUnknown) {
    ++ledger_.unmatched.strangers;
    return;
  }
  // A matched probe takes the message as a receive does; another one only looks at it.
  const bool looks = operation.id == 0;
  Posted posted{call.id, call.context, call.enter_ns, {}, view.shared, view.slot};
  PostingOrder& order = orders_[view.slot];
  if (order.idle()) {
    take_at_once(call, operation, posted, looks);
    return;
  }
  posted.ticket = order.post(operation.peer, operation.tag);
  arrive(call, operation, posted, looks);
}

void Messages::post(const CallSite& call, const Operation& operation, const View& view) {
  const auto any = [](std::int32_t number, std::int32_t wildcard) {
    return number == wildcard ? PostingOrder::kAny : number;
  };
  const auto posted = [&](const PostingOrder::Ticket& ticket) {
    return Posted{call.id, call.context, call.enter_ns, ticket, view.shared, view.slot};
  };
  PostingOrder& order = orders_[view.slot];
  if (operation.completes && order.idle()) {
    take_at_once(call, operation, posted({}), false);
    return;
  }
  const PostingOrder::Ticket ticket =
      order.post(any(operation.peer, trace::kAnySource), any(operation.tag, trace::kAnyTag));
  if (operation.completes) {
    arrive(call, operation, posted(ticket), false);
  } else {
    const auto [place, added] = posted_.try_emplace(call.process, operation.id);
    if (!added) forget(*place, call.rank);
    ::new (static_cast<void*>(place)) Posted(posted(ticket));
  }
}

/// Another receive has its request's number: only damage can say so. Nothing must wait for it.
void Messages::forget(const Posted& posted, std::int32_t destination_rank) {
  ++ledger_.unmatched.completions;
  orders_[posted.slot].withdraw(posted.ticket, ready_);
  release(posted, destination_rank);
}

void Messages::complete(const CallSite& call, const Operation& operation) {
  const Posted* const posted = posted_.find(call.process, operation.id);
  if (posted == nullptr) {
    // MPI_PROC_NULL is posted nowhere; anything else began before the trace did.
    if (operation.peer != trace::kNobody) ++ledger_.unmatched.completions;
    return;
  }
  if (operation.cancelled || operation.peer < 0) {
    orders_[posted->slot].withdraw(posted->ticket, ready_);
    release(*posted, call.rank);
  } else {
    arrive(call, operation, *posted, false);
  }
  posted_.erase(call.process, operation.id);
}

void Messages::arrive(const CallSite& call, const Operation& operation, const Posted& posted, bool probe) {
  if (orders_[posted.slot].take(posted.ticket, operation.peer, operation.tag)) {
    take_at_once(call, operation, posted, probe);
    return;
  }
  std::uint64_t item = held_.size();
  if (free_.empty()) {
    held_.emplace_back();
  } else {
    item = free_.back();
    free_.pop_back();
  }
  held_[item] = arrival(call, posted, probe);
  orders_[posted.slot].complete(posted.ticket, operation.peer, operation.tag, item, ready_);
  release(posted, call.rank);
}

Messages::Arrival Messages::arrival(const CallSite& call, const Posted& posted, bool probe) {
  return {.posted = posted.call,
          .completed = call.id,
          .posted_ns = posted.enter_ns,
          .enter_ns = call.enter_ns,
          .exit_ns = call.exit_ns,
          .received_ns = call.received_ns,
          .any = call.any,
          .probe = probe,
          .posted_context = posted.call_context};
}

/// Nothing else that is posted may take its message.
void Messages::take_at_once(const CallSite& call, const Operation& operation, const Posted& posted,
                            bool probe) {
  take({posted.context, operation.peer, call.rank, operation.tag},
       [&] { return arrival(call, posted, probe); });
}

void Messages::release(const Posted& posted, std::int32_t destination_rank) {
  for (const PostingOrder::Receive& receive : ready_) {
    take({posted.context, receive.source, destination_rank, receive.tag},
         [&]() -> const Arrival& { return held_[receive.item]; });
    free_.push_back(receive.item);
  }
  ready_.clear();
}

// ---- what meets

/// An arrival that `arrived()` makes, once: mostly right where it is kept.
template <typename MakeArrival>
void Messages::take(const Channel& channel, MakeArrival arrived) {
  const auto entry = channels_.try_emplace(channel).first;
  Queues& queues = entry.value();
  if (queues.sends.empty()) {
    if (arrivals_.push(queues.arrivals, arrived).probe) ++probes_;
    return;
  }
  const Arrival& arrival = arrived();
  match(sends_.front(queues.sends), arrival);
  if (arrival.probe) return;
  sends_.pop(queues.sends);
  if (queues.sends.empty() && channels_.size() > kKeptChannels) channels_.erase(entry);
}

void Messages::receive(const SendLetter& letter) {
  if (letter.communicator != communicator_ || !context_) {
    communicator_ = letter.communicator;
    context_ = contexts_.find(letter.communicator);
  }
  if (!context_) {
    ++ledger_.unmatched.sends;
    return;
  }
  const Channel channel(*context_, letter.source, letter.destination_rank, letter.tag);
  arrive(channel, [&letter] {
    return Sent{.call = letter.call,
                .enter_ns = letter.enter_ns,
                .exit_ns = letter.blocking ? letter.exit_ns : letter.operation,
                .call_context = letter.call_context,
                .blocking = letter.blocking,
                .buffered = letter.buffered,
                .alone = letter.alone};
  });
}

void Messages::match(const Sent& send, const Arrival& arrival) {
  const Location receiver = arrival.completed.location;
  if (send.enter_ns > arrival.exit_ns)
    ledger_.add(
        ClockViolation{.location = receiver, .received_ns = arrival.exit_ns, .sent_ns = send.enter_ns});
  const bool before = send.enter_ns <= arrival.enter_ns;
  if (arrival.any || !before) {
    ledger_.add(arrival.completed, [&] {
      return Candidate{.event = arrival.completed.index,
                       .pattern = Pattern::late_sender,
                       .ns = send.enter_ns,
                       .cause = send.call,
                       .cause_context = send.call_context};
    });
  }
  if (arrival.probe) return;
  // A message that was sent only now was there during no wait before.
  if (send.enter_ns < arrival.received_ns)
    ledger_.add(receiver, Receipt{.event = arrival.completed.index, .sent_ns = send.enter_ns});
  if (may_have_waited(send, arrival)) tell_sender(send, arrival);
}

/// Whether the receive's posting may matter to the call that the send is complete in.
bool Messages::may_have_waited(const Sent& send, const Arrival& arrival) {
  if (send.buffered) return false;
  if (!send.blocking) return true;
  // What was posted too late to be waited for only tells that the call's other operations were not, either.
  return arrival.posted_ns > send.enter_ns && (!send.alone || arrival.posted_ns < send.exit_ns);
}

void Messages::tell_sender(const Sent& send, const Arrival& arrival) {
  const std::int32_t rank = roster_.rank_of(send.call.location);
  const std::uint64_t operation = send.blocking ? 0 : send.exit_ns;
  const int owner = roster_.owner_of(rank);
  if (owner == mail_.here()) {
    depend(late_receiver(send.call, arrival.posted, arrival.posted_ns, arrival.posted_context),
           send.call.location, rank, send.blocking, operation);
  } else {
    mail_.send(owner, ReceiptLetter{.source_rank = rank,
                                    .blocking = send.blocking,
                                    .posted_context = arrival.posted_context,
                                    .send = send.call,
                                    .posted = arrival.posted,
                                    .posted_ns = arrival.posted_ns,
                                    .operation = operation});
  }
}

void Messages::receive(const ReceiptLetter& letter) {
  depend(late_receiver(letter.send, letter.posted, letter.posted_ns, letter.posted_context),
         letter.send.location, letter.source_rank, letter.blocking, letter.operation);
}

/// The sender on the receiver.
void Messages::depend(const Candidate& candidate, Location sender, std::int32_t rank, bool blocking,
                      std::uint64_t operation) {
  if (blocking) {
    ledger_.add(sender, candidate);
  } else {
    completions_.depends(rank, operation, candidate);
  }
}

void Messages::finish() {
  ledger_.unmatched.sends += sends_.size();
  ledger_.unmatched.probes += probes_;
  ledger_.unmatched.receives += arrivals_.size() - probes_;
  ledger_.unmatched.receives += posted_.size();
  for (const PostingOrder& order : orders_) ledger_.unmatched.receives += order.held_back();
}

}  // namespace culprit::waits
