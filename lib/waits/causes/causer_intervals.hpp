#pragma once

#include "storage/hash.hpp"
#include "storage/prefetch.hpp"
#include "waits/causes/burden.hpp"
#include "waits/causes/compared_line.hpp"
#include "waits/causes/interval_profile.hpp"
#include "waits/timeline/event.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// What a causer did in an interval.
struct CauserInterval {
  /// Of a piece.
  struct Time {
    std::uint32_t piece = 0;
    std::uint32_t account = kNoAccount;  ///< for whoever accounts for it to fill in
    std::uint64_t ns = 0;
    static constexpr std::uint32_t kNoAccount = ~std::uint32_t{0};
  };
  std::span<Time> times;               ///< each piece once, in the order in which they came
  std::span<const PieceTime> samples;  ///< may come more than once
  Burden::Range waits;                 ///< that lie in it
  std::uint64_t waits_ns = 0;          ///< how long they are
  std::uint32_t met_piece = 0;         ///< the call that Pieces::met() stands for
};

/// The intervals of causers that were asked for last. All who wait for one call, in a collective or next to a
/// late neighbour, mostly met its line in the same collective before, too, so that those that begin in one
/// are asked for again.
class CauserIntervals {
 public:
  /// Which interval explains a wait: the waiter knows that.
  struct Key {
    EventId cause;
    std::uint64_t context = 0;  ///< of IntervalStart, as the next two
    std::uint32_t other = 0;
    MetAs other_as = MetAs::waiter;
    bool cause_ends = false;

    static Key of(EventId call, const IntervalStart& start, bool ends) {
      return {.cause = call,
              .context = start.context,
              .other = start.other,
              .other_as = start.other_as,
              .cause_ends = ends};
    }
    [[nodiscard]] std::size_t hash() const {
      return storage::hash_of(storage::joined(cause.location, cause.index), other);
    }
    friend bool operator==(const Key&, const Key&) = default;
  };

  explicit CauserIntervals(const Pieces& pieces) : pieces_(pieces), profile_(pieces), kept_(kKept) {}

  /// find() is asked for it soon.
  void expect(const Key& key) const { storage::prefetch(&kept_[key.hash() % kept_.size()], kMostlyRead); }
  /// Of the causer's line, until the next one is asked for.
  CauserInterval find(const Key& key, ComparedLine& line, const Burden& burden);

 private:
  CauserInterval put_together(const Key& key, ComparedLine& line, const Burden& burden);

  static constexpr std::size_t kKept = 1024;
  /// Larger ones are not kept: they would take too much memory, and are hardly ever asked for again.
  static constexpr std::size_t kMostTimes = 20, kMostSamples = 4;

  struct Kept {
    Key key;  // none has this one
    std::uint64_t waits_ns = 0;
    Burden::Range waits;
    std::uint32_t met_piece = 0;
    std::uint16_t times = 0, samples = 0;
    std::array<CauserInterval::Time, kMostTimes> all_times;
    std::array<PieceTime, kMostSamples> all_samples;
  };
  static constexpr std::size_t kMostlyRead = 320;  ///< bytes of one: most have fewer times

  const Pieces& pieces_;
  IntervalProfile profile_;
  std::vector<Kept> kept_;                   // by hash
  std::vector<CauserInterval::Time> times_;  // of the one put together last
};

}  // namespace culprit::waits
