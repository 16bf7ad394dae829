#pragma once

#include "exchange/message_exchange.hpp"
#include "storage/hash.hpp"
#include "waits/causes/code_of_lines.hpp"
#include "waits/causes/path_times.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/path_shares.hpp"
#include "waits/timeline/procedure_chains.hpp"
#include "waits/timeline/rank_map.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// What one time line's call path cost others (docs/algorithms.md 8), in ns of their waiting.
struct DelayCost {
  Location location = kNoLocation;
  PathOfRegion path;  ///< `region` only where `context` is kBetween: what samples could not show
  std::uint64_t short_term_ns = 0;  ///< of waits that it caused directly
  std::uint64_t long_term_ns = 0;   ///< of waits that those caused in turn
  std::uint32_t waiter_context =
      0;                     ///< the path of the call that waited, of the waits that make up most of it
  std::uint32_t unused = 0;  ///< sent as it is

  [[nodiscard]] std::uint64_t cost_ns() const { return short_term_ns + long_term_ns; }
  friend auto operator<=>(const DelayCost&, const DelayCost&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Which waits are accounted for together: those for one time line, by the paths of the call that ended them
/// and of the call that waited, and by what code the waiters run: compared together, those that run what the
/// delayer runs would hide that its code stands for the others'.
struct CostAccount {
  Location delayer = kNoLocation;
  std::uint32_t cause_context = 0, waiter_context = 0;
  std::uint32_t waiter_kind = 0;  ///< CodeOfLines::kind()

  friend auto operator<=>(const CostAccount&, const CostAccount&) = default;  // NOLINT(modernize-use-nullptr)
};

/// An account of the waits that the sender has. Encloses its times.
struct CostNotice {
  static constexpr std::uint8_t kMessage = 23;
  using Item = PathTime;
  CostAccount account;
  std::uint64_t short_ns = 0, long_ns = 0;
};

/// What the waits that this rank of the analysis has cost, by account.
class CostAccounts {
 public:
  using Received = exchange::MessageList<CostNotice>;
  struct Sums {
    CostAccount account;
    std::uint64_t short_ns = 0, long_ns = 0;
  };

  /// `synced`: Regions::synced().
  explicit CostAccounts(std::uint32_t synced) : times_(synced) {}

  /// The number of an account, which there is from now on.
  std::uint32_t number(const CostAccount& account);
  [[nodiscard]] Sums& operator[](std::uint32_t number) { return accounts_[number]; }
  /// What delayers and waiters took in the intervals that explain its waits.
  [[nodiscard]] PathTimes& times() { return times_; }

  /// What it takes memory for.
  [[nodiscard]] std::size_t size() const { return accounts_.size() + times_.size(); }
  /// Sends all to the ranks of the analysis that have the delayers' time lines.
  void send(exchange::MessageExchange& exchange, const RankMap& rank_map) const;
  /// Their numbers are free again.
  void clear();
  /// Divided over call paths: each of a time line once, in order.
  /// To be called where the time lines are.
  [[nodiscard]] std::vector<DelayCost> divide(const Matched& matched, const ProcedureChains& chains,
                                              const CodeOfLines& code) const;

  void receive(const CostNotice& notice, std::span<const PathTime> times);

 private:
  struct Hash {
    std::size_t operator()(const CostAccount& key) const {
      return storage::hash_of(storage::joined(key.delayer, key.cause_context),
                              storage::joined(key.waiter_kind, key.waiter_context));
    }
  };

  tsl::robin_map<CostAccount, std::uint32_t, Hash> number_of_;
  std::vector<Sums> accounts_;
  PathTimes times_;
};

}  // namespace culprit::waits
