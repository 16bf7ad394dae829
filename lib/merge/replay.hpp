#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "files/readership.hpp"
#include "measurement/trace_operation.hpp"
#include "merge/input/collectively.hpp"
#include "merge/timelines/line_events.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// A measurement's time lines, read again event by event: a database keeps sums.
namespace culprit::merge {

struct ReplayOptions {
  std::filesystem::path measurement;      ///< the directory
  bool loops = true;                      ///< as merged
  std::filesystem::path structure_cache;  ///< Options::structure_cache
  /// Where what does not fit into memory goes, unless there is $TMPDIR.
  std::filesystem::path directory;
  bool arrows = false;  ///< from causes to waits
};

/// A communicator, or a window. Members are ranks in MPI_COMM_WORLD by their rank in it.
struct MessageGroup {
  measurement::trace::DefinitionKind kind = measurement::trace::DefinitionKind::communicator;
  std::uint64_t global_id = 0;           ///< 1: MPI_COMM_WORLD
  std::vector<std::int32_t> members;     ///< empty: nobody recorded them
  std::vector<std::int32_t> remote;      ///< of an intercommunicator: the other group
  std::size_t parent = ~std::size_t{0};  ///< of a window: its communicator, where that is known
};

/// One thread that has a time line.
struct ReplayedLine {
  std::uint32_t location = 0;  ///< in the database
  std::int32_t rank = -1;      ///< -1: its process is no rank
  std::uint64_t pid = 0;
};

/// One moment on two clocks.
struct Moment {
  std::uint64_t ns = 0;          ///< the time lines'
  std::int64_t realtime_ns = 0;  ///< since 1970
};

/// The traced time lines of a run: ranks first, by rank and thread, then processes that are no rank. Not
/// thread-safe.
class Replay {
 public:
  /// Of one rank of the analysis. Reads the measurement as merging does, and matches all time lines; throws
  /// std::runtime_error (message "what: file: why (what to do)").
  Replay(exchange::Communicator& comm, const ReplayOptions& options, const Progress& progress);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  [[nodiscard]] std::string run_id() const;
  /// When the first process of the run, whose host's clock all time lines have, was started.
  [[nodiscard]] Moment start() const;
  /// Who may read the measurement.
  [[nodiscard]] const files::Readership& readers() const;
  /// How many threads were measured: the database has as many locations, in the same order.
  [[nodiscard]] std::uint32_t locations() const;
  /// The calling context tree that events refer to, and its names as recorded.
  [[nodiscard]] const std::vector<database::Context>& contexts() const;
  [[nodiscard]] const std::vector<std::string>& strings() const;

  [[nodiscard]] const std::vector<ReplayedLine>& lines() const;
  [[nodiscard]] const std::vector<MessageGroup>& groups() const;
  /// The group that an operation on a line names; nothing where it is not known.
  [[nodiscard]] std::optional<std::size_t> group_of(std::size_t line,
                                                    measurement::trace::Context context) const;
  /// The ranks in MPI_COMM_WORLD of an MPI_Group that an operation on a line names; empty where it is not
  /// known.
  [[nodiscard]] std::vector<std::int32_t> members_of(std::size_t line,
                                                     measurement::trace::Context context) const;
  /// How many events of a line there are: MPI calls and waits.
  [[nodiscard]] std::uint64_t calls() const;
  [[nodiscard]] std::uint64_t waits() const;

  /// Reads a line from its beginning to its end. May be called again.
  void run(std::size_t line, LineEvents& events);

  /// One line per trace that was left out or breaks off: file: why (what to do). Complete once all lines were
  /// read.
  [[nodiscard]] std::vector<std::string> problems() const;
  /// Of these, the traces that were left out.
  [[nodiscard]] const std::vector<std::string>& unused() const;
  /// Traces that end before their process: a limit, a full disk.
  [[nodiscard]] std::uint64_t stopped() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace culprit::merge
