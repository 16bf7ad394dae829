#pragma once

#include "mpi/call_facts.hpp"
#include "mpi/contexts.hpp"

#include <cstdint>
#include <type_traits>

// How many bytes a process gives to a collective and gets from it: what its arguments say, by the standard's
// rules for MPI_IN_PLACE and for arguments that count at the root alone. What stays within the process (its
// own share) counts like what others send.
namespace culprit::mpi {

struct Amounts {
  std::uint64_t sent = 0, received = 0;
};

/// Of this many items.
std::uint64_t amount(MPI_Count count, MPI_Datatype datatype);

/// The others in a collective, as this process sees them.
struct Partners {
  Places destinations, sources;  ///< that it sends to, receives from; itself among them
  int own;                       ///< the index of its own share
  bool root;
};

// What a buffer holds for all of `places`, and for one of them. At places without a partner nothing is read
// or written.
inline std::uint64_t whole(const NoData& /*data*/, Places /*places*/, int /*own*/) {
  return 0;
}
inline std::uint64_t whole(const Data& data, Places places, int /*own*/) {
  if (places.nobody != 0 && places.partners() == 0) return 0;
  return amount(data.count, data.datatype);
}
inline std::uint64_t whole(const SameForEach& data, Places places, int /*own*/) {
  return static_cast<std::uint64_t>(places.partners()) * amount(data.count, data.datatype);
}
template <typename Count>
std::uint64_t whole(const DataPerRank<Count>& data, Places places, int /*own*/) {
  MPI_Count sum = 0;
  for (int i = 0; i < places.count; ++i) sum += places.has(i) ? data.counts[i] : 0;
  return amount(sum, data.datatype);
}
template <typename Count>
std::uint64_t whole(const TypedDataPerRank<Count>& data, Places places, int /*own*/) {
  std::uint64_t sum = 0;
  for (int i = 0; i < places.count; ++i)
    if (places.has(i)) sum += amount(data.counts[i], data.datatypes[i]);
  return sum;
}
template <typename Count>
std::uint64_t whole(const OwnShare<Count>& data, Places /*places*/, int own) {
  return amount(data.counts[own], data.datatype);
}

inline std::uint64_t share(const SameForEach& data, int /*own*/) {
  return amount(data.count, data.datatype);
}
template <typename Count>
std::uint64_t share(const DataPerRank<Count>& data, int own) {
  return amount(data.counts[own], data.datatype);
}

template <typename Each>
concept HasShares = requires(const Each& data) {
  share(data, 0);
};

template <typename Amount>
bool in_place(const Amount& data) {
  if constexpr (std::is_same_v<Amount, NoData>) {
    return false;
  } else {
    return data.buffer == MPI_IN_PLACE;
  }
}

/// Where the buffer to send from is MPI_IN_PLACE, its count and type say nothing, unless they are the only
/// ones that the call has.
template <typename Sent, typename Received>
std::uint64_t bytes_sent(const Sent& sent, const Received& received, const Partners& partners) {
  if constexpr (std::is_same_v<Sent, Data> && HasShares<Received>) {
    if (in_place(sent)) return share(received, partners.own);
  } else if constexpr (std::is_same_v<Sent, Received> && !std::is_same_v<Sent, Data>) {
    if (in_place(sent)) return whole(received, partners.sources, partners.own);
  }
  return whole(sent, partners.destinations, partners.own);
}
template <typename Sent, typename Received>
std::uint64_t bytes_received(const Sent& sent, const Received& received, const Partners& partners) {
  if constexpr (std::is_same_v<Received, Data> && HasShares<Sent>) {
    if (in_place(received)) return share(sent, partners.own);
  }
  return whole(received, partners.sources, partners.own);
}

inline Partners partners_in(const Communicator& communicator, Flow flow, int root) {
  if (flow == Flow::neighbors)
    return {.destinations = {communicator.destinations, communicator.nobody},
            .sources = {communicator.sources, communicator.nobody},
            .own = 0,
            .root = false};
  const bool inter = communicator.remote_size != 0;
  const int processes = inter ? communicator.remote_size : communicator.size;
  return {.destinations = {processes, 0},
          .sources = {processes, 0},
          .own = communicator.rank,
          .root = root == (inter ? MPI_ROOT : communicator.rank)};
}

template <typename Sent, typename Received>
Amounts amounts(Flow flow, int root, const Communicator& communicator, const Sent& sent,
                const Received& received) {
  Partners partners = partners_in(communicator, flow, root);
  // A reduction that is scattered has a share for each process of the own group.
  constexpr bool kScatters = !std::is_same_v<Sent, Data> && !HasShares<Received>;
  if (kScatters && flow == Flow::all_to_all && !std::is_same_v<Sent, Received>)
    partners.destinations = {communicator.size, 0};
  const bool rooted = flow == Flow::one_to_all || flow == Flow::all_to_one;
  const bool inter = communicator.remote_size != 0;
  if (communicator.context == kNoContext || (rooted && root == MPI_PROC_NULL)) return {};
  // A broadcast has one buffer, which the root does not receive into; between groups, the root does only its
  // part.
  constexpr bool kOneBuffer = std::is_same_v<Sent, Data> && std::is_same_v<Received, Data>;
  bool sends = true;
  bool receives = true;
  if (flow == Flow::one_to_all) {
    sends = partners.root;
    receives = !partners.root || (!kOneBuffer && !inter);
  } else if (flow == Flow::all_to_one) {
    sends = !partners.root || !inter;
    receives = partners.root;
  }
  Amounts all;
  if (sends) all.sent = bytes_sent(sent, received, partners);
  if (receives) all.received = bytes_received(sent, received, partners);
  return all;
}

}  // namespace culprit::mpi
