#pragma once

#include "waits/call_site.hpp"
#include "waits/event.hpp"
#include "waits/hash.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

class Ledger;

/// Brings together, for each nonblocking operation, the call that completes it and what that call may have
/// waited for; either may be known first. An entry lives until both are.
class Completions {
 public:
  explicit Completions(Ledger& ledger) : ledger_(ledger) {}

  /// Operation `id` of the process that made this call is complete in it.
  void completed(const CallSite& call, std::uint64_t id);
  /// What operation `id` of the process with this rank in MPI_COMM_WORLD depended on; the candidate's event
  /// is filled in. Nothing: no call can have waited for it.
  void depends(std::int32_t rank, std::uint64_t id, const std::optional<Candidate>& candidate);

 private:
  struct Key {
    std::int32_t rank;
    std::uint64_t id;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return hash_of(key.id, static_cast<std::uint32_t>(key.rank));
    }
  };
  /// Which of the two came first. Small: there are millions.
  struct Half {
    EventId call;                            // known: the completing call
    std::uint32_t candidate = kNoCandidate;  // else this one
    bool any = false;                        // of that call
    std::uint64_t enter_ns = 0;              // the same
  };
  static constexpr std::uint32_t kNoCandidate = ~std::uint32_t{0};

  void add(const Half& completing, Candidate candidate);
  std::uint32_t keep(const Candidate& candidate);

  Ledger& ledger_;
  tsl::robin_map<Key, Half, Hash> halves_;
  std::vector<Candidate> candidates_;  // of halves
  std::vector<std::uint32_t> free_;
};

}  // namespace culprit::waits
