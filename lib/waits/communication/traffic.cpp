// What MPI calls move (docs/algorithms.md 7): one pass over the records of each time line, in the order in
// which they are read. Sums are exact, and independent of how time lines are spread over ranks. Cost: two
// look-ups a call and one a message.
#include "waits/communication/traffic.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace culprit::waits {

using measurement::trace::Context;
using measurement::trace::kNobody;
using measurement::trace::Operation;
using measurement::trace::OperationKind;
using measurement::trace::Record;
using measurement::trace::RecordKind;

namespace {

struct Moved {
  std::uint64_t sent = 0, received = 0;
  bool to_peer = false, from_peer = false;  ///< what is counted of one partner
};

/// Nothing where the operation moves no data, or is counted by another call.
std::optional<Moved> moved_by(const Operation& operation) {
  const bool alone = operation.peer == kNobody;
  switch (operation.kind) {
    case OperationKind::send:
    case OperationKind::send_synchronous:
    case OperationKind::send_buffered:
    case OperationKind::put:
    case OperationKind::accumulate:
      if (!operation.begins || alone) return std::nullopt;
      return Moved{.sent = operation.bytes, .to_peer = true};
    case OperationKind::get:
      if (!operation.begins || alone) return std::nullopt;
      return Moved{.received = operation.bytes, .from_peer = true};
    case OperationKind::receive:
    case OperationKind::receive_matched:  // whose sender counts it for the two
      if (!operation.completes || operation.cancelled || alone) return std::nullopt;
      return Moved{.received = operation.bytes};
    case OperationKind::one_to_all:
    case OperationKind::all_to_one:
    case OperationKind::all_to_all:
    case OperationKind::prefix:
    case OperationKind::neighbors:
      if (!operation.begins) return std::nullopt;
      return Moved{.sent = operation.bytes, .received = operation.bytes_received};
    default:
      return std::nullopt;
  }
}

/// A mark of the program is recorded as a call.
bool is_mark(const Record& record) {
  return !record.operations.empty() && record.operations.front().kind == OperationKind::iteration;
}

std::uint64_t mixed(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15U;
  return value ^ (value >> 32);
}

}  // namespace

void CallSum::add(const CallSum& other) {
  calls += other.calls;
  ns += other.ns;
  longest_ns = std::max(longest_ns, other.longest_ns);
  messages += other.messages;
  sent += other.sent;
  received += other.received;
  message_bytes += other.message_bytes;
  smallest = std::min(smallest, other.smallest);
  largest = std::max(largest, other.largest);
}

std::size_t Traffic::PeerHash::operator()(const Peer& peer) const {
  const std::uint64_t place = (std::uint64_t{peer.context} << 32) | static_cast<std::uint32_t>(peer.rank);
  return mixed(mixed(place) + 2 * peer.process + (peer.sends ? 1 : 0));
}

Traffic::Traffic(const RankMap& rank_map, std::span<const std::unique_ptr<ProcessTrace>> own)
    : rank_map_(rank_map) {
  for (std::size_t process = 0; process < own.size(); ++process)
    process_of_.try_emplace(own[process]->rank(), process);  // of two that claim a rank the first has it
}

void Traffic::observe(Location location, const Record& record) {
  if (record.kind != RecordKind::call || is_mark(record)) return;
  CallSum& sum = calls_[(std::uint64_t{location} << 32) | record.node];
  const std::uint64_t ns = record.exit_ns - std::min(record.enter_ns, record.exit_ns);
  ++sum.calls;
  sum.ns += ns;
  sum.longest_ns = std::max(sum.longest_ns, ns);
  for (const Operation& operation : record.operations) {
    const std::optional<Moved> moved = moved_by(operation);
    if (!moved) continue;
    const std::uint64_t bytes = std::max(moved->sent, moved->received);
    ++sum.messages;
    sum.sent += moved->sent;
    sum.received += moved->received;
    sum.message_bytes += bytes;
    sum.smallest = std::min(sum.smallest, bytes);
    sum.largest = std::max(sum.largest, bytes);
    if (!moved->to_peer && !moved->from_peer) continue;
    Amount& amount = peers_[{.process = process_of_.at(rank_map_.rank_of(location)),
                             .context = operation.context,
                             .rank = operation.peer,
                             .sends = moved->from_peer}];
    ++amount.messages;
    amount.bytes += bytes;
  }
}

void Traffic::clear() {
  calls_.clear();
  peers_.clear();
}

std::vector<CallSum> Traffic::calls() const {
  std::vector<CallSum> list;
  list.reserve(calls_.size());
  for (const auto& [key, sum] : calls_) {
    list.push_back(sum);
    list.back().location = static_cast<Location>(key >> 32);
    list.back().context = static_cast<std::uint32_t>(key);
  }
  std::ranges::sort(list, {}, [](const CallSum& sum) { return std::tuple(sum.location, sum.context); });
  return list;
}

std::vector<PartnerSum> Traffic::partners(const Contexts& contexts) const {
  std::map<std::tuple<std::uint64_t, std::int32_t, std::int32_t>, PartnerSum> sums;
  std::map<std::size_t, std::int32_t> rank_of;
  for (const auto& [rank, process] : process_of_) rank_of[process] = rank;
  for (const auto& [peer, amount] : peers_) {
    const View& view = contexts.view(peer.process, peer.context);
    if (view.shared == View::kUnknown || view.members == nullptr) continue;
    const std::optional<std::int32_t> other = view.members->at(peer.rank);
    if (!other || *other < 0) continue;
    const SharedContext& shared = contexts.shared(view.shared);
    const std::int32_t own = rank_of.at(peer.process);
    const std::int32_t from = peer.sends ? *other : own, to = peer.sends ? own : *other;
    PartnerSum& sum = sums[{shared.global_id, from, to}];
    sum.communicator = shared.global_id;
    sum.members = shared.size;
    sum.from = from;
    sum.to = to;
    sum.messages += amount.messages;
    sum.bytes += amount.bytes;
  }
  std::vector<PartnerSum> list;
  list.reserve(sums.size());
  for (const auto& [key, sum] : sums) list.push_back(sum);
  return list;
}

}  // namespace culprit::waits
