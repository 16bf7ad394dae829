// From the call that a thread is in to the ranks that it waits for. Of a collective: those that have not
// begun as many on its communicator. Of a message: its other end. Of several requests, and of the two halves
// of an exchange: those that have not sent what it receives, where all that they sent is known; else any, as
// which of them are complete already only MPI knows: one rank that can still act is enough to hope for. Of a
// lock: those that hold one which excludes it. Of an epoch: the group.
// Where it is not certain, a wait counts as one that may end: a deadlock that is not found is found at the
// next look, one that is none is never forgiven.
#include "stuck/waits_for.hpp"

#include "mpi_calls/mpi_calls.hpp"
#include "stuck/other_half.hpp"

#include <algorithm>

namespace culprit::stuck {
namespace {

void add_unless_self(WaitsFor& waits, std::int32_t rank, const Process& process) {
  if (rank == kNobody || rank == process.rank) return;
  if (rank < 0) {
    waits.unknown = true;
  } else {
    waits.ranks.push_back(rank);
  }
}

/// All of a context's processes but this one.
void add_all(WaitsFor& waits, const Ranks& ranks, std::uint64_t id, const Process& process) {
  const auto context = ranks.picture().contexts.find(id);
  if (context == ranks.picture().contexts.end()) {
    waits.unknown = true;
    return;
  }
  const Context& known = context->second;
  waits.unknown = waits.unknown || known.members.size() + known.others.size() > kMostNamed;
  if (waits.unknown) return;
  for (const auto* const side : {&known.members, &known.others}) {
    for (const std::int32_t rank : *side) add_unless_self(waits, rank, process);
  }
}

bool is_inside(const Process& process, const auto& condition) {
  return std::ranges::any_of(process.threads,
                             [&](const Thread& thread) { return thread.inside && condition(thread.call); });
}

/// Whether the other end waits for the very message, too: then it is under way.
bool is_under_way(const Ranks& ranks, const Process& process, const Message& message) {
  const Process* const other = ranks.find(message.peer);
  return other != nullptr && is_inside(*other, [&](const Call& call) {
           return std::ranges::any_of(call.messages, [&](const Message& theirs) {
             return matches(message, process.rank, theirs, other->rank);
           });
         });
}

/// A message of which both halves have begun may be moving for so long, and the longer the larger it is;
/// after that it has arrived, and it is others that the calls wait for. While an end runs code of the program
/// within a call, as a reduction's operation, nothing moves.
std::uint64_t longest_transfer_ns(std::uint64_t bytes) {
  constexpr std::uint64_t kLongest = 30'000'000'000, kSlowestByte = 20;  // 50 MB/s
  return kLongest + bytes * kSlowestByte;
}

/// The processes of which one is the message's other end; null: one of which nothing is known.
std::vector<const Process*> other_ends(const Ranks& ranks, const Message& message) {
  if (message.peer != kAnySource) return {ranks.find(message.peer)};
  const auto context = ranks.picture().contexts.find(message.comm);
  if (context == ranks.picture().contexts.end()) return {nullptr};
  const Context& known = context->second;
  if (known.members.size() + known.others.size() > kMostNamed) return {nullptr};
  std::vector<const Process*> ends;
  for (const auto* const side : {&known.members, &known.others}) {
    for (const std::int32_t rank : *side) ends.push_back(ranks.find(rank));
  }
  return ends;
}

/// Whether a thread of the rank is in a call of MPI, in which libraries move what was begun.
bool is_in_mpi(const Ranks& ranks, std::int32_t rank) {
  const Process* const process = ranks.find(rank);
  return process != nullptr && is_inside(*process, [](const Call&) { return true; });
}

WaitsFor about_to_end() {
  return {.ranks = {}, .one_suffices = true, .unknown = true};
}

WaitsFor for_messages(const Ranks& ranks, const Process& process, const Thread& thread) {
  const Call& call = thread.call;
  const auto longer_than = [&](std::uint64_t ns) {
    return thread.since_ns != 0 && process.now_ns > thread.since_ns && process.now_ns - thread.since_ns > ns;
  };
  const bool needs_all =
      call.messages.size() > 1 && (call.kind == CallKind::all_requests || call.kind == CallKind::exchange);
  WaitsFor waits, surely;
  waits.one_suffices = call.one_suffices || call.messages.size() > 1;
  for (const Message& message : call.messages) {
    const auto [half, bytes] = other_half({process, thread, message}, other_ends(ranks, message));
    if (half != OtherHalf::missing && !longer_than(longest_transfer_ns(bytes))) return about_to_end();
    if (half == OtherHalf::certain) {
      if (!needs_all || !is_in_mpi(ranks, message.peer)) return about_to_end();
      continue;  // it has arrived: the call waits for others
    }
    if (message.peer == kAnySource) {
      waits.one_suffices = true;
      add_all(waits, ranks, message.comm, process);
    } else if (is_under_way(ranks, process, message)) {
      if (!longer_than(longest_transfer_ns(bytes))) return about_to_end();
    } else if (message.peer == process.rank && process.threads.size() == 1) {
      waits.ranks.push_back(process.rank);  // nobody else is there to send it
    } else {
      add_unless_self(waits, message.peer, process);
      if (needs_all && half == OtherHalf::missing && message.kind == CallKind::receive)
        add_unless_self(surely, message.peer, process);
    }
  }
  if (!surely.ranks.empty()) return surely;
  waits.unknown = waits.unknown || call.others || waits.ranks.empty();
  return waits;
}

/// Beyond these, who holds a lock of a window is not asked.
constexpr std::size_t kMostHolders = 4096;

bool is_on_target(const Call& call, std::uint64_t window, std::int32_t target) {
  const bool passive =
      call.kind == CallKind::lock || call.kind == CallKind::flush || call.kind == CallKind::access;
  return passive && call.context == window &&
         (call.target == target || call.target == kAllTargets || target == kAllTargets);
}

bool concerns(const HeldLock& lock, std::int32_t target) {
  return lock.target == target || lock.target == kAllTargets || target == kAllTargets;
}

/// Whether the call needs a lock that no other may be beside.
bool wants_exclusive(const Thread& thread, const Call& call) {
  if (call.kind == CallKind::lock) return call.exclusive;
  return std::ranges::any_of(thread.locks, [&](const HeldLock& lock) {
    return lock.window == call.context && lock.exclusive && concerns(lock, call.target);
  });
}

/// Whether the target is in calls of MPI, in which libraries answer who wants a lock or moves data: where it
/// computes, that alone may be what the call waits for.
bool answers(const Ranks& ranks, const Call& call) {
  if (call.target != kAllTargets) return is_in_mpi(ranks, call.target);
  const auto window = ranks.picture().contexts.find(call.context);
  return window != ranks.picture().contexts.end() && window->second.members.size() <= kMostNamed &&
         std::ranges::all_of(window->second.members,
                             [&](std::int32_t rank) { return is_in_mpi(ranks, rank); });
}

/// Those that hold a lock there which excludes the one that is needed, and are not themselves waiting to get
/// one: libraries return from MPI_Win_lock before they have it.
WaitsFor for_lock(const Ranks& ranks, const Process& process, const Thread& thread) {
  const Call& call = thread.call;
  const Process* const target = call.target < 0 ? nullptr : ranks.find(call.target);
  const bool over = target != nullptr && (target->life == Life::ended || target->life == Life::died);
  if (!over && !answers(ranks, call)) return {.ranks = {}, .unknown = true};
  const std::vector<Holder>& holders = ranks.holders(call.context, !wants_exclusive(thread, call));
  if (holders.size() > kMostHolders) return {.ranks = {}, .unknown = true};
  WaitsFor waits;
  for (const Holder& holder : holders) {
    if (holder.process == &process || !concerns(holder.lock, call.target)) continue;
    const bool waits_too = is_inside(
        *holder.process, [&](const Call& theirs) { return is_on_target(theirs, call.context, call.target); });
    if (!waits_too) waits.ranks.push_back(holder.process->rank);
  }
  if (over && waits.ranks.empty()) waits.ranks.push_back(call.target);
  waits.unknown = waits.ranks.empty();  // nobody is known to hold it: the target's library has to answer
  return waits;
}

/// Those of the group that are not in the call that answers this one.
WaitsFor for_group(const Ranks& ranks, const Process& process, const Call& call) {
  WaitsFor waits;
  waits.one_suffices = call.group.size() > 1;
  waits.unknown = call.group.empty();
  const auto answers = [&](const Call& theirs) {
    if (theirs.context != call.context) return false;
    return call.kind == CallKind::wait ? theirs.kind == CallKind::start || theirs.kind == CallKind::complete
                                       : theirs.kind == CallKind::wait;
  };
  for (const std::int32_t rank : call.group) {
    const Process* const other = ranks.find(rank);
    if (other != nullptr && is_inside(*other, answers)) continue;
    add_unless_self(waits, rank, process);
  }
  waits.unknown = waits.unknown || waits.ranks.empty();
  return waits;
}

WaitsFor for_end(const Ranks& ranks) {
  WaitsFor waits;
  waits.ranks = ranks.not_at_end();
  waits.unknown = waits.ranks.empty();
  return waits;
}

/// Whether all others of the collective have to enter it before this process can leave: not where data comes
/// from one, from some or only from those before it in rank.
bool needs_all(const Call& call, bool is_root) {
  const mpi_calls::MpiCall* const known = mpi_calls::find_call(call.name);
  if (call.root != kNobody) return is_root && known != nullptr && mpi_calls::gathers(*known);
  return known == nullptr || !mpi_calls::lets_leave_early(*known);
}

WaitsFor for_absent(const Ranks& ranks, const Process& process, const Call& call) {
  WaitsFor waits;
  const auto own = process.contexts.find(call.context);
  waits.one_suffices = !needs_all(call, own != process.contexts.end() && own->second.rank == call.root);
  const auto context = ranks.picture().contexts.find(call.context);
  if (context == ranks.picture().contexts.end() || call.sequence == 0) return {.ranks = {}, .unknown = true};
  for (const std::int32_t rank : ranks.absent_from(call)) add_unless_self(waits, rank, process);
  waits.unknown = waits.unknown || waits.ranks.empty();
  return waits;
}

}  // namespace

Ranks::Ranks(const Picture& picture) : picture_(picture) {
  for (const Process& process : picture.processes) {
    if (process.rank < 0) continue;
    const auto rank = static_cast<std::size_t>(process.rank);
    if (of_.size() <= rank) of_.resize(rank + 1, nullptr);
    of_[rank] = &process;
    for (const Thread& thread : process.threads) {
      for (const HeldLock& lock : thread.locks) {
        holders_[{lock.window, false}].push_back({.process = &process, .lock = lock});
        if (lock.exclusive) holders_[{lock.window, true}].push_back({.process = &process, .lock = lock});
      }
    }
    const bool at_end = is_inside(process, [](const Call& call) { return call.kind == CallKind::finalize; });
    if (!at_end && process.life != Life::ended && not_at_end_.size() < kMostNamed)
      not_at_end_.push_back(process.rank);
  }
}

const Process* Ranks::find(std::int32_t rank) const {
  return rank >= 0 && static_cast<std::size_t>(rank) < of_.size() ? of_[static_cast<std::size_t>(rank)]
                                                                  : nullptr;
}

const std::vector<Holder>& Ranks::holders(std::uint64_t window, bool only_exclusive) const {
  static const std::vector<Holder> kNone;
  const auto found = holders_.find({window, only_exclusive});
  return window == 0 || found == holders_.end() ? kNone : found->second;
}

const std::vector<std::int32_t>& Ranks::absent_from(const Call& call) const {
  const auto [entry, fresh] = absent_.try_emplace({call.context, call.sequence});
  std::vector<std::int32_t>& absent = entry->second;
  const auto context = picture_.contexts.find(call.context);
  if (!fresh || context == picture_.contexts.end() || call.sequence == 0) return absent;
  for (const auto* const side : {&context->second.members, &context->second.others}) {
    for (const std::int32_t rank : *side) {
      if (absent.size() == kMostNamed) return absent;
      const Process* const process = find(rank);
      if (process == nullptr || (!process->publishes && process->life != Life::ended)) {
        absent.push_back(kUnknownRank);
        continue;
      }
      const auto membership = process->contexts.find(call.context);
      const std::uint64_t begun = membership == process->contexts.end() ? 0 : membership->second.collectives;
      if (begun < call.sequence) absent.push_back(rank);
    }
  }
  return absent;
}

WaitsFor waits_for(const Ranks& ranks, const Process& process, const Thread& thread) {
  const Call& call = thread.call;
  WaitsFor waits;
  switch (call.kind) {
    case CallKind::send:
    case CallKind::receive:
    case CallKind::exchange:
    case CallKind::probe:
    case CallKind::all_requests:
    case CallKind::any_request:
      waits = for_messages(ranks, process, thread);
      break;
    case CallKind::collective:
      waits = for_absent(ranks, process, call);
      break;
    case CallKind::access:
    case CallKind::lock:
    case CallKind::flush:
      waits = for_lock(ranks, process, thread);
      break;
    case CallKind::start:
    case CallKind::complete:
    case CallKind::wait:
      waits = for_group(ranks, process, call);
      break;
    case CallKind::finalize:
      waits = for_end(ranks);
      break;
    case CallKind::matched:
    case CallKind::members:
    case CallKind::other:
      waits.unknown = true;
      break;
  }
  // Of a group's members some may not be measured.
  if (std::erase_if(waits.ranks, [&](std::int32_t rank) { return ranks.find(rank) == nullptr; }) > 0)
    waits.unknown = true;
  std::ranges::sort(waits.ranks);
  waits.ranks.erase(std::unique(waits.ranks.begin(), waits.ranks.end()), waits.ranks.end());
  return waits;
}

}  // namespace culprit::stuck
