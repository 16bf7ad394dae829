#pragma once

#include "measurement/stamp_level.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/topology.hpp"
#include "runtime/api.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

// Single large transfers, kept with the times of their calls, so that prof-mpi can lay the calls of all
// processes that took part side by side: who came late is then known, not estimated (docs/blame.md). Which of
// them are kept is decided by their numbers alone, alike on all processes. What finds no room, or no number,
// is left out; what prof-mpi does not find on all sides shows it nothing.
namespace culprit::mpi {

/// What all processes that take part in a transfer call it.
struct Instance {
  std::uint64_t stream;   ///< a communicator's collectives, or one process's messages to another; 0: none
  std::uint32_t number;   ///< in the stream
  std::uint32_t members;  ///< processes, of a collective
  std::uint32_t check;    ///< the same on both sides of a message, and seldom of others
};

/// This process's part in a collective.
struct Part {
  Flow flow;
  bool root;
  int sources;  ///< whom it receives from, where each process has its own
};

/// A communicator as transfers see it.
struct TransferComm {
  std::uint64_t members;      ///< a hash; 0: an intercommunicator, whose transfers have no numbers
  std::uint64_t collectives;  ///< distinguishes those of communicators with the same members; 0: none yet
  std::uint32_t last;         ///< number of the last collective
  int size, rank;
  int sources, destinations;  ///< of the topology
  Nobody nobody;              ///< at which of these there is nobody
};

/// Of a communicator that is valid. Any thread.
TransferComm transfer_comm(MPI_Comm comm);
/// It is being freed: the handle may soon be another's.
void forget_transfer_comm(MPI_Comm comm);

/// The next collective of the communicator: to be called by all its processes for the same collectives.
Instance next_collective(MPI_Comm comm);
/// The same for the collective transfers of a file, which was opened, and is being closed.
void add_transfer_file(MPI_Comm comm, MPI_File file);
void forget_transfer_file(MPI_File file);
Instance next_file_transfer(MPI_File file);
/// The next large message to, or from, a process of `comm`.
Instance next_sent(MPI_Comm comm, int destination, int tag, std::uint64_t bytes);
Instance next_received(MPI_Comm comm, int source, int tag, std::uint64_t bytes);
/// A large receive completed unseen: from now on, this process's messages have no numbers, for they would be
/// wrong.
void lose_messages();

/// What a stamp says of its call, beside the instance: bits of CulpritStamp::peer.
namespace stamp {
inline constexpr std::uint32_t kRoot = 1;   ///< this process is the root
inline constexpr std::uint32_t kWhole = 2;  ///< all that the call waits for has stamps, if this has
inline constexpr std::uint32_t kAny = 4;    ///< the call ends with the first of its operations
constexpr std::uint32_t flow_bits(Flow flow) {
  return static_cast<std::uint32_t>(flow) << 4;
}
constexpr std::uint32_t sources_bits(int sources) {
  return static_cast<std::uint32_t>(std::min(sources, 0xffff)) << 16;
}
constexpr std::uint32_t operations_bits(int operations) {
  return static_cast<std::uint32_t>(operations) << 8;
}
}  // namespace stamp

/// The stamps of one call's operations.
template <int kMost>
class CallStamps {
 public:
  void add_collective(const Instance& instance, const Part& part, std::uint64_t started) {
    const std::uint32_t bits = stamp::flow_bits(part.flow) | stamp::sources_bits(part.sources);
    add(kCollective, instance, bits | (part.root ? stamp::kRoot : 0), started);
  }
  void add_sent(const Instance& instance, std::uint64_t started) {
    add(kSent, instance, instance.check << 16, started);
  }
  void add_received(const Instance& instance, std::uint64_t started) {
    add(kReceived, instance, instance.check << 16, started);
  }
  /// An operation without a number: the call's other ones do not say what it waited for.
  void add_unknown() { whole_ = false; }
  void first_decides() { any_ = true; }

  /// The call is over. Adds the transfer to the accumulators of its path, unless `transfer` is null, and
  /// keeps the stamps whose turn has come. The thread is sampled.
  void keep(const CulpritTransfer* transfer, std::uint64_t entered, std::uint64_t left, CulpritPath* path);

 private:
  /// As culprit::measurement::EpochKind.
  enum Kind : std::uint32_t { kCollective = 24, kSent, kReceived };

  void add(Kind kind, const Instance& instance, std::uint32_t bits, std::uint64_t started) {
    if (instance.stream == 0) whole_ = false;
    if (instance.stream == 0 || operations_ == kMost) return;
    stamp_[operations_++] = {.kind = kind,
                             .instance = instance.number,
                             .members = instance.members,
                             .peer = bits,
                             .window = instance.stream,
                             .order = 0,
                             .enter_ns = 0,
                             .exit_ns = 0,
                             .last_ns = started};
  }

  int operations_ = 0;
  bool whole_ = true, any_ = false;
  CulpritStamp stamp_[kMost];  // the first operations_
};

/// The highest of all threads' trees, of stamps of one-sided calls, too: what is sure not to be kept need not
/// be handed over.
inline measurement::StampLevel stamp_level;

/// CulpritStamp::order of an instance in a window or a stream of transfers: uniform, the same on all
/// processes.
std::uint64_t order_of(std::uint64_t stream, std::uint32_t instance);

/// Hands over those of `stamps` whose turn has come; they are changed.
void keep_stamps(const CulpritTransfer* transfer, CulpritStamp* stamps, int count, CulpritPath* path);

template <int kMost>
void CallStamps<kMost>::keep(const CulpritTransfer* transfer, std::uint64_t entered, std::uint64_t left,
                             CulpritPath* path) {
  for (int i = 0; i < operations_; ++i) {
    CulpritStamp& each = stamp_[i];
    each.peer |=
        stamp::operations_bits(operations_) | (whole_ ? stamp::kWhole : 0) | (any_ ? stamp::kAny : 0);
    each.enter_ns = entered;
    each.exit_ns = left;
    if (each.last_ns == 0 || each.last_ns > entered) each.last_ns = entered;
  }
  keep_stamps(transfer, stamp_, operations_, path);
}

}  // namespace culprit::mpi
