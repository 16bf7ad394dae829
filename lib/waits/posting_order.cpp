#include "waits/posting_order.hpp"

#include <algorithm>
#include <array>

namespace culprit::waits {

PostingOrder::Sequence PostingOrder::post(std::int32_t source, std::int32_t tag) {
  const Sequence sequence = next_++;
  const Key kind = key(source, tag);
  kinds_[kind].posted.emplace_back(sequence, false);
  posted_.emplace(sequence, kind);
  return sequence;
}

void PostingOrder::complete(Sequence sequence, std::int32_t source, std::int32_t tag, std::uint64_t item,
                            std::vector<Receive>& ready) {
  if (!posted_.contains(sequence)) return;
  // Before it is taken from the posted ones: those behind it must come behind it.
  place({.sequence = sequence, .source = source, .tag = tag, .item = item}, ready);
  remove(sequence, ready);
}

void PostingOrder::withdraw(Sequence sequence, std::vector<Receive>& ready) {
  if (posted_.contains(sequence)) remove(sequence, ready);
}

/// To `ready`, or to those who wait for the first open receive of a kind that might take the same message.
void PostingOrder::place(const Receive& receive, std::vector<Receive>& ready) {
  const std::array rivals = {key(receive.source, receive.tag), key(kAny, receive.tag),
                             key(receive.source, kAny), key(kAny, kAny)};
  for (const Key rival : rivals) {
    const auto kind = kinds_.find(rival);
    if (kind == kinds_.end() || kind->second.first() >= receive.sequence) continue;
    kind->second.waiting.push(receive);
    ++held_back_;
    return;
  }
  ready.push_back(receive);
}

void PostingOrder::remove(Sequence sequence, std::vector<Receive>& ready) {
  const auto entry = posted_.find(sequence);
  const Key name = entry->second;
  posted_.erase(entry);
  Kind& kind = kinds_.at(name);
  const auto at = std::lower_bound(kind.posted.begin(), kind.posted.end(), std::pair{sequence, false});
  at->second = true;
  while (!kind.posted.empty() && kind.posted.front().second) kind.posted.pop_front();

  std::vector<Receive> freed;
  while (!kind.waiting.empty() && kind.waiting.top().sequence < kind.first()) {
    freed.push_back(kind.waiting.top());
    kind.waiting.pop();
  }
  held_back_ -= freed.size();
  if (kind.posted.empty() && kind.waiting.empty()) kinds_.erase(name);
  for (const Receive& receive : freed) place(receive, ready);
}

}  // namespace culprit::waits
