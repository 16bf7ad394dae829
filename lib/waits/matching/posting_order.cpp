// Brings the receives of a process in one communicator into the order in which MPI lets them take messages
// (MPI-3.1, 3.5; docs/algorithms.md 7): the order of posting among all that might take the same message. A
// complete receive is held back while an earlier open one was posted for its source and tag, or with a
// wildcard that fits. Open receives are kept by what they were posted for, so only the first open receive of
// four kinds has to be looked at; a receive that is held back waits at that one. Cost: O(log n) per receive,
// constant where no wildcard is open.
#include "waits/matching/posting_order.hpp"

#include <algorithm>

namespace culprit::waits {

namespace {

bool is_any(std::uint64_t kind) {
  constexpr auto kAny = static_cast<std::uint32_t>(PostingOrder::kAny);
  return kind >> 32 == kAny || static_cast<std::uint32_t>(kind) == kAny;
}

}  // namespace

PostingOrder::Ticket PostingOrder::post(std::int32_t source, std::int32_t tag) {
  const Key key = storage::joined(source, tag);
  const auto [entry, added] = numbers_.try_emplace(key, static_cast<std::uint32_t>(kinds_.size()));
  if (added && free_.empty()) {
    kinds_.emplace_back().key = key;
  } else if (added) {
    entry.value() = free_.back();
    free_.pop_back();
    kinds_[entry->second].key = key;
  }
  const Ticket ticket{.sequence = next_++, .kind = entry->second};
  kinds_[ticket.kind].posted.emplace_back(ticket.sequence, false);
  ++open_;
  if (is_any(key)) ++open_any_;
  return ticket;
}

void PostingOrder::complete(const Ticket& ticket, std::int32_t source, std::int32_t tag, std::uint64_t item,
                            std::vector<Receive>& ready) {
  // Before it is taken from the posted ones: those behind it must come behind it.
  const Receive receive{.sequence = ticket.sequence, .source = source, .tag = tag, .item = item};
  Kind& posted = kinds_[ticket.kind];
  place(receive, posted.key == storage::joined(source, tag) ? &posted : find(storage::joined(source, tag)),
        ready);
  remove(ticket, ready);
}

void PostingOrder::withdraw(const Ticket& ticket, std::vector<Receive>& ready) {
  remove(ticket, ready);
}

PostingOrder::Kind* PostingOrder::find(Key key) {
  const auto found = numbers_.find(key);
  return found == numbers_.end() ? nullptr : &kinds_[found->second];
}

/// Whether the receive now waits for the first open one of another kind.
bool PostingOrder::hold_back(Kind& rival, const Receive& receive) {
  if (rival.next() >= receive.sequence) return false;
  rival.waiting.push(receive);
  ++held_back_;
  return true;
}

void PostingOrder::place(const Receive& receive, std::vector<Receive>& ready) {
  place(receive, find(storage::joined(receive.source, receive.tag)), ready);
}

/// To `ready`, or to those who wait for the first open receive of a kind that might take the same message.
void PostingOrder::place(const Receive& receive, Kind* exact, std::vector<Receive>& ready) {
  if (exact != nullptr && hold_back(*exact, receive)) return;
  if (open_any_ > 0) {
    for (const Key rival : {storage::joined(kAny, receive.tag), storage::joined(receive.source, kAny),
                            storage::joined(kAny, kAny)}) {
      Kind* const kind = find(rival);
      if (kind != nullptr && hold_back(*kind, receive)) return;
    }
  }
  ready.push_back(receive);
}

bool PostingOrder::take(const Ticket& ticket, std::int32_t source, std::int32_t tag) {
  Kind& kind = kinds_[ticket.kind];
  if (open_any_ > 0 || kind.key != storage::joined(source, tag) || kind.next() != ticket.sequence)
    return false;
  if (!kind.waiting.empty() || numbers_.size() > kKeptKinds) return false;
  --open_;
  take_off(kind, ticket.sequence);
  return true;
}

/// From the posted ones.
void PostingOrder::take_off(Kind& kind, Sequence sequence) {
  if (kind.next() == sequence) {
    ++kind.first;
  } else {
    const auto begin = kind.posted.begin() + static_cast<std::ptrdiff_t>(kind.first);
    std::lower_bound(begin, kind.posted.end(), std::pair{sequence, false})->second = true;
  }
  while (!kind.empty() && kind.posted[kind.first].second) ++kind.first;
  if (2 * kind.first >= kind.posted.size()) {
    kind.posted.erase(kind.posted.begin(), kind.posted.begin() + static_cast<std::ptrdiff_t>(kind.first));
    kind.first = 0;
  }
}

void PostingOrder::remove(const Ticket& ticket, std::vector<Receive>& ready) {
  Kind& kind = kinds_[ticket.kind];
  --open_;
  if (is_any(kind.key)) --open_any_;
  take_off(kind, ticket.sequence);
  std::vector<Receive> freed;
  while (!kind.waiting.empty() && kind.waiting.top().sequence < kind.next()) {
    freed.push_back(kind.waiting.top());
    kind.waiting.pop();
  }
  held_back_ -= freed.size();
  if (numbers_.size() > kKeptKinds && kind.empty() && kind.waiting.empty()) {
    numbers_.erase(kind.key);
    free_.push_back(ticket.kind);
  }
  for (const Receive& receive : freed) place(receive, ready);
}

}  // namespace culprit::waits
