#pragma once

#include "waits/event.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

namespace culprit::waits {

class Ledger;

/// Brings together, for each nonblocking operation, the call that completes it and what that call may have
/// waited for; either may be known first. An entry lives until both are.
class Completions {
 public:
  explicit Completions(Ledger& ledger) : ledger_(ledger) {}

  /// Operation `id` of the process with this rank in MPI_COMM_WORLD is complete in this call.
  void completed(std::int32_t rank, std::uint64_t id, EventId call);
  /// What it depended on; the candidate's event is filled in. Nothing: no call can have waited for it.
  void depends(std::int32_t rank, std::uint64_t id, const std::optional<Candidate>& candidate);

 private:
  struct Key {
    std::int32_t rank;
    std::uint64_t id;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return (static_cast<std::uint32_t>(key.rank) * 0x9e3779b97f4a7c15U) ^ (key.id * 0xd6e8feb86659fd93U);
    }
  };
  struct Half {
    EventId call;  // known: the completing call came first
    std::optional<Candidate> candidate;
  };

  void add(EventId call, Candidate candidate);

  Ledger& ledger_;
  std::unordered_map<Key, Half, Hash> halves_;
};

}  // namespace culprit::waits
