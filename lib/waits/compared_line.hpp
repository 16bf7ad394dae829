#pragma once

#include "waits/interval_profile.hpp"
#include "waits/ledger.hpp"
#include "waits/pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

#include <tsl/robin_map.h>

namespace culprit::waits {

/// A settled time line with all that it takes to compare its synchronization intervals with others': as that
/// of a waiter, and as that of whom others waited for. It refers to the line and the pieces, which must
/// outlive it.
class ComparedLine {
 public:
  ComparedLine(const TimeLine& line, const Pieces& pieces, Spill& spill)
      : line_(&line), pieces_(&pieces), spill_(&spill) {}

  [[nodiscard]] const TimeLine& line() const { return *line_; }
  /// As another line's cause in call `until`: the first call here that lies in an interval that the waiter
  /// knows by `start`.
  std::uint32_t first_call(const IntervalStart& start, std::uint32_t until);
  /// The same for a wait of this line.
  static std::uint32_t first_call(const Wait& wait) { return after(wait.start.own); }
  /// Adds what the line did from the gap before call `first` to the enter of call `until`, and what is left
  /// of the call before them, in which the two met: all but its wait.
  void add(std::uint32_t first, std::uint32_t until, IntervalProfile& profile);
  /// The piece itself where one of add(first, …) is what is left of a call.
  [[nodiscard]] std::uint32_t known_piece(std::uint32_t piece, std::uint32_t first) const {
    return piece == pieces_->met() ? pieces_->of_call(line_->events[first - 1].context) : piece;
  }

 private:
  struct Collective {
    std::uint64_t context = 0;
    std::uint32_t instance = 0;
    friend bool operator==(const Collective&, const Collective&) = default;
  };
  struct Hash {
    std::size_t operator()(const Collective& key) const { return hash_of(key.context, key.instance); }
  };
  static std::uint32_t after(std::uint32_t call) { return call == IntervalStart::kBeginning ? 0 : call + 1; }
  std::uint32_t attended(const Collective& collective, std::uint32_t until);

  const TimeLine* line_;
  const Pieces* pieces_;
  Spill* spill_;
  std::size_t attendance_ = 0;                                    // where the last one was looked for
  std::size_t steps_ = 0;                                         // that looking took
  tsl::robin_map<Collective, std::uint32_t, Hash> all_attended_;  // once it took too many
  std::unique_ptr<LongLine> sums_;                                // once they are needed
};

}  // namespace culprit::waits
