// Collective operations made of messages (docs/algorithms.md 16), so that a failure that ends a receive ends
// all of them: barrier by dissemination, broadcast along a binomial tree, all-to-all in p − 1 rounds with one
// partner each, prefix sums by recursive doubling (Hillis and Steele), sums and maxima by recursive doubling
// among the first 2^⌊log₂ p⌋ ranks. Cost: ⌈log₂ p⌉ rounds but for gather and all-to-all.
#include "exchange/message_communicator.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace culprit::exchange {
namespace {

Bytes to_bytes(std::uint64_t value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::uint64_t from_bytes(const Bytes& bytes) {
  std::uint64_t value = 0;
  if (bytes.size() != sizeof value) throw ExchangeError("exchange: a number arrived with the wrong length");
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

void MessageCommunicator::require_rank(int rank, const char* operation) const {
  if (rank >= 0 && rank < size()) return;
  throw ExchangeError(std::string(operation) + ": there is no rank " + std::to_string(rank) + " of " +
                      std::to_string(size()));
}

void MessageCommunicator::barrier() {
  for (int step = 1; step < size(); step *= 2) {
    (void)send_receive((rank() + step) % size(), {}, (rank() - step + size()) % size(), kCollectiveTag);
  }
}

void MessageCommunicator::broadcast(Bytes& data, int root) {
  require_rank(root, "broadcast");
  const int place = (rank() - root + size()) % size();  // the root's place is 0
  int step = 1;
  while (step < size() && place % (2 * step) == 0) step *= 2;
  if (place != 0) data = receive((place - step + root) % size(), kCollectiveTag);
  for (step /= 2; step > 0; step /= 2) {
    if (place + step < size()) send((place + step + root) % size(), kCollectiveTag, data);
  }
}

std::vector<Bytes> MessageCommunicator::gather(std::span<const std::byte> data, int root) {
  require_rank(root, "gather");
  std::vector<Bytes> gathered;
  if (rank() != root) {
    send(root, kCollectiveTag, data);
    return gathered;
  }
  for (int source = 0; source < size(); ++source) {
    gathered.push_back(source == root ? Bytes(data.begin(), data.end()) : receive(source, kCollectiveTag));
  }
  return gathered;
}

std::vector<Bytes> MessageCommunicator::all_to_all(std::vector<Bytes> outgoing) {
  if (outgoing.size() != static_cast<std::size_t>(size())) {
    throw ExchangeError("all_to_all: one message per rank is expected");
  }
  std::vector<Bytes> incoming(outgoing.size());
  const auto own = static_cast<std::size_t>(rank());
  incoming[own] = std::move(outgoing[own]);
  for (int round = 1; round < size(); ++round) {
    const int above = (rank() + round) % size();
    const int below = (rank() - round + size()) % size();
    Bytes message = std::move(outgoing[static_cast<std::size_t>(above)]);
    incoming[static_cast<std::size_t>(below)] =
        send_receive(above, std::move(message), below, kCollectiveTag);
  }
  return incoming;
}

std::uint64_t MessageCommunicator::exclusive_scan(std::uint64_t value) {
  std::uint64_t before = 0;
  for (int step = 1; step < size(); step *= 2) {
    if (rank() + step < size()) send(rank() + step, kCollectiveTag, to_bytes(before + value));
    if (rank() >= step) before += from_bytes(receive(rank() - step, kCollectiveTag));
  }
  return before;
}

template <class Combine>
std::uint64_t MessageCommunicator::all_reduce(std::uint64_t value, Combine combine) {
  const int paired = static_cast<int>(std::bit_floor(static_cast<unsigned>(size())));
  const int others = size() - paired;
  if (rank() >= paired) {
    send(rank() - paired, kCollectiveTag, to_bytes(value));
    return from_bytes(receive(rank() - paired, kCollectiveTag));
  }
  if (rank() < others) combine(value, from_bytes(receive(rank() + paired, kCollectiveTag)));
  for (int step = 1; step < paired; step *= 2) {
    const int peer = rank() ^ step;
    combine(value, from_bytes(send_receive(peer, to_bytes(value), peer, kCollectiveTag)));
  }
  if (rank() < others) send(rank() + paired, kCollectiveTag, to_bytes(value));
  return value;
}

std::uint64_t MessageCommunicator::all_sum(std::uint64_t value) {
  return all_reduce(value, [](std::uint64_t& into, std::uint64_t from) { into += from; });
}

std::uint64_t MessageCommunicator::all_max(std::uint64_t value) {
  return all_reduce(value, [](std::uint64_t& into, std::uint64_t from) { into = std::max(into, from); });
}

}  // namespace culprit::exchange
