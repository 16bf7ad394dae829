#pragma once

#include "exchange/communicator.hpp"
#include "measurement/measurement.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace culprit::merge {

/// When the others came to a large transfer (CLOCK_MONOTONIC, ns): waiting for them is over then, by the
/// definitions of docs/waits.md.
struct Arrival {
  std::uint64_t
      surely;  ///< this process's call waited at least until then, if it lasted so long; 0: for nobody
  std::uint64_t at_most;  ///< everyone was inside MPI: from then on, nobody waits for anybody to come
};

/// Who came when to single large transfers, of which the runtime kept the times of all processes' calls
/// (stamps): collectives by communicator and number, messages by the two processes and their number. Those
/// that some process left out, of processes on several hosts, whose clocks cannot be compared, or whose times
/// contradict each other say nothing.
class TransferArrivals {
 public:
  /// Stamps of all processes together that are looked at, so that 100 000 ranks fit into one process's
  /// memory: 88 MB. Which ones they are depends on their numbers alone, not on who reads them.
  static constexpr std::size_t kMostStamps = std::size_t{1} << 20;

  explicit TransferArrivals(std::size_t most_stamps = kMostStamps) : most_(most_stamps) {}

  /// Adds the stamps of one process.
  void add(const measurement::Measurement& file);

  /// Collective: every rank gets what the stamps of all show. To be called once, before of().
  void agree(exchange::Communicator& comm);

  /// Of one operation, by its own process's stamp; nothing where that is not known.
  [[nodiscard]] std::optional<Arrival> of(const measurement::Epoch& stamp) const;

  /// Of fences too, whose stamps say as well whether they completed large transfers.
  static bool is_stamp(measurement::EpochKind kind);
  /// What a stamp says of its call: how many operations of it have stamps, whether those are all it waited
  /// for, and whether it ended with the first of them.
  struct Call {
    std::uint32_t operations;
    bool whole, any;
    std::uint32_t last_part;  ///< the last to come brings one in this many parts of what is moved; at least 1
  };
  static Call call_of(const measurement::Epoch& stamp);

 private:
  /// As the runtime kept it. No padding: stamps are sent as they are.
  struct Stamp {
    std::uint64_t stream;
    std::uint32_t number, members;
    std::uint32_t kind, bits;
    std::uint64_t started, enter, exit;
    std::uint64_t host;
  };
  /// One collective, or one side of a message: when its processes came.
  struct Known {
    std::uint64_t stream;
    std::uint32_t number, kind;
    std::uint64_t last_start;  ///< of a message: the only one
    std::uint64_t last_enter;
    std::uint64_t root_start;  ///< of a collective with a root
  };
  static constexpr std::size_t kLevels = 65;

  static unsigned level_of(const Stamp& stamp);
  void thin(unsigned level);
  void find_collective(const Stamp* first, const Stamp* last);
  void find_message(const Stamp* first, const Stamp* last);
  [[nodiscard]] const Known* find(std::uint64_t stream, std::uint32_t number, std::uint32_t kind) const;

  std::size_t most_;
  unsigned level_ = 0;
  std::array<std::uint64_t, kLevels> by_level_{};  ///< all stamps that were added, by their level
  std::vector<Stamp> stamps_;
  std::vector<Known> known_;  ///< in the order of stream, number, kind
};

}  // namespace culprit::merge
