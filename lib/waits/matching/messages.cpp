// Matches point-to-point messages and finds late senders and late receivers (docs/algorithms.md 7). The n-th
// send of a source, destination, tag and communicator matches the n-th receive posted for it. Sends travel to
// the rank of the analysis that has the receiver; where the sender may have waited, it reports back when the
// receive was posted. Receives with wildcards wait in their posting order (posting_order.cpp) until their
// source and tag are known. A matched probe takes its message, another probe only looks at it. A receive that
// is freed before it is complete takes the next message for it, which nobody is seen to wait for. Where it
// was posted with a wildcard, nobody is told which that is: in the end it is the first one of those channels
// that have more messages than receives, and until then all receives behind it that fit are held back. Only
// operations without a partner are kept. Cost: a hash look-up per operation.
#include "waits/matching/messages.hpp"

#include "waits/timeline/dependencies.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace culprit::waits {

namespace trace = measurement::trace;
using trace::Operation;
using trace::OperationKind;

namespace {

/// Buffered, or complete although its call only starts it.
bool never_waits(const Operation& operation) {
  return operation.kind == OperationKind::send_buffered ||
         (operation.begins && operation.completes && operation.id != 0);
}

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
                                              .buffered = never_waits(operation),
                                              .alone = call.alone,
                                              .size = size_of(operation)}});
    if (!blocking && !never_waits(operation) && MessageReturns::may_stand_still(size_of(operation)))
      returns_.begin(call, operation.id);
  }
  if (operation.completes && !blocking && operation.kind != OperationKind::send_buffered) {
    completions_.completed(call, operation.id);
    returns_.complete(call, operation.id);
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
  } else if (operation.completes) {
    complete(call, operation);
  } else {
    free(call, operation);
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
  const Taker taker = operation.id == 0 ? Taker::probe : Taker::receive;
  Posted posted{call.id, call.context, call.enter_ns, {}, view.shared, view.slot};
  PostingOrder& order = orders_[view.slot];
  if (order.idle()) {
    take_at_once(call, operation, posted, taker);
    return;
  }
  posted.ticket = order.post(operation.peer, operation.tag);
  arrive(call, operation, posted, taker);
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
    take_at_once(call, operation, posted({}), Taker::receive);
    return;
  }
  const PostingOrder::Ticket ticket =
      order.post(any(operation.peer, trace::kAnySource), any(operation.tag, trace::kAnyTag));
  if (operation.completes) {
    arrive(call, operation, posted(ticket), Taker::receive);
  } else {
    const auto [place, added] = posted_.try_emplace(call.process, operation.id);
    if (!added) forget(*place);
    *place = posted(ticket);
  }
}

/// Another receive has its request's number: only damage can say so. Nothing must wait for it.
void Messages::forget(const Posted& posted) {
  ++store_.unmatched.completions;
  withdraw(posted);
}

void Messages::withdraw(const Posted& posted) {
  orders_[posted.slot].withdraw(posted.ticket, ready_);
  take_ready();
}

void Messages::complete(const CallSite& call, const Operation& operation) {
  const Posted* const posted = posted_.find(call.process, operation.id);
  if (posted == nullptr) {
    // MPI_PROC_NULL is posted nowhere; anything else began before the trace did.
    if (operation.peer != trace::kNobody) ++store_.unmatched.completions;
    return;
  }
  if (operation.cancelled || operation.peer < 0) {
    withdraw(*posted);
  } else {
    arrive(call, operation, *posted, Taker::receive);
  }
  posted_.erase(call.process, operation.id);
}

/// No call sees it complete.
void Messages::free(const CallSite& call, const Operation& operation) {
  const Posted* const posted = posted_.find(call.process, operation.id);
  if (posted == nullptr) {
    ++store_.unmatched.completions;
    return;
  }
  if (operation.peer == trace::kAnySource || operation.tag == trace::kAnyTag) {
    freed_.push_back({.call = call, .operation = operation, .posted = *posted});
  } else {
    arrive(call, operation, *posted, Taker::freed);
  }
  posted_.erase(call.process, operation.id);
}

void Messages::arrive(const CallSite& call, const Operation& operation, const Posted& posted, Taker taker) {
  if (orders_[posted.slot].take(posted.ticket, operation.peer, operation.tag)) {
    take_at_once(call, operation, posted, taker);
    return;
  }
  const Held held{.channel = channel(call, operation, posted), .arrival = arrival(call, posted, taker)};
  std::uint64_t item = held_.size();
  if (free_.empty()) {
    held_.push_back(held);
  } else {
    item = free_.back();
    free_.pop_back();
    held_[item] = held;
  }
  orders_[posted.slot].complete(posted.ticket, operation.peer, operation.tag, item, ready_);
  take_ready();
}

