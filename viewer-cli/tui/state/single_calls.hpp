#pragma once

#include "database/database.hpp"
#include "views/source.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace culprit::viewer {
class RunLines;
}

namespace culprit::viewer::tui {

/// What a rank did for a while: an MPI call, or code between calls in one scope. Times are in ns from the
/// beginning of the time map.
struct Stretch {
  std::uint64_t begin_ns = 0, end_ns = 0;
  database::ContextId context = database::kNone;
  bool call = false;
  // Of a call:
  std::uint32_t messages = 0;  ///< that it sent or received, and their bytes; collectives: its own part's
  std::uint64_t bytes = 0;
  std::int32_t partner = -1;  ///< the rank that it exchanged all of them with; -1: none, several, or unknown
  database::WaitPattern pattern{};
  std::uint64_t waited_ns = 0;  ///< 0: for nobody
  std::uint64_t waited_until_ns = 0;
  std::int32_t waited_for = -1;  ///< the rank; -1: unknown
};

/// A message that a rank received, or the end of a wait; and from whom it came.
struct Arrival {
  std::uint64_t ns = 0;  ///< as times of stretches
  std::int32_t from = -1;
};

/// The ranks and the time that are looked at.
struct CallsWanted {
  std::vector<std::int32_t> ranks;
  std::uint64_t begin_ns = 0, end_ns = 0;

  /// Whether it has all of `other`.
  [[nodiscard]] bool covers(const CallsWanted& other) const;
  friend bool operator==(const CallsWanted&, const CallsWanted&) = default;
};

/// What was read: for each rank its stretches within that time, in their order. Those at its borders reach
/// beyond it.
struct CallsRead {
  CallsWanted asked;  ///< what was wanted
  CallsWanted of;     ///< and what was read, which is as much again on both sides
  std::vector<std::vector<Stretch>> lines;
  std::vector<std::vector<Arrival>> arrivals;  ///< likewise, within `of`; those of known ranks
  bool cut = false;                            ///< there are more than are kept: lines lack some

  /// Whether nothing is to be gained by reading `wanted`.
  [[nodiscard]] bool serves(const CallsWanted& wanted) const {
    return of.covers(wanted) && (!cut || wanted == asked);
  }
};

/// Single MPI calls for the map of time. A database has sums; calls are read from the measurement beside it,
/// on a thread of its own: to match all calls of a run takes as long as merging its time lines.
class SingleCalls {
 public:
  /// `source` must outlive this; `database`: its path.
  SingleCalls(const views::Source& source, std::string database);
  ~SingleCalls();
  SingleCalls(const SingleCalls&) = delete;
  SingleCalls& operator=(const SingleCalls&) = delete;

  /// Has this read next, unless it was, or is being read. What was wanted before is forgotten. False: nothing
  /// is to be waited for.
  bool want(const CallsWanted& wanted);
  /// What was read last; null before.
  [[nodiscard]] std::shared_ptr<const CallsRead> read() const;
  /// Whether something that was wanted is yet to be read; waits for it some ms at most.
  [[nodiscard]] bool reading() const;
  /// Why nothing can be read; empty: it can.
  [[nodiscard]] std::string failure() const;

 private:
  void run(const views::Source& source, const std::string& database);
  /// False: something else is wanted meanwhile.
  bool read_lines(const RunLines& lines, CallsRead& read) const;
  /// The next that is wanted; nothing at the end.
  [[nodiscard]] std::optional<CallsRead> next();
  [[nodiscard]] bool superseded() const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<CallsRead> wanted_, begun_;  ///< without lines: what is to be read next, and what is now
  bool ending_ = false;
  std::shared_ptr<const CallsRead> read_;
  std::string failure_;
  std::thread thread_;
};

}  // namespace culprit::viewer::tui
