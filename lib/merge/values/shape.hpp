#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/idleness/waiting.hpp"
#include "merge/values/thread_blame.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace culprit::merge {

/// The columns that are accumulated per context: the metrics of the database in their order.
struct Columns {
  static constexpr std::size_t kRealtime = 0, kIdleness = 1, kCommunication = 2, kCpu = 3, kSamples = 4,
                               kFirstEvent = 5;

  std::vector<std::string> events;  ///< beside REALTIME, by name
  bool with_io = false;             ///< there is that of input and output, after the events
  bool threaded = false;            ///< there are those of ThreadMetric, after that
  std::vector<std::string> traced;  ///< what time lines show (trace_values.hpp), after these
  bool polled = false;              ///< there is that of MPI's polls in vain, after these
  bool with_bytes = false;          ///< there are those of what was read and written, the last
  /// Where there is one.
  [[nodiscard]] std::size_t io() const { return kFirstEvent + events.size(); }
  [[nodiscard]] std::size_t of(ThreadMetric metric) const {
    return io() + (with_io ? 1 : 0) + static_cast<std::size_t>(metric);
  }
  [[nodiscard]] std::size_t first_traced() const {
    return io() + (with_io ? 1 : 0) + (threaded ? kThreadMetrics : 0);
  }
  [[nodiscard]] std::size_t polls() const { return first_traced() + traced.size(); }
  [[nodiscard]] std::size_t bytes_read() const { return polls() + (polled ? 1 : 0); }
  [[nodiscard]] std::size_t bytes_written() const { return bytes_read() + 1; }
  [[nodiscard]] std::size_t metrics() const { return bytes_read() + (with_bytes ? 2 : 0); }
};

/// What every rank needs of contexts and flat scopes to accumulate values, free of names.
struct Shape {
  struct Scope {
    database::ContextId parent = database::kNone;
    database::FlatId flat = database::kNone;
    database::ContextKind kind = database::ContextKind::root;
    measurement::WaitKind wait = measurement::WaitKind::none;
    std::uint8_t idle_by_name = 0, unmarked = 0, never_idle = 0, in_thread_library = 0, io = 0;
    std::uint8_t unused[1] = {};  // no padding: scopes are sent as they are
  };
  struct Flat {
    database::FlatId parent = database::kNone;
    database::ContextKind kind = database::ContextKind::root;
    std::uint8_t unused[3] = {};
  };
  std::vector<Scope> contexts;
  std::vector<Flat> flat;
  /// A procedure that the user named, by its place in Options::segments.
  struct Chosen {
    std::uint32_t name = 0;
    database::FlatId procedure = database::kNone;
  };
  std::vector<database::ContextId> own;  ///< per node of the united tree
  std::vector<Chosen> segments;
  Columns columns;
};

/// Rank 0: what the others need of its attribution. There is a column of input and output where any context
/// does it.
Shape shape_of(const Attribution& attribution, const std::vector<Waiting>& waiting, Columns columns);

/// Rank 0: the procedures that the user named, one after the other; several may have one name.
std::vector<Shape::Chosen> chosen_segments(const Attribution& attribution,
                                           const std::vector<std::string>& names);

/// Collective: every rank gets rank 0's.
void broadcast(exchange::Communicator& comm, Shape& shape);

}  // namespace culprit::merge
