#pragma once

#include "exchange/message_exchange.hpp"
#include "storage/hash.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/path_shares.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/timeline/regions.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// What one time line's call path cost others (docs/algorithms.md 8), in ns of their waiting.
struct DelayCost {
  Location location = kNoLocation;
  PathOfRegion path;
  std::uint64_t short_term_ns = 0;  ///< of waits that it caused directly
  std::uint64_t long_term_ns = 0;   ///< of waits that those caused in turn

  friend auto operator<=>(const DelayCost&, const DelayCost&) = default;  // NOLINT(modernize-use-nullptr)
};

/// How much longer a call path sampled in a region took than the waiters', in ns of the cost that it
/// explains; and how long it took, for where no excess tells.
struct Sampled {
  std::int64_t excess = 0;
  std::uint64_t ns = 0;
};

/// What a region of a time line cost the waiters that the sender has.
struct CostNotice {
  static constexpr std::uint8_t kMessage = 23;
  Location location = kNoLocation;
  std::uint32_t region = 0;
  std::uint64_t short_ns = 0, long_ns = 0;
};
/// What was sampled in it, as those waiters tell.
struct SampledNotice {
  static constexpr std::uint8_t kMessage = 24;
  Location location = kNoLocation;
  std::uint32_t region = 0, context = 0;
  Sampled sampled;
};

/// What regions of time lines cost the waiters that this rank of the analysis has.
class CostAccounts {
 public:
  using Received = exchange::MessageList<CostNotice, SampledNotice>;
  /// Of a region.
  struct Account {
    Location location = kNoLocation;
    std::uint32_t region = 0;
    std::uint64_t short_ns = 0, long_ns = 0;
  };

  CostAccounts() : seen_(kSeen) {}

  /// The number of a region's account, which there is from now on.
  std::uint32_t number(Location location, std::uint32_t region);
  [[nodiscard]] Account& operator[](std::uint32_t number) { return accounts_[number]; }
  /// Of a call path sampled in it.
  [[nodiscard]] Sampled& sampled(std::uint32_t number, std::uint32_t context) {
    return sampled_[{number, context}];
  }

  /// Accounts and sampled call paths: what it takes memory for.
  [[nodiscard]] std::size_t size() const { return accounts_.size() + sampled_.size(); }
  /// Tells all to the ranks of the analysis that have the time lines.
  void send(exchange::MessageExchange& exchange, const RankMap& rank_map) const;
  /// Their numbers are free again.
  void clear();
  /// Divided over call paths, in order.
  [[nodiscard]] std::vector<DelayCost> divide(const Regions& regions) const;

  void receive(const CostNotice& notice);
  void receive(const SampledNotice& notice);

 private:
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return storage::hash_of(key); }
  };
  struct SampledKey {
    std::uint32_t account = 0, context = 0;
    friend auto operator<=>(const SampledKey&, const SampledKey&) = default;  // NOLINT(modernize-use-nullptr)
  };
  struct SampledHash {
    std::size_t operator()(const SampledKey& key) const {
      return storage::hash_of(storage::joined(key.account, key.context));
    }
  };
  using SampledPaths = std::span<const std::pair<SampledKey, Sampled>>;

  /// The one of these hashes that was asked for last.
  struct Seen {
    std::uint64_t key = ~std::uint64_t{0};
    std::uint32_t account = 0;
  };
  static constexpr std::size_t kSeen = 1024;

  static void divide(const Account& account, SampledPaths sampled, const Regions& regions,
                     std::vector<DelayCost>& costs);

  tsl::robin_map<std::uint64_t, std::uint32_t, Hash> account_of_;  // by location and region
  std::vector<Account> accounts_;
  std::vector<Seen> seen_;
  tsl::robin_map<SampledKey, Sampled, SampledHash> sampled_;
};

}  // namespace culprit::waits
