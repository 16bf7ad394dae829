#pragma once

#include "exchange/communicator.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::exchange {

/// The collective operations, built from messages alone, so that a backend provides little more than send and
/// receive and a failure that interrupts a receive interrupts every operation. One reserved tag serves all of
/// them: every rank calls them in the same order, and messages keep theirs.
class MessageCommunicator : public Communicator {
 public:
  /// Dissemination: ⌈log₂ p⌉ rounds.
  void barrier() override;
  /// Binomial tree.
  void broadcast(Bytes& data, int root) override;
  /// Every rank sends to the root.
  [[nodiscard]] std::vector<Bytes> gather(std::span<const std::byte> data, int root) override;
  /// p − 1 rounds; in round i every rank sends to the rank i above and receives from the rank i below.
  [[nodiscard]] std::vector<Bytes> all_to_all(std::vector<Bytes> outgoing) override;
  /// Recursive doubling (Hillis and Steele).
  [[nodiscard]] std::uint64_t exclusive_scan(std::uint64_t value) override;
  /// Recursive doubling among the first 2^⌊log₂ p⌋ ranks, each of which speaks for at most one of the others.
  [[nodiscard]] std::uint64_t all_sum(std::uint64_t value) override;
  [[nodiscard]] std::uint64_t all_max(std::uint64_t value) override;

 protected:
  static constexpr int kCollectiveTag = kMaxTag + 1;

  /// Sends to one rank while receiving from another; neither waits for the other to be done. `data` is given
  /// away, so that ranks that share memory need not copy it.
  [[nodiscard]] virtual Bytes send_receive(int destination, Bytes data, int source, int tag) = 0;

  /// Throws ExchangeError unless `rank` is one of this communicator's.
  void require_rank(int rank, const char* operation) const;

 private:
  template <class Combine>
  std::uint64_t all_reduce(std::uint64_t value, Combine combine);
};

}  // namespace culprit::exchange
