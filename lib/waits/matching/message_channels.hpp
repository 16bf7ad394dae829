#pragma once

#include "storage/queue_pool.hpp"
#include "waits/matching/matched_messages.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// The messages of one source, destination, tag and communicator.
struct Channel {
  Channel(std::uint32_t context, std::int32_t source, std::int32_t destination_rank, std::int32_t tag)
      : ranks(storage::joined(destination_rank, source)),
        what(storage::joined(context, static_cast<std::uint32_t>(tag))) {}
  std::uint64_t ranks, what;
  [[nodiscard]] std::int32_t source() const { return static_cast<std::int32_t>(ranks); }
  [[nodiscard]] std::int32_t tag() const { return static_cast<std::int32_t>(what); }
  friend auto operator<=>(const Channel&, const Channel&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Sends and receives that wait for their partners, by channel: the n-th send matches the n-th receive.
class MessageChannels {
 public:
  /// `matched` must outlive this.
  explicit MessageChannels(MatchedMessages& matched) : matched_(matched) {}

  void send(const Channel& channel, const Sent& sent);
  void take(const Channel& channel, const Arrival& arrival);

  /// How many messages of each channel wait; of channels without any, nothing.
  [[nodiscard]] std::map<Channel, std::int64_t> waiting_sends() const;
  /// When the first of those that wait was sent. Where there is one.
  [[nodiscard]] std::uint64_t first_sent_ns(const Channel& channel) const {
    return sends_.front(channels_.find(channel)->second.sends).enter_ns;
  }

  // What found no partner.
  [[nodiscard]] std::uint64_t sends() const { return sends_.size(); }
  [[nodiscard]] std::uint64_t receives() const { return arrivals_.size() - probes_; }
  [[nodiscard]] std::uint64_t probes() const { return probes_; }
  /// Calls `visit` with each one's call.
  template <typename Visit>
  void for_each_call(Visit visit) const {
    for (const auto& [channel, queues] : channels_) {
      sends_.for_each(queues.sends, [&](const Sent& sent) { visit(sent.call); });
      arrivals_.for_each(queues.arrivals, [&](const Arrival& arrival) { visit(arrival.posted); });
    }
  }

 private:
  /// Channels without any message that are kept for the next one.
  static constexpr std::size_t kKeptChannels = 1 << 16;
  struct ChannelHash {
    /// Tags that follow each other come in turn: those of eight lie together.
    std::size_t operator()(const Channel& channel) const {
      return storage::hash_of(channel.ranks, channel.what / 8) ^ channel.what % 8;
    }
  };
  /// Either is empty, but for probes that wait with receives.
  struct Queues {
    storage::QueuePool<Sent>::Queue sends;
    storage::QueuePool<Arrival>::Queue arrivals;
  };

  MatchedMessages& matched_;
  tsl::robin_map<Channel, Queues, ChannelHash> channels_;
  storage::QueuePool<Sent> sends_;
  storage::QueuePool<Arrival> arrivals_;
  std::size_t probes_ = 0;  // of those
};

}  // namespace culprit::waits
