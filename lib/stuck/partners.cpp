// Messages without a partner: a receive whose sender is blocked or gone and has sent nothing that fits, with
// the sent message that comes nearest; a send whose receiver waits for something else, with what it waits
// for.
#include "stuck/other_half.hpp"
#include "stuck/situation.hpp"
#include "stuck/words.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace culprit::stuck {
namespace {

/// Messages that one thread or all of a process's have sent to a rank, or received from it, by communicator
/// and tag.
struct Channel {
  std::map<std::pair<std::uint64_t, std::int32_t>, std::uint64_t> count;
  bool whole = true;       ///< these are all
  bool wildcards = false;  ///< some were received from any source, or with any tag
};

Channel channel(const Process& process, CallKind kind, std::int32_t peer) {
  Channel result;
  for (const Thread& thread : process.threads) {
    result.whole = result.whole && thread.all_messages;
    for (const Message& message : thread.last) {
      if (message.kind != kind) continue;
      if (message.peer == kAnySource || (message.peer == peer && message.tag == kAnyTag)) {
        result.wildcards = true;
      } else if (message.peer == peer) {
        ++result.count[{message.comm, message.tag}];
      }
    }
  }
  return result;
}

/// The nearer, the smaller: the same communicator first, then the same tag, then close tags.
auto distance(const Message& wanted, std::uint64_t comm, std::int32_t tag) {
  return std::tuple(comm != wanted.comm, tag != wanted.tag, std::abs(std::int64_t{tag} - wanted.tag));
}

/// A message that the peer sent to `receiver` and that nobody received, as far as is known.
std::optional<Message> nearest_sent(const Process& peer, const Process& receiver, const Message& wanted) {
  const Channel sent = channel(peer, CallKind::send, receiver.rank);
  const Channel received = channel(receiver, CallKind::receive, peer.rank);
  if (received.wildcards) return {};
  std::optional<Message> nearest;
  for (const auto& [key, count] : sent.count) {
    const auto taken = received.count.find(key);
    const std::uint64_t matched = taken == received.count.end() ? 0 : taken->second;
    const bool left = sent.whole && received.whole ? count > matched : matched == 0;
    if (!left || (key.first == wanted.comm && key.second == wanted.tag)) continue;
    if (nearest && distance(wanted, nearest->comm, nearest->tag) <= distance(wanted, key.first, key.second))
      continue;
    nearest = Message{
        .kind = CallKind::send, .comm = key.first, .peer = receiver.rank, .tag = key.second, .bytes = 0};
  }
  return nearest;
}

/// Whether the peer is known to have sent the very message.
bool has_sent(const Process& peer, const Process& receiver, const Message& wanted) {
  return std::ranges::any_of(channel(peer, CallKind::send, receiver.rank).count, [&](const auto& entry) {
    const auto& [comm, tag] = entry.first;
    return comm == wanted.comm && (wanted.tag == kAnyTag || tag == wanted.tag);
  });
}

/// What the peer waits to receive from `sender`.
std::optional<Message> nearest_awaited(const Process& peer, const Process& sender, const Message& wanted) {
  std::optional<Message> nearest;
  for (const Thread& thread : peer.threads) {
    if (!thread.inside) continue;
    for (const Message& message : thread.call.messages) {
      if (message.kind != CallKind::receive || (message.peer != sender.rank && message.peer != kAnySource))
        continue;
      if (nearest &&
          distance(wanted, nearest->comm, nearest->tag) <= distance(wanted, message.comm, message.tag))
        continue;
      nearest = message;
    }
  }
  return nearest;
}

std::string tag_in_words(const Picture& picture, const Message& message, std::uint64_t other_comm) {
  std::string text = message.tag == kAnyTag ? "any tag" : "tag " + std::to_string(message.tag);
  if (message.comm != other_comm) text += " on " + context_in_words(picture, message.comm);
  return text;
}

std::string tell_receive(const Picture& picture, const Process& peer, const Process& own,
                         const Message& wanted, const std::optional<Message>& nearest) {
  const std::string other = "rank " + std::to_string(peer.rank);
  if (!nearest) {
    const bool all_known = !peer.threads.empty() && std::ranges::all_of(peer.threads, &Thread::all_messages);
    const bool none = all_known && !has_sent(peer, own, wanted);
    return ", which is " + whereabouts(&peer) + (none ? " and has sent none" : "");
  }
  const bool comm = nearest->comm != wanted.comm;
  return "; " + other + " sent one with " + tag_in_words(picture, *nearest, wanted.comm) +
         (comm ? " instead of on " + context_in_words(picture, wanted.comm) : "") + ", which rank " +
         std::to_string(own.rank) + " has not received, and is " + whereabouts(&peer);
}

std::string tell_send(const Picture& picture, const Process& peer, const Message& wanted,
                      const std::optional<Message>& nearest) {
  if (!nearest) return ", which is " + whereabouts(&peer) + " and receives none";
  const bool comm = nearest->comm != wanted.comm;
  return ", which waits for one with " + tag_in_words(picture, *nearest, wanted.comm) +
         (comm ? " instead of on " + context_in_words(picture, wanted.comm) : "") + ", " + whereabouts(&peer);
}

void look_at(const Situation& situation, const Standing& each, const Message& message,
             std::vector<Problem>& problems) {
  const Process* const peer = situation.ranks().find(message.peer);
  if (peer == nullptr || peer == each.process) return;
  const bool ends =
      situation.is_gone(peer->rank) || std::ranges::any_of(peer->threads, [](const Thread& thread) {
        return thread.inside && thread.call.kind == CallKind::finalize;
      });
  if (!ends && !situation.is_blocked(peer->rank)) return;
  const Picture& picture = situation.ranks().picture();
  const bool sends = message.kind == CallKind::send;
  const std::optional<Message> nearest =
      sends ? nearest_awaited(*peer, *each.process, message) : nearest_sent(*peer, *each.process, message);
  if (!nearest && !ends) return;
  if (nearest && matches(message, each.process->rank, *nearest, peer->rank)) return;
  Problem problem;
  problem.kind = ProblemKind::no_partner;
  problem.ranks = {std::min(each.process->rank, peer->rank), std::max(each.process->rank, peer->rank)};
  problem.text = "rank " + std::to_string(each.process->rank) + " waits " + whereabouts(*each.thread) +
                 " since " + span_of_time(each.row.since_s) + (sends ? " to send " : " for ") +
                 message_in_words(message) +
                 (sends ? tell_send(picture, *peer, message, nearest)
                        : tell_receive(picture, *peer, *each.process, message, nearest));
  problems.push_back(std::move(problem));
}

}  // namespace

/// Of two ranks one message is reported, rather a receive: what was sent says what is wrong with it.
void find_without_partner(const Situation& situation, std::vector<Problem>& problems) {
  std::set<std::vector<std::int32_t>> reported;
  for (const CallKind kind : {CallKind::receive, CallKind::send}) {
    for (const Standing& each : situation.standing()) {
      if (!situation.is_blocked(each.process->rank)) continue;
      for (const Message& message : each.thread->call.messages) {
        std::vector<Problem> found;
        if (message.kind == kind) look_at(situation, each, message, found);
        for (Problem& problem : found) {
          if (reported.insert(problem.ranks).second) problems.push_back(std::move(problem));
        }
      }
    }
  }
}

}  // namespace culprit::stuck