Channel Messages::channel(const CallSite& call, const Operation& operation, const Posted& posted) {
  return {posted.context, operation.peer, call.rank, operation.tag};
}

Arrival Messages::arrival(const CallSite& call, const Posted& posted, Taker taker) {
  return {.posted = posted.call,
          .completed = call.id,
          .posted_ns = posted.enter_ns,
          .enter_ns = call.enter_ns,
          .exit_ns = call.exit_ns,
          .received_ns = call.received_ns,
          .left_ns = call.left_ns,
          .any = call.any,
          .taker = taker,
          .posted_context = posted.call_context,
          .completed_context = call.context};
}

/// Nothing else that is posted may take its message.
void Messages::take_at_once(const CallSite& call, const Operation& operation, const Posted& posted,
                            Taker taker) {
  channels_.take(channel(call, operation, posted), arrival(call, posted, taker));
}

void Messages::take_ready() {
  for (const PostingOrder::Receive& receive : ready_) {
    channels_.take(held_[receive.item].channel, held_[receive.item].arrival);
    free_.push_back(receive.item);
  }
  ready_.clear();
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
  channels_.send({*context_, notice.source, notice.destination_rank, notice.tag}, notice.sent);
}

// ---- receives with wildcards that were freed

std::vector<const Messages::Held*> Messages::held_back() const {
  std::vector<bool> gone(held_.size());
  for (const std::uint64_t item : free_) gone[item] = true;
  std::vector<const Held*> found;
  for (std::size_t item = 0; item < held_.size(); ++item) {
    if (!gone[item]) found.push_back(&held_[item]);
  }
  return found;
}

/// How many messages of each channel have no receive, not even one that is held back.
std::map<Channel, std::int64_t> Messages::surplus() const {
  std::map<Channel, std::int64_t> surplus = channels_.waiting_sends();
  for (const Held* held : held_back()) {
    const auto found = surplus.find(held->channel);
    if (found != surplus.end() && held->arrival.taker != Taker::probe) --found->second;
  }
  std::erase_if(surplus, [](const auto& one) { return one.second <= 0; });
  return surplus;
}

void Messages::place_freed() {
  if (freed_.empty()) return;
  std::sort(freed_.begin(), freed_.end(), [](const Freed& a, const Freed& b) {
    return std::pair(a.posted.slot, a.posted.ticket.sequence) <
           std::pair(b.posted.slot, b.posted.ticket.sequence);
  });
  std::map<Channel, std::int64_t> left = surplus();
  for (Freed& one : freed_) {
    const auto sent_ns = [this](const auto& channel) { return channels_.first_sent_ns(channel->first); };
    auto first = left.end();
    for (auto channel = left.begin(); channel != left.end(); ++channel) {
      if (fits(one, channel->first) && (first == left.end() || sent_ns(channel) < sent_ns(first)))
        first = channel;
    }
    if (first == left.end()) {
      ++store_.unmatched.receives;
      store_.unmatched_ranks.insert(one.call.rank);
      withdraw(one.posted);
      continue;
    }
    one.operation.peer = first->first.source();
    one.operation.tag = first->first.tag();
    if (--first->second == 0) left.erase(first);
    arrive(one.call, one.operation, one.posted, Taker::freed);
  }
  freed_.clear();
}

bool Messages::fits(const Freed& receive, const Channel& channel) {
  const Operation& posted = receive.operation;
  const bool any_source = posted.peer == trace::kAnySource, any_tag = posted.tag == trace::kAnyTag;
  return channel == Channel(receive.posted.context, any_source ? channel.source() : posted.peer,
                            receive.call.rank, any_tag ? channel.tag() : posted.tag);
}

void Messages::finish() {
  store_.unmatched.sends += channels_.sends();
  store_.unmatched.probes += channels_.probes();
  store_.unmatched.receives += channels_.receives();
  store_.unmatched.receives += posted_.size();
  for (const PostingOrder& order : orders_) store_.unmatched.receives += order.held_back();
  const auto of = [this](const EventId& call) {
    store_.unmatched_ranks.insert(rank_map_.rank_of(call.location));
  };
  channels_.for_each_call(of);
  posted_.for_each([&](const Posted& posted) { of(posted.call); });
  for (const Held* held : held_back()) of(held->arrival.posted);
}

}  // namespace culprit::waits
