#include "waits/matching/message_channels.hpp"

namespace culprit::waits {

void MessageChannels::take(const Channel& channel, const Arrival& arrival) {
  const auto entry = channels_.try_emplace(channel).first;
  Queues& queues = entry.value();
  if (queues.sends.empty()) {
    arrivals_.push(queues.arrivals, arrival);
    if (arrival.taker == Taker::probe) ++probes_;
    return;
  }
  matched_.match(sends_.front(queues.sends), arrival);
  if (arrival.taker == Taker::probe) return;
  sends_.pop(queues.sends);
  if (queues.sends.empty() && channels_.size() > kKeptChannels) channels_.erase(entry);
}

void MessageChannels::send(const Channel& channel, const Sent& sent) {
  const auto entry = channels_.try_emplace(channel).first;
  Queues& queues = entry.value();
  while (!queues.arrivals.empty()) {
    const Arrival arrival = arrivals_.front(queues.arrivals);
    arrivals_.pop(queues.arrivals);
    matched_.match(sent, arrival);
    if (arrival.taker == Taker::probe) {
      --probes_;
      continue;
    }
    if (queues.arrivals.empty() && channels_.size() > kKeptChannels) channels_.erase(entry);
    return;
  }
  sends_.push(queues.sends, sent);
}

std::map<Channel, std::int64_t> MessageChannels::waiting_sends() const {
  std::map<Channel, std::int64_t> waiting;
  for (const auto& [channel, queues] : channels_) {
    if (queues.sends.empty()) continue;
    sends_.for_each(queues.sends, [&number = waiting[channel]](const Sent& /*sent*/) { ++number; });
  }
  return waiting;
}

}  // namespace culprit::waits
