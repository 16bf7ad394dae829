#pragma once

#include "metrics/wait_pattern.hpp"
#include "storage/hash.hpp"
#include "waits/timeline/trace_store.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// All waits of one call path of a time line by one pattern, because of one call path of another.
struct WaitSum {
  WaitPattern pattern = WaitPattern::none;
  Location location = kNoLocation, cause = kNoLocation;
  std::uint32_t context = 0, cause_context = 0;  ///< of the united tree
  std::uint64_t ns = 0, count = 0;
  /// Of ns: what waits of the delayers passed on. Cost propagation finds it (IndirectWaits); of parts and
  /// completions it stays 0.
  std::uint64_t indirect_ns = 0;

  friend auto operator<=>(const WaitSum&, const WaitSum&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Sums over waits, parts and completions included.
class WaitSums {
 public:
  /// A wait of the time line that is being classified.
  void add(const Wait& wait) {
    Amount& amount = sums_of_line_[{wait.cause.location, wait.context, wait.cause_context, wait.pattern}];
    amount.ns += wait.ns;
    ++amount.count;
  }
  /// All waits of that time line were added; each once.
  void close(Location location);
  /// In the order of pattern, location, context, cause and its context.
  [[nodiscard]] std::vector<WaitSum> take();

 private:
  /// What is distinguished among the waits of one time line.
  struct Key {
    Location cause = 0;
    std::uint32_t context = 0, cause_context = 0;
    WaitPattern pattern = WaitPattern::none;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return storage::hash_of(storage::joined(key.cause, static_cast<std::uint32_t>(key.pattern)),
                              storage::joined(key.context, key.cause_context));
    }
  };
  struct Amount {
    std::uint64_t ns = 0, count = 0;
  };
  /// Sums of one time line, in their order.
  struct Part {
    Location location = kNoLocation;
    std::vector<WaitSum> sums;
  };
  /// Of buckets to sums: tables that have more were made for a time line with many more.
  static constexpr std::size_t kWide = 16;

  tsl::robin_map<Key, Amount, KeyHash> sums_of_line_;
  std::vector<Part> parts_;
};

}  // namespace culprit::waits
