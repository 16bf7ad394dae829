#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// What the run's MPI calls took and moved, from time lines (docs/algorithms.md 7), or, without them, as their
// wrappers counted it.
namespace culprit::database {

/// The calls at one call path, of all threads. Section 40; the bytes are those of the file.
struct CallTraffic {
  std::uint32_t context = 0;  ///< the call: a frontier frame, where it has one
  std::uint32_t threads = 0;  ///< that made it
  std::uint32_t busiest = 0;  ///< the location that spent most time in it
  std::uint32_t unused = 0;
  std::uint64_t calls = 0;
  std::uint64_t ns = 0;          ///< of all threads
  std::uint64_t busiest_ns = 0;  ///< of that location
  std::uint64_t longest_ns = 0;  ///< of one call; 0: not known, without time lines
  /// Sent by these calls or arrived in them; a process's part in a collective is one.
  std::uint64_t messages = 0;
  std::uint64_t message_bytes = 0;          ///< of those: the larger of what each gave and got
  std::uint64_t smallest = 0, largest = 0;  ///< of one of them; 0 without messages
  std::uint64_t sent_bytes = 0, received_bytes = 0;

  friend bool operator==(const CallTraffic&, const CallTraffic&) = default;
};
static_assert(sizeof(CallTraffic) == 96);

/// What some consecutive processes sent to some others by messages and one-sided operations. Section 41; the
/// bytes are those of the file.
struct PartnerTraffic {
  std::uint64_t communicator = 0;  ///< distinguished by this alone; 1: MPI_COMM_WORLD; 0: several small ones
  std::uint32_t members = 0;       ///< processes in it; 0: several
  std::int32_t from = 0, to = 0;   ///< the first ranks in MPI_COMM_WORLD
  std::uint32_t ranks = 1;         ///< that each side stands for, the same in all rows
  std::uint64_t messages = 0, bytes = 0;

  friend bool operator==(const PartnerTraffic&, const PartnerTraffic&) = default;
};
static_assert(sizeof(PartnerTraffic) == 40);

/// Without time lines partners are those of messages alone, and communicators with as many members of which
/// the first and the last are the same are one.
struct Communication {
  std::vector<CallTraffic> calls;        ///< most time first
  std::vector<PartnerTraffic> partners;  ///< by communicator, most bytes first, then ranks

  friend bool operator==(const Communication&, const Communication&) = default;
};

/// Whether all that it refers to exists.
bool is_sound(const Communication& communication, std::size_t locations, std::size_t contexts);

}  // namespace culprit::database
