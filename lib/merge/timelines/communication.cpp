// Adds up what MPI calls moved, as a database holds it (docs/algorithms.md 7, Traffic): calls by the scope at
// which they are shown, and bytes by communicator, sender and receiver. The size of the latter is bounded:
// beyond 64 communicators those with the fewest bytes become one; beyond 2^18 rows neighbouring ranks share a
// row, twice as many at each step until the rows fit. Sums are integers, so that their order does not matter.
// Cost: on rank 0, one pass over the pairs for each step.
#include "merge/timelines/communication.hpp"

#include "exchange/message_exchange.hpp"
#include "merge/timelines/time_line_scopes.hpp"
#include "merge/values/call_traffic.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace culprit::merge {
namespace {

using database::ContextId;
using database::PartnerTraffic;

/// `sum` is of one thread, all paths that are shown there together.
database::CallTraffic row_of(ContextId context, std::uint32_t thread, const waits::CallSum& sum) {
  return {.context = context,
          .threads = 1,
          .busiest = thread,
          .calls = sum.calls,
          .ns = sum.ns,
          .busiest_ns = sum.ns,
          .longest_ns = sum.longest_ns,
          .messages = sum.messages,
          .message_bytes = sum.message_bytes,
          .smallest = sum.messages == 0 ? 0 : sum.smallest,
          .largest = sum.largest,
          .sent_bytes = sum.sent,
          .received_bytes = sum.received};
}

CallTraffic add_up_calls(const Shape& shape, std::span<const std::uint32_t> threads,
                         std::span<const waits::CallSum> sums) {
  CallTraffic calls;
  for (std::size_t i = 0; i < sums.size();) {
    const waits::Location location = sums[i].location;
    std::map<ContextId, waits::CallSum> of_thread;
    for (; i < sums.size() && sums[i].location == location; ++i)
      of_thread[call_scope(shape, sums[i].context)].add(sums[i]);
    for (const auto& [context, sum] : of_thread) calls.add(row_of(context, threads[location], sum));
  }
  return calls;
}

/// By communicator and the first ranks of either side.
using Partners = std::map<std::tuple<std::uint64_t, std::int32_t, std::int32_t>, PartnerTraffic>;

/// With this many ranks on either side of a row, and only the communicators that are `kept` distinguished.
Partners partners_by(std::span<const waits::PartnerSum> sums, std::int32_t ranks,
                     const std::set<std::uint64_t>& kept) {
  Partners partners;
  for (const waits::PartnerSum& sum : sums) {
    const bool known = kept.contains(sum.communicator);
    const std::uint64_t communicator = known ? sum.communicator : 0;
    const std::int32_t from = sum.from - sum.from % ranks, to = sum.to - sum.to % ranks;
    PartnerTraffic& row = partners[{communicator, from, to}];
    row.communicator = communicator;
    row.members = known ? std::max(row.members, sum.members) : 0;
    row.from = from;
    row.to = to;
    row.ranks = static_cast<std::uint32_t>(ranks);
    row.messages += sum.messages;
    row.bytes += sum.bytes;
  }
  return partners;
}

/// Those with the most bytes, each with its bytes.
std::vector<std::pair<std::uint64_t, std::uint64_t>> largest_communicators(
    std::span<const waits::PartnerSum> sums) {
  std::map<std::uint64_t, std::uint64_t> bytes;
  for (const waits::PartnerSum& sum : sums) bytes[sum.communicator] += sum.bytes;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> list(bytes.begin(), bytes.end());
  std::ranges::stable_sort(list, std::ranges::greater(), &std::pair<std::uint64_t, std::uint64_t>::second);
  return list;
}

}  // namespace

std::vector<PartnerTraffic> add_up_partners(std::span<const waits::PartnerSum> sums,
                                            const PartnerLimits& limits) {
  const auto communicators = largest_communicators(sums);
  std::map<std::uint64_t, std::size_t> place;  // what is pooled comes last
  std::set<std::uint64_t> kept;
  for (const auto& [communicator, bytes] : communicators) {
    if (kept.size() == limits.communicators) break;
    place.emplace(communicator, kept.size());
    kept.insert(communicator);
  }
  std::int32_t ranks = 1;
  Partners partners = partners_by(sums, ranks, kept);
  while (partners.size() > limits.rows && ranks < (1 << 24)) {
    ranks *= 2;
    partners = partners_by(sums, ranks, kept);
  }
  std::vector<PartnerTraffic> rows;
  rows.reserve(partners.size());
  for (const auto& [key, row] : partners) rows.push_back(row);
  std::ranges::stable_sort(rows, {}, [&](const PartnerTraffic& row) {
    const auto found = place.find(row.communicator);
    return found == place.end() ? kept.size() : found->second;
  });
  return rows;
}

database::Communication gather_communication(exchange::Communicator& comm, const Shape& shape,
                                             std::span<const std::uint32_t> threads,
                                             const std::vector<waits::CallSum>& calls,
                                             const std::vector<waits::PartnerSum>& partners) {
  database::Communication found;
  found.calls = add_up_calls(shape, threads, calls).gather(comm);
  found.partners =
      add_up_partners(exchange::items_at_root(comm, std::span<const waits::PartnerSum>(partners)));
  return found;
}

}  // namespace culprit::merge
