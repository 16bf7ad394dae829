#pragma once

#include "measurement/kinds.hpp"
#include "measurement/trace_operation.hpp"

#include <cstdint>
#include <vector>

// What a trace holds, decoded: the time line of one thread as a sequence of records, and what the
// communicators, groups and windows that they name are. docs/formats.md, chapter "Trace", states the bytes.
namespace culprit::measurement::trace {

enum class RecordKind : std::uint8_t {
  sample,       ///< a sample at `exit_ns`, which stands for the time since `enter_ns` (its weight)
  call,         ///< an MPI call, the outermost one, that ended
  reading,      ///< at `exit_ns`: how much of an event besides REALTIME was counted since its reading before
  thread_wait,  ///< a wait for other threads of the process, outside of MPI calls
  short_waits,  ///< how many such waits were too short for a record of their own, and took `value` ns in all
  marked_region,    ///< a region that the program marks, which ended at `node`
  parallel_region,  ///< a parallel region of OpenMP, likewise
};

/// One entry of a thread's time line. Records come in the order of `exit_ns`. Times are CLOCK_MONOTONIC of
/// the host.
struct Record {
  RecordKind kind = RecordKind::sample;
  std::uint8_t wait = 0;   ///< samples and waits: measurement::WaitKind
  std::uint8_t event = 0;  ///< readings: which of the process's events besides REALTIME
  /// Not side by side: two that were just written one after the other would be read as one, for which a
  /// processor has to wait until both have left it.
  std::uint64_t enter_ns = 0;
  std::uint64_t value = 0;  ///< readings: in the event's unit, ns or a count; short waits: ns
  std::uint64_t exit_ns = 0;
  std::uint32_t node = 0;  ///< of ThreadProfile::nodes, where the trace is read with its measurement
  static constexpr std::uint32_t kItself = ~std::uint32_t{0};
  /// As lib/waits reads them: of samples waits::Sample::charged, of parallel regions the call that runs them.
  std::uint32_t charged = kItself;
  /// The call returned as soon as one of several operations was complete: MPI_Waitany, MPI_Waitsome and their
  /// tests.
  bool any = false;
  std::uint32_t count = 0;  ///< short waits: since those before
  WaitHolder holder;        ///< waits: unknown where nobody recorded it
  std::vector<Operation>
      operations;  ///< of a call, in argument order; may be empty (a poll in vain, MPI_Cancel)
};

/// A communicator, group or window.
struct Definition {
  using Kind = DefinitionKind;
  Kind kind = Kind::communicator;
  /// The same in all processes of a communicator or window, and of no other (but by a chance of one in 2^64
  /// for each pair), never 0; MPI_COMM_WORLD is 1. A group is known by its members alone.
  std::uint64_t global_id = 0;
  std::uint32_t size = 0;
  std::int32_t rank = kNobody;  ///< this process's in it
  Context parent = kNoContext;  ///< what it was made from; of a window its communicator
  /// The members' ranks in MPI_COMM_WORLD, kNobody for those of another world. Of communicators and windows
  /// only rank 0 records them, and not where they are the parent's, as a window's always are (empty); of
  /// groups everyone, as of communicators where not all ranks are measured. Of an intercommunicator the local
  /// group.
  std::vector<std::int32_t> members;
  std::vector<std::int32_t> remote;  ///< intercommunicators: the remote group
  /// Of a topology, in the communicator: whom this process receives from and sends to in neighbourhood
  /// collectives.
  std::vector<std::int32_t> sources, destinations;
};

}  // namespace culprit::measurement::trace
