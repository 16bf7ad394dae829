// Operations are counted on both ends, by MPI's rule that messages do not overtake each other: what the other
// end has begun is met by this end's operations in the order in which they began. If it has begun more than
// this end's earlier operations can have met, one is this message's; if no more than they must have met, none
// is. What began later takes nothing away, so requests that are complete and others that are still open need
// not be told apart. Where not all operations are known, or some of an unknown communicator, nothing is
// certain. Cost: for each message the product of what both ends have begun, 64 of a thread at most.
#include "stuck/other_half.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace culprit::stuck {
namespace {

/// What the other end has begun that the message may meet.
struct Theirs {
  std::vector<std::pair<const Message*, std::int32_t>> begun;  ///< with the rank that did
  std::size_t unclear = 0;  ///< of these, operations that may have been for others
  bool whole = true;        ///< that is all of it
};

Theirs theirs_of(const Awaited& awaited, const std::vector<const Process*>& others) {
  Theirs theirs;
  for (const Process* const other : others) {
    theirs.whole = theirs.whole && other != nullptr && other->all_threads;
    if (other == nullptr) continue;
    for (const Thread& thread : other->threads) {
      theirs.whole = theirs.whole && thread.all_messages;
      for (const Message& each : thread.last) {
        if (each.kind == awaited.message.kind) continue;
        if (each.comm == 0) ++theirs.unclear;
        if (matches(awaited.message, awaited.process.rank, each, other->rank))
          theirs.begun.emplace_back(&each, other->rank);
      }
    }
  }
  return theirs;
}

/// Of this end's own operations of the same kind.
struct Ours {
  std::size_t least = 0;  ///< that have met, or will meet, one of theirs before the message does
  std::size_t most = 0;   ///< that may
  bool whole = true;      ///< that is all of them
};

/// Whether the message could meet whatever the operation can meet.
bool covers(const Message& message, const Message& each) {
  return each.comm == message.comm && (each.peer == message.peer || message.peer == kAnySource) &&
         (each.tag == message.tag || message.tag == kAnyTag);
}

Ours ours_of(const Awaited& awaited, const Theirs& theirs) {
  const Process& process = awaited.process;
  const Message& message = awaited.message;
  Ours ours;
  ours.whole = process.all_threads;
  const std::uint64_t by = message.begun_by != 0 ? message.begun_by : awaited.thread.tid;
  for (const Thread& thread : process.threads) {
    ours.whole = ours.whole && thread.all_messages;
    for (const Message& each : thread.last) {
      const bool ordered = thread.tid == by;
      const bool earlier = ordered && (message.begun == 0 || each.begun < message.begun);
      if (each.kind != message.kind || (ordered && !earlier)) continue;
      const auto meets = [&](const auto& their) {
        return matches(each, process.rank, *their.first, their.second);
      };
      if (each.comm == 0 || std::ranges::any_of(theirs.begun, meets)) ++ours.most;
      if (earlier && covers(message, each) && std::ranges::all_of(theirs.begun, meets)) ++ours.least;
    }
  }
  return ours;
}

}  // namespace

bool matches(const Message& message, std::int32_t of, const Message& other, std::int32_t by) {
  if (message.kind == other.kind || message.comm != other.comm || message.comm == 0) return false;
  const Message& sent = message.kind == CallKind::send ? message : other;
  const Message& received = message.kind == CallKind::send ? other : message;
  const std::int32_t sender = message.kind == CallKind::send ? of : by;
  const std::int32_t receiver = message.kind == CallKind::send ? by : of;
  return sent.peer == receiver && (received.peer == sender || received.peer == kAnySource) &&
         (received.tag == sent.tag || received.tag == kAnyTag);
}

Begun other_half(const Awaited& awaited, const std::vector<const Process*>& others) {
  const Theirs theirs = theirs_of(awaited, others);
  const Ours ours = ours_of(awaited, theirs);
  // A receive from any source may meet another rank's message.
  const auto surely = static_cast<std::size_t>(
      std::ranges::count_if(theirs.begun, [](const auto& their) { return their.first->peer != kAnySource; }));
  Begun begun;
  begun.bytes = awaited.message.kind == CallKind::send ? awaited.message.bytes : 0;
  for (const auto& [each, rank] : theirs.begun) begun.bytes = std::max(begun.bytes, each->bytes);
  if (!theirs.whole || !ours.whole) {
    begun.half = OtherHalf::possible;
  } else if (surely > ours.most) {
    begun.half = OtherHalf::certain;
  } else if (theirs.begun.size() + theirs.unclear > ours.least) {
    begun.half = OtherHalf::possible;
  }
  return begun;
}

}  // namespace culprit::stuck
