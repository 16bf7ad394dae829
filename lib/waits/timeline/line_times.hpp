#pragma once

#include "storage/hash.hpp"
#include "waits/timeline/regions.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// What a time line took outside its waits, in ns by region (the gaps between its calls, and the calls by
/// their paths), and what was sampled in its gaps. Used again for one time line after the other.
class LineTimes {
 public:
  /// Samples of one call path in gaps that are one region.
  struct Sampled {
    std::uint32_t region = 0, context = 0;
    std::uint64_t ns = 0;
  };

  explicit LineTimes(const Regions& regions) : times_(regions.size(), 0) {}

  /// For the next time line.
  void clear() {
    for (const std::uint32_t region : found_) times_[region] = 0;
    found_.clear();
    samples_.clear();
    last_call_ns_ = 0;
  }
  void add(std::uint32_t region, std::uint64_t ns) {
    std::uint64_t& time = times_[region];
    if (time == 0 && ns != 0) found_.push_back(region);
    time += ns;
  }
  void add_sample(std::uint32_t region, std::uint32_t context, std::uint64_t ns) {
    samples_[storage::joined(region, context)] += ns;
  }
  /// The last call of all.
  void add_last_call(std::uint32_t context, std::uint64_t ns) {
    last_call_context_ = context;
    last_call_ns_ = ns;
  }

  /// Those that took any time, each once, without the last call.
  [[nodiscard]] const std::vector<std::uint32_t>& found() const { return found_; }
  [[nodiscard]] std::uint64_t of(std::uint32_t region) const { return times_[region]; }
  [[nodiscard]] std::uint32_t last_call_context() const { return last_call_context_; }
  [[nodiscard]] std::uint64_t last_call_ns() const { return last_call_ns_; }
  /// In no order.
  [[nodiscard]] std::vector<Sampled> samples() const {
    std::vector<Sampled> list;
    for (const auto& [key, ns] : samples_) {
      list.push_back({static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key), ns});
    }
    return list;
  }

 private:
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return storage::hash_of(key); }
  };

  std::vector<std::uint64_t> times_;  // by region
  std::vector<std::uint32_t> found_;
  tsl::robin_map<std::uint64_t, std::uint64_t, Hash> samples_;  // by region and context
  std::uint32_t last_call_context_ = 0;
  std::uint64_t last_call_ns_ = 0;
};

}  // namespace culprit::waits
