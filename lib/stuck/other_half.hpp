#pragma once

#include "stuck/picture.hpp"

#include <cstdint>
#include <vector>

namespace culprit::stuck {

/// Whether the message waits for the other one's counterpart: the same communicator, tags and processes.
/// `of`, `by`: the ranks that have them.
bool matches(const Message& message, std::int32_t of, const Message& other, std::int32_t by);

/// Whether the other end of a message has begun its half by a call that does not wait for it: MPI_Isend,
/// MPI_Irecv, or MPI_Start.
enum class OtherHalf : std::uint8_t {
  missing,   ///< it has not, for certain
  possible,  ///< as far as is known
  certain,   ///< it has, and no other operation of this end's can meet it
};

struct Begun {
  OtherHalf half = OtherHalf::missing;
  std::uint64_t bytes = 0;  ///< of the largest that it may be
};

/// A message that a thread of a process waits for.
struct Awaited {
  const Process& process;
  const Thread& thread;
  const Message& message;
};

/// What is known of the other half of a message, whose other end is one of these processes; null: one of
/// which nothing is known.
Begun other_half(const Awaited& awaited, const std::vector<const Process*>& others);

}  // namespace culprit::stuck
