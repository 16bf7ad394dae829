#pragma once

#include "exchange/message_exchange.hpp"
#include "storage/hash.hpp"
#include "waits/matching/completions.hpp"
#include "waits/matching/contexts.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// A process entered a neighbourhood collective; to each of those that it sends to.
struct NeighborNotice {
  static constexpr std::uint8_t kMessage = 7;
  std::uint64_t context = 0;
  std::uint32_t instance = 0;
  std::int32_t to_rank = -1;  ///< in MPI_COMM_WORLD
  EventId call;
  std::uint32_t call_context = 0;
  std::uint64_t enter_ns = 0;
};

/// Collective operations over the neighbours of a topology: each process waits for those that it receives
/// from, and for nobody else.
class Neighbors {
 public:
  using Received = exchange::MessageList<NeighborNotice>;

  Neighbors(const RankMap& rank_map, const Contexts& contexts,
            std::span<const std::unique_ptr<ProcessTrace>> own, exchange::MessageExchange& exchange,
            TraceStore& store, Completions& completions)
      : rank_map_(rank_map),
        contexts_(contexts),
        own_(own),
        exchange_(exchange),
        store_(store),
        completions_(completions),
        initiated_(contexts.slots()) {}

  void observe(const CallSite& call, const measurement::trace::Operation& operation);
  void receive(const NeighborNotice& notice);
  void finish();

 private:
  struct Key {
    std::uint64_t context;
    std::uint32_t instance;
    std::int32_t rank;  ///< in MPI_COMM_WORLD
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return storage::hash_of(key.context,
                              storage::joined(key.instance, static_cast<std::uint32_t>(key.rank)));
    }
  };
  /// One process's share of one instance, until it and all that it receives from have entered.
  struct Share {
    EventId call;                 ///< unknown: not entered yet
    std::uint64_t operation = 0;  ///< 0: blocking
    std::uint32_t sources = 0, arrived = 0;
    NeighborNotice latest;
  };

  void find_candidate(const Key& key, const Share& share);
  void depend(const Key& key, const Share& share);

  const RankMap& rank_map_;
  const Contexts& contexts_;
  std::span<const std::unique_ptr<ProcessTrace>> own_;
  exchange::MessageExchange& exchange_;
  TraceStore& store_;
  Completions& completions_;
  std::vector<std::uint32_t> initiated_;  // by slot
  tsl::robin_map<Key, Share, KeyHash> shares_;
  tsl::robin_map<Key, std::vector<EventId>, KeyHash> came_;  // where dependencies are recorded
};

}  // namespace culprit::waits
