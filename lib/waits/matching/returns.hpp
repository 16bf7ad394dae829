#pragma once

#include "exchange/message_exchange.hpp"
#include "waits/matching/collective_instance.hpp"
#include "waits/matching/held_up.hpp"
#include "waits/matching/request_table.hpp"
#include "waits/timeline/process_trace.hpp"
#include "waits/timeline/trace_store.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// A member's part in a nonblocking collective operation.
struct Return {
  Presence completing;         ///< the call that completes it; `free_ns` is filled in where all are known
  std::uint64_t begun_ns = 0;  ///< the enter of the call that began it
  std::uint64_t left_ns = 0;   ///< CallSite::left_ns of the completing call: outside of MPI since then
  int from = 0;                ///< whose process it is: a rank of the analysis
  bool root = false;
  bool any = false;  ///< the completing call returns at the first of several operations
};

/// What these processes did in one instance. Encloses each that has a part in it.
struct ReturnNotice {
  static constexpr std::uint8_t kMessage = 8;
  using Item = Return;
  std::uint64_t context = 0;
  std::uint32_t instance = 0;
  std::uint32_t size = 0;     ///< of the context
  std::uint32_t members = 0;  ///< these processes
  measurement::trace::OperationKind kind{};
  bool contradictory = false;
};
/// Of those: whom another one kept waiting.
struct ReturnedNotice {
  static constexpr std::uint8_t kMessage = 9;
  using Item = HeldUp;
  WaitPattern pattern = WaitPattern::none;
};

/// Nonblocking collective operations go on only while their members are inside MPI, where no thread of the
/// library cares for them: whoever waits for one may wait until the last member comes back to complete it
/// (docs/algorithms.md 7, Late return). One rank of the analysis gathers each instance once all have.
class CollectiveReturns {
 public:
  using Received = exchange::MessageList<ReturnNotice, ReturnedNotice>;

  /// `processes` are those of this rank of the analysis.
  CollectiveReturns(exchange::MessageExchange& exchange, TraceStore& store, std::size_t processes)
      : exchange_(exchange), store_(store), begun_(processes) {}

  /// Which operation a call begins, and its caller's part in it.
  struct Begin {
    std::uint64_t context = 0;
    std::uint32_t instance = 0;
    std::uint32_t size = 0;           ///< of the context
    std::uint32_t own_processes = 0;  ///< of those, this rank's
    measurement::trace::OperationKind kind{};
    std::uint64_t operation = 0;
    std::int32_t rank = -1;  ///< in the context
    bool root = false;
    bool bystander = false;  ///< has no part in it
  };
  void begin(const CallSite& call, const Begin& operation);
  /// The call completes this operation of its process.
  void complete(const CallSite& call, std::uint64_t operation);

  void receive(const ReturnNotice& notice, std::span<const Return> members);
  void receive(const ReturnedNotice& notice, std::span<const HeldUp> held_up);

 private:
  using Key = InstanceKey;
  /// An open request.
  struct Begun {
    Key key;
    std::uint64_t ns = 0;
    std::int32_t rank = -1;
    bool root = false, bystander = false;
  };
  /// This rank's members of an instance that some of them have still to complete.
  struct Own {
    ReturnNotice notice;
    std::uint32_t open = 0;
    std::vector<Return> members;
  };
  /// An instance at the rank where its members are gathered.
  struct Instance {
    std::uint32_t members = 0;
    bool contradictory = false;
    std::vector<Return> present;
  };

  [[nodiscard]] int home_of(const Key& key) const;
  void answer(std::vector<Return>& members, measurement::trace::OperationKind kind);

  exchange::MessageExchange& exchange_;
  TraceStore& store_;
  RequestTable<Begun> begun_;
  tsl::robin_map<Key, Own, InstanceKey::Hash> own_;
  tsl::robin_map<Key, Instance, InstanceKey::Hash> instances_;
};

}  // namespace culprit::waits
