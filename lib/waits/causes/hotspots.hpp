#pragma once

#include "exchange/communicator.hpp"
#include "storage/hash.hpp"
#include "waits/causes/delay_costs.hpp"
#include "waits/causes/path_times.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/procedure_chains.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// What a hot procedure of one time line cost a waiter (Wu 2020, equation 5), in ns of its waiting.
struct Hotspot {
  Location location = kNoLocation;
  std::uint32_t context = 0;  ///< the procedure's call path
  Location waiter = kNoLocation;
  std::uint32_t waiter_context = 0;
  std::uint64_t ns = 0;

  friend auto operator<=>(const Hotspot&, const Hotspot&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Hotspot diagnosis, a leaner one than delay costs, of the waits that those compare: the delayer's hot
/// procedures alone bear the direct part of each wait, in proportion to what they took longer than on the
/// waiter since their last synchronization point; nothing is passed on. Of a collective only the wait of who
/// came first counts.
class HotspotDiagnosis {
 public:
  /// `procedure_of` gives for each call path of the united tree the path of the procedure that it is in;
  /// `chains` says which are compared as one. All must outlive it.
  HotspotDiagnosis(const Matched& matched, std::span<const std::uint32_t> procedure_of,
                   const ProcedureChains& chains)
      : matched_(matched), procedure_of_(procedure_of), chains_(chains), times_(matched.regions.synced()) {}

  /// A wait that was recorded here (DelayOptions::observer).
  void add(const ComparedWait& wait);
  /// Collective, when all were added: this rank's share, in order. Procedures that took less than `threshold`
  /// of all time lines' time, waits excluded, are left out.
  [[nodiscard]] std::vector<Hotspot> find(exchange::Communicator& analysis, double threshold) const;

 private:
  struct Case {
    Location delayer = kNoLocation, waiter = kNoLocation;
    std::uint32_t waiter_context = 0;
    friend bool operator==(const Case&, const Case&) = default;
  };
  struct CaseHash {
    std::size_t operator()(const Case& key) const {
      return storage::hash_of(storage::joined(key.delayer, key.waiter), key.waiter_context);
    }
  };

  [[nodiscard]] std::uint32_t procedure(std::uint32_t context) const {
    return context < procedure_of_.size() ? procedure_of_[context] : context;
  }
  std::uint32_t number(const Case& one);
  [[nodiscard]] std::set<std::uint32_t> find_hot(exchange::Communicator& analysis, double threshold) const;

  const Matched& matched_;
  std::span<const std::uint32_t> procedure_of_;
  const ProcedureChains& chains_;
  tsl::robin_map<Case, std::uint32_t, CaseHash> case_of_;
  std::vector<std::pair<Case, std::uint64_t>> cases_;  // with what was waited
  std::uint32_t last_ = 0;  // the one that was added to last: many come one after the other
  PathTimes times_;         // by case
};

}  // namespace culprit::waits
