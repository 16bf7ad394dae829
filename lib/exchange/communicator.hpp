#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

namespace culprit::exchange {

using Bytes = std::vector<std::byte>;

/// The exchange failed (a peer gave up, the transport refused). what() says which operation.
class ExchangeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An operation ended early because another rank gave up; that rank reports the cause.
class PeerFailed : public ExchangeError {
 public:
  using ExchangeError::ExchangeError;
};

/// A file that all ranks of a communicator write at offsets known in advance.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  /// Writes all of `data` at `offset`; independent (not collective). Throws std::system_error.
  virtual void write_at(std::uint64_t offset, std::span<const std::byte> data) = 0;
  /// Collective: all data of all ranks is visible to every rank that opens the file afterwards.
  virtual void close() = 0;
};

/// Who takes part in a parallel analysis and how they exchange data. Merging and wait analysis are written
/// once against this: with MPI behind it they are prof-mpi, with threads behind it they run inside viewer-cli
/// and tests. Every rank calls the collective operations in the same order. Point-to-point messages keep
/// their order per (source, tag). Not thread-safe: one thread per rank uses it.
class Communicator {
 public:
  static constexpr int kMaxTag = 0x3fff;

  virtual ~Communicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// Buffered or rendezvous, of any length (over 2 GiB too). Tags are the callers' to choose, from 0 to
  /// kMaxTag.
  virtual void send(int destination, int tag, std::span<const std::byte> data) = 0;
  [[nodiscard]] virtual Bytes receive(int source, int tag) = 0;

  virtual void barrier() = 0;
  /// Every rank gets the root's bytes.
  virtual void broadcast(Bytes& data, int root) = 0;
  /// The root gets one entry per rank, in rank order; the others an empty vector.
  [[nodiscard]] virtual std::vector<Bytes> gather(std::span<const std::byte> data, int root) = 0;
  /// outgoing[r] goes to rank r; the result's entry r came from rank r. outgoing.size() == size().
  [[nodiscard]] virtual std::vector<Bytes> all_to_all(std::vector<Bytes> outgoing) = 0;
  /// Sum over ranks below this one (0 on rank 0), and the largest and the sum over all.
  [[nodiscard]] virtual std::uint64_t exclusive_scan(std::uint64_t value) = 0;
  [[nodiscard]] virtual std::uint64_t all_sum(std::uint64_t value) = 0;
  [[nodiscard]] virtual std::uint64_t all_max(std::uint64_t value) = 0;

  /// Collective; creates or truncates. Throws std::system_error on every rank if it fails on one.
  [[nodiscard]] virtual std::unique_ptr<OutputFile> create_file(const std::filesystem::path& path) = 0;
};

/// Collective: folds every rank's `value` into rank 0's along a binomial tree, in an order that depends on
/// nothing but the rank numbers. `pack(value) → Bytes`, `unpack(Bytes) → T`, `combine(T& into, T&& from)`.
/// Other ranks' `value` is left unspecified. Returns true on rank 0.
template <class T, class Pack, class Unpack, class Combine>
bool reduce_tree(Communicator& comm, T& value, int tag, Pack pack, Unpack unpack, Combine combine) {
  for (int step = 1; step < comm.size(); step *= 2) {
    if (comm.rank() % (2 * step) != 0) {
      const Bytes packed = pack(value);
      comm.send(comm.rank() - step, tag, packed);
      return false;
    }
    if (comm.rank() + step < comm.size()) combine(value, unpack(comm.receive(comm.rank() + step, tag)));
  }
  return comm.rank() == 0;
}

}  // namespace culprit::exchange
