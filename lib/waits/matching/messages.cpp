// Matches point-to-point messages and finds late senders and late receivers (docs/algorithms.md 7). The n-th
// send of a source, destination, tag and communicator matches the n-th receive posted for it. Sends travel to
// the rank of the analysis that has the receiver; where the sender may have waited, it reports back when the
// receive was posted. Receives with wildcards wait in their posting order (posting_order.cpp) until their
// source and tag are known. A matched probe takes its message, another probe only looks at it.
// Only operations without a partner are kept. Cost: a hash look-up per operation.
#include "waits/matching/messages.hpp"

#include "waits/timeline/dependencies.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace culprit::waits {

namespace trace = measurement::trace;
using trace::Operation;
using trace::OperationKind;

namespace {

/// As a dependency knows it.
std::uint16_t size_of(const Operation& operation) {
  return operation.kind == OperationKind::send_synchronous ? Dependency::kSynchronous
                                                           : size_code(operation.bytes);
}

}  // namespace

// ---- what the processes did

void Messages::send(const CallSite& call, const Operation& operation) {
  if (operation.peer == trace::kNobody) return;
  const bool blocking = operation.begins && operation.completes;
  if (operation.begins) {
    const View& view = contexts_.view(call.process, operation.context);
    const std::optional<std::int32_t> destination =
        view.members == nullptr ? std::nullopt : view.members->at(operation.peer);
    const int owner = destination ? rank_map_.owner_of(*destination) : -1;
    if (owner < 0 || view.shared == View::kUnknown) {
      ++store_.unmatched.strangers;
      return;
    }
    exchange_.send(owner, SendNotice{.communicator = contexts_.shared(view.shared).global_id,
                                     .source = view.rank,
                                     .destination_rank = *destination,
                                     .tag = operation.tag,
                                     .sent = {.call = call.id,
                                              .enter_ns = call.enter_ns,
                                              .exit_ns = blocking ? call.exit_ns : operation.id,
                                              .call_context = call.context,
                                              .blocking = blocking,
                                              .buffered = operation.kind == OperationKind::send_buffered,
                                              .alone = call.alone,
                                              .size = size_of(operation)}});
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
      ++store_.unmatched.strangers;
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
    ++store_.unmatched.strangers;
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
    *place = posted(ticket);
  }
}

/// Another receive has its request's number: only damage can say so. Nothing must wait for it.
void Messages::forget(const Posted& posted, std::int32_t destination_rank) {
  ++store_.unmatched.completions;
  orders_[posted.slot].withdraw(posted.ticket, ready_);
  release(posted, destination_rank);
}

void Messages::complete(const CallSite& call, const Operation& operation) {
  const Posted* const posted = posted_.find(call.process, operation.id);
  if (posted == nullptr) {
    // MPI_PROC_NULL is posted nowhere; anything else began before the trace did.
    if (operation.peer != trace::kNobody) ++store_.unmatched.completions;
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
  take({posted.context, operation.peer, call.rank, operation.tag}, arrival(call, posted, probe));
}

void Messages::release(const Posted& posted, std::int32_t destination_rank) {
  for (const PostingOrder::Receive& receive : ready_) {
    take({posted.context, receive.source, destination_rank, receive.tag}, held_[receive.item]);
    free_.push_back(receive.item);
  }
  ready_.clear();
}

// ---- sends and receives that match

void Messages::take(const Channel& channel, const Arrival& arrival) {
  const auto entry = channels_.try_emplace(channel).first;
  Queues& queues = entry.value();
  if (queues.sends.empty()) {
    arrivals_.push(queues.arrivals, arrival);
    if (arrival.probe) ++probes_;
    return;
  }
  match(sends_.front(queues.sends), arrival);
  if (arrival.probe) return;
  sends_.pop(queues.sends);
  if (queues.sends.empty() && channels_.size() > kKeptChannels) channels_.erase(entry);
}

void Messages::receive(const SendNotice& notice) {
  if (notice.communicator != communicator_ || !context_) {
    communicator_ = notice.communicator;
    context_ = contexts_.find(notice.communicator);
  }
  if (!context_) {
    ++store_.unmatched.sends;
    return;
  }
  const auto entry =
      channels_.try_emplace({*context_, notice.source, notice.destination_rank, notice.tag}).first;
  Queues& queues = entry.value();
  while (!queues.arrivals.empty()) {
    const Arrival arrival = arrivals_.front(queues.arrivals);
    arrivals_.pop(queues.arrivals);
    match(notice.sent, arrival);
    if (arrival.probe) {
      --probes_;
      continue;
    }
    if (queues.arrivals.empty() && channels_.size() > kKeptChannels) channels_.erase(entry);
    return;
  }
  sends_.push(queues.sends, notice.sent);
}

/// Both depend on each other; on whether the send does, size and kind decide.
void Messages::depend(const Sent& send, const Arrival& arrival) {
  Dependencies& all = *store_.dependencies;
  all.add(arrival.completed.location,
          {.event = arrival.completed.index, .pattern = WaitPattern::late_sender, .cause = send.call});
  if (arrival.probe || send.buffered) return;
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

void Messages::match(const Sent& send, const Arrival& arrival) {
  if (store_.dependencies != nullptr) depend(send, arrival);
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
  if (arrival.probe) return;
  // A message that was sent only now was there during no wait before.
  if (send.enter_ns < arrival.received_ns)
    store_.add(receiver, Receipt{.event = arrival.completed.index, .sent_ns = send.enter_ns});
  if (may_have_waited(send, arrival)) notify_sender(send, arrival);
}

/// Whether the receive's posting may matter to the call that the send is complete in.
bool Messages::may_have_waited(const Sent& send, const Arrival& arrival) {
  if (send.buffered) return false;
  if (!send.blocking) return true;
  // What was posted too late to be waited for only shows that the call's other sends up to its size were not,
  // either.
  return arrival.posted_ns > send.enter_ns && (!send.alone || arrival.posted_ns < send.exit_ns);
}

void Messages::notify_sender(const Sent& send, const Arrival& arrival) {
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

void Messages::receive(const ReceiptNotice& notice) {
  if (notice.blocking) {
    store_.add(notice.sender, notice.candidate);
  } else {
    completions_.depends(notice.source_rank, notice.operation, notice.candidate);
  }
}

void Messages::finish() {
  store_.unmatched.sends += sends_.size();
  store_.unmatched.probes += probes_;
  store_.unmatched.receives += arrivals_.size() - probes_;
  store_.unmatched.receives += posted_.size();
  for (const PostingOrder& order : orders_) store_.unmatched.receives += order.held_back();
}

}  // namespace culprit::waits
