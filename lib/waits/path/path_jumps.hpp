#pragma once

#include "exchange/communicator.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/rank_map.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace culprit::waits {

/// A wait at which the critical path goes over to its cause.
struct PathJump {
  std::uint32_t event = 0;
  bool cause_ends = false;
  std::uint64_t until_ns = 0;
  EventId cause;
};

/// The waits of all time lines in a while, brought to all ranks of the analysis, so that the critical path,
/// which goes from one to the other and back all the time, need not be handed over at each of them. The while
/// goes backwards with it.
class PathJumps {
 public:
  /// `change_threads`: the path changes threads within processes, too; only who has the lines knows where.
  PathJumps(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
            bool change_threads);

  /// Whether it is worth it: not for one rank of the analysis, and not for this many time lines that the path
  /// leaves nearly all of their waits aside.
  [[nodiscard]] bool worth_it() const { return worth_it_; }
  /// Collective: forgets all waits and brings those that ended up to `until_ns`, some thousand.
  void bring(std::uint64_t until_ns);
  /// The last one before call `call` (`itself`: or in it) on its line; nothing where that may not be here.
  /// The same on all ranks of the analysis.
  [[nodiscard]] std::optional<PathJump> before(EventId call, bool itself) const;

 private:
  /// With more, bringing all of their waits takes longer than handing the path over, of which there is about
  /// as much however many lines there are (measured: 20 ns for each call, against 1 600 ns divided by the
  /// number of lines).
  static constexpr Location kMostLines = 80;
  /// Waits brought at a time, about. With more, the memory that they travel in goes back to the system each
  /// time, and comes from it page by page.
  static constexpr std::uint64_t kWaits = 1 << 13;

  /// One of this rank's time lines.
  struct Own {
    const TimeLine* line = nullptr;
    std::uint32_t next = 0;  // one past the wait that is brought next
    std::uint32_t last = 0;  // those before it belong to MPI_Init, at which the path ends
  };
  /// A wait as it travels. Without a cause: it and later ones of its line were left out.
  struct Sent {
    Location location = kNoLocation;
    PathJump jump;
  };
  /// What is here of any rank's time line.
  struct Line {
    std::vector<PathJump> jumps;                  // backwards
    std::uint32_t forgotten = ~std::uint32_t{0};  // jumps in this call or later ones are not here any more
  };

  static Sent without_cause(Location location, std::uint32_t event);
  void forget();
  void take(std::uint64_t since_ns, std::uint64_t until_ns);

  exchange::Communicator& analysis_;
  bool worth_it_ = false;
  std::uint64_t span_ns_ = 1'000'000;
  std::vector<Own> own_;
  std::vector<Sent> taken_;           // that are brought; kept for its memory
  std::vector<Line> lines_;           // by location
  std::vector<Location> lines_here_;  // those with jumps
};

}  // namespace culprit::waits
