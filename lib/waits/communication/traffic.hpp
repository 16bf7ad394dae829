#pragma once

#include "measurement/trace_event.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/rank_map.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace culprit::waits {

/// What the calls of one time line at one call path took and moved. A message counts at the call that sent
/// it and at the call in which it arrived; a process's part in a collective counts as one.
struct CallSum {
  Location location = kNoLocation;
  std::uint32_t context = 0;  ///< their call path
  std::uint64_t calls = 0;
  std::uint64_t ns = 0, longest_ns = 0;
  std::uint64_t messages = 0;
  std::uint64_t sent = 0, received = 0;  ///< bytes
  /// Bytes of the messages: of a process's part in a collective the larger of what it gave and got.
  std::uint64_t message_bytes = 0, smallest = ~std::uint64_t{0}, largest = 0;

  /// Of the same path, wherever.
  void add(const CallSum& other);
};

/// What one process sent to another by messages and one-sided operations.
struct PartnerSum {
  std::uint64_t communicator = 0;   ///< global id of the communicator or window; MPI_COMM_WORLD is 1
  std::uint32_t members = 0;        ///< processes in it
  std::int32_t from = -1, to = -1;  ///< ranks in MPI_COMM_WORLD
  std::uint32_t unused = 0;
  std::uint64_t messages = 0, bytes = 0;
};

/// Adds up what the calls on this rank's time lines move while these are read (docs/algorithms.md 7). Cost:
/// two look-ups a call. Not thread-safe.
class Traffic {
 public:
  /// Those whose time lines are observed. Both must outlive it.
  Traffic(const RankMap& rank_map, std::span<const std::unique_ptr<ProcessTrace>> own);

  /// An Observer.
  void observe(Location location, const measurement::trace::Record& record);
  /// The time lines are read again.
  void clear();

  /// By time line, then call path.
  [[nodiscard]] std::vector<CallSum> calls() const;
  /// By communicator, then ranks; without what was sent to nobody that is known.
  [[nodiscard]] std::vector<PartnerSum> partners(const Contexts& contexts) const;

 private:
  /// A peer as the process names it.
  struct Peer {
    std::size_t process = 0;
    measurement::trace::Context context = 0;
    std::int32_t rank = 0;
    bool sends = false;  ///< the peer does

    friend bool operator==(const Peer&, const Peer&) = default;
  };
  struct PeerHash {
    std::size_t operator()(const Peer& peer) const;
  };
  struct Amount {
    std::uint64_t messages = 0, bytes = 0;
  };

  const RankMap& rank_map_;
  std::unordered_map<std::int32_t, std::size_t> process_of_;  // by rank: its place in `own`
  std::unordered_map<std::uint64_t, CallSum> calls_;          // by time line and call path
  std::unordered_map<Peer, Amount, PeerHash> peers_;
};

}  // namespace culprit::waits
