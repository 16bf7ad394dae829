#pragma once

#include "exchange/communicator.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

// How small records travel between the ranks of the analysis, which are the same program on the same sort of
// machine.
namespace culprit::exchange {

template <typename Item>
Bytes bytes_of(std::span<const Item> items) {
  static_assert(std::is_trivially_copyable_v<Item>);
  Bytes bytes(items.size_bytes());
  if (!items.empty()) std::memcpy(bytes.data(), items.data(), bytes.size());
  return bytes;
}

template <typename Item>
std::vector<Item> items_of(const Bytes& bytes) {
  static_assert(std::is_trivially_copyable_v<Item>);
  std::vector<Item> items(bytes.size() / sizeof(Item));
  if (!items.empty()) std::memcpy(items.data(), bytes.data(), items.size() * sizeof(Item));
  return items;
}

/// Collective: all ranks' items, in the order of the ranks.
template <typename Item>
std::vector<Item> items_of_all(Communicator& analysis, std::span<const Item> own) {
  std::vector<Bytes> copies(static_cast<std::size_t>(analysis.size()), bytes_of(own));
  std::vector<Item> all;
  for (const Bytes& box : analysis.all_to_all(std::move(copies))) {
    const std::vector<Item> part = items_of<Item>(box);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// Collective: the same, on rank 0; the others get nothing.
template <typename Item>
std::vector<Item> items_at_root(Communicator& analysis, std::span<const Item> own) {
  std::vector<Item> all;
  for (const Bytes& box : analysis.gather(bytes_of(own), 0)) {
    const std::vector<Item> part = items_of<Item>(box);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// Collects messages of several kinds for every rank of the analysis, this one included. A message is a
/// trivially copyable struct with a number of its own, `static constexpr std::uint8_t kMessage`.
class MessageExchange {
 public:
  explicit MessageExchange(Communicator& analysis)
      : analysis_(analysis), out_(static_cast<std::size_t>(analysis.size())), most_(out_.size(), 0) {}

  [[nodiscard]] int here() const { return analysis_.rank(); }
  /// Bytes of messages that were not delivered yet.
  [[nodiscard]] std::uint64_t pending() const {
    std::uint64_t bytes = 0;
    for (const Bytes& box : out_) bytes += box.size();
    return bytes;
  }
  [[nodiscard]] int ranks() const { return analysis_.size(); }

  template <typename Message>
  void send(int to, const Message& message) {
    static_assert(std::is_trivially_copyable_v<Message>);
    Bytes& box = out_[static_cast<std::size_t>(to)];
    box.push_back(std::byte{Message::kMessage});
    append(box, &message, sizeof(Message));
  }

  /// A message with items enclosed: its struct names their type, `using Item = …`.
  template <typename Message>
  void send(int to, const Message& message, std::span<const typename Message::Item> items) {
    static_assert(std::is_trivially_copyable_v<Message> &&
                  std::is_trivially_copyable_v<typename Message::Item>);
    Bytes& box = out_[static_cast<std::size_t>(to)];
    const auto count = static_cast<std::uint64_t>(items.size());
    box.push_back(std::byte{Message::kMessage});
    append(box, &message, sizeof(Message));
    append(box, &count, sizeof count);
    append(box, items.data(), items.size_bytes());
  }

  /// Collective: hands the messages of this rank to the others, and theirs to `recipients`, in the order of
  /// the senders' ranks and of sending. Each recipient takes the messages for which it has a
  /// `receive(const Message&)` (with items: and a std::span of them) and names in
  /// `using Received = MessageList<...>`. What it writes then stays here. False: there was no message at all.
  template <typename... Recipients>
  bool deliver_once(Recipients&... recipients) {
    if (analysis_.all_sum(pending()) == 0) return false;
    for (std::size_t to = 0; to < out_.size(); ++to) most_[to] = std::max(most_[to], out_[to].size());
    std::vector<Bytes> incoming = std::exchange(out_, empty_boxes());
    incoming = analysis_.all_to_all(std::move(incoming));
    for (Bytes& box : incoming) {
      open(box, recipients...);
      keep(std::move(box));
    }
    return true;
  }
  /// Not collective: hands over what this rank wrote to itself, and what it writes to itself then.
  template <typename... Recipients>
  void deliver_own(Recipients&... recipients) {
    Bytes& box = out_[static_cast<std::size_t>(here())];
    while (!box.empty()) {
      std::swap(box, own_);
      open(own_, recipients...);
      own_.clear();
    }
  }
  /// Collective: all messages, until nobody writes any more.
  template <typename... Recipients>
  void deliver(Recipients&... recipients) {
    do {
      deliver_own(recipients...);
    } while (deliver_once(recipients...));
  }

 private:
  /// Boxes whose messages were read serve again, the largest for the rank that most went to: new ones would
  /// have to be made by the system, piece by piece.
  std::vector<Bytes> empty_boxes() {
    std::vector<Bytes> boxes(out_.size());
    std::vector<std::size_t> order(out_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [this](std::size_t a, std::size_t b) { return most_[a] > most_[b]; });
    std::sort(spare_.begin(), spare_.end(),
              [](const Bytes& a, const Bytes& b) { return a.capacity() < b.capacity(); });
    for (const std::size_t to : order) {
      if (spare_.empty()) break;
      boxes[to] = std::move(spare_.back());
      spare_.pop_back();
    }
    return boxes;
  }
  void keep(Bytes box) {
    if (box.capacity() == 0 || spare_.size() >= out_.size()) return;
    box.clear();
    spare_.push_back(std::move(box));
  }

  static void append(Bytes& box, const void* data, std::size_t size) {
    const auto* const bytes = static_cast<const std::byte*>(data);
    box.insert(box.end(), bytes, bytes + size);
  }

  template <typename... Recipients>
  void open(const Bytes& box, Recipients&... recipients) {
    const std::byte* at = box.data();
    const std::byte* const end = at + box.size();
    while (at < end) {
      const std::uint8_t kind = std::to_integer<std::uint8_t>(*at);
      std::size_t size = 0;
      ((size = size != 0 ? size : offer(kind, at + 1, recipients, typename Recipients::Received{})), ...);
      at += 1 + size;
    }
  }

  template <typename Recipient, template <typename...> typename List, typename... Message>
  std::size_t offer(std::uint8_t kind, const std::byte* at, Recipient& recipient,
                    List<Message...> /*messages*/) {
    std::size_t size = 0;
    ((kind == Message::kMessage ? (size = hand_over<Message>(at, recipient)) : std::size_t{0}), ...);
    return size;
  }
  /// Returns how many bytes the message took.
  template <typename Message, typename Recipient>
  std::size_t hand_over(const std::byte* at, Recipient& recipient) {
    Message message;
    std::memcpy(&message, at, sizeof(Message));
    if constexpr (requires { typename Message::Item; }) {
      std::uint64_t count = 0;
      std::memcpy(&count, at + sizeof(Message), sizeof count);
      using Item = typename Message::Item;
      static_assert(alignof(Item) <= alignof(std::max_align_t));
      const std::size_t bytes = count * sizeof(Item);
      enclosed_.resize(
          std::max(enclosed_.size(), (bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)));
      if (count != 0) std::memcpy(enclosed_.data(), at + sizeof(Message) + sizeof count, bytes);
      recipient.receive(message, std::span(reinterpret_cast<const Item*>(enclosed_.data()), count));
      return sizeof(Message) + sizeof count + bytes;
    } else {
      recipient.receive(message);
      return sizeof(Message);
    }
  }

  Communicator& analysis_;
  std::vector<Bytes> out_;
  Bytes own_;                               // to this rank: being handed over
  std::vector<std::size_t> most_;           // bytes that went to each rank at once
  std::vector<Bytes> spare_;                // empty, with memory
  std::vector<std::max_align_t> enclosed_;  // with a message: kept for its memory
};

template <typename... Message>
struct MessageList {};

}  // namespace culprit::exchange
