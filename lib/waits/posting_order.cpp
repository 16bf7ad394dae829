#include "waits/posting_order.hpp"

#include <algorithm>
#include <array>

namespace culprit::waits {

PostingOrder::Ticket PostingOrder::post(std::int32_t source, std::int32_t tag) {
  const Ticket ticket{.sequence = next_++, .kind = joined(source, tag)};
  kinds_[ticket.kind].posted.emplace_back(ticket.sequence, false);
  ++open_;
  return ticket;
}

void PostingOrder::complete(const Ticket& ticket, std::int32_t source, std::int32_t tag, std::uint64_t item,
                            std::vector<Receive>& ready) {
  // Before it is taken from the posted ones: those behind it must come behind it.
  place({.sequence = ticket.sequence, .source = source, .tag = tag, .item = item}, ready);
  remove(ticket, ready);
}

void PostingOrder::withdraw(const Ticket& ticket, std::vector<Receive>& ready) {
  remove(ticket, ready);
}

/// To `ready`, or to those who wait for the first open receive of a kind that might take the same message.
void PostingOrder::place(const Receive& receive, std::vector<Receive>& ready) {
  const std::array rivals = {joined(receive.source, receive.tag), joined(kAny, receive.tag),
                             joined(receive.source, kAny), joined(kAny, kAny)};
  for (const Key rival : rivals) {
    const auto kind = kinds_.find(rival);
    if (kind == kinds_.end() || kind->second.next() >= receive.sequence) continue;
    kind.value().waiting.push(receive);
    ++held_back_;
    return;
  }
  ready.push_back(receive);
}

void PostingOrder::remove(const Ticket& ticket, std::vector<Receive>& ready) {
  const auto entry = kinds_.find(ticket.kind);
  Kind& kind = entry.value();
  --open_;
  const auto begin = kind.posted.begin() + static_cast<std::ptrdiff_t>(kind.first);
  std::lower_bound(begin, kind.posted.end(), std::pair{ticket.sequence, false})->second = true;
  while (!kind.empty() && kind.posted[kind.first].second) ++kind.first;
  if (2 * kind.first >= kind.posted.size()) {
    kind.posted.erase(kind.posted.begin(), kind.posted.begin() + static_cast<std::ptrdiff_t>(kind.first));
    kind.first = 0;
  }
  std::vector<Receive> freed;
  while (!kind.waiting.empty() && kind.waiting.top().sequence < kind.next()) {
    freed.push_back(kind.waiting.top());
    kind.waiting.pop();
  }
  held_back_ -= freed.size();
  if (kinds_.size() > kKeptKinds && kind.empty() && kind.waiting.empty()) kinds_.erase(entry);
  for (const Receive& receive : freed) place(receive, ready);
}

}  // namespace culprit::waits
