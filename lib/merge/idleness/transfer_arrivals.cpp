// When the processes of single large transfers came (ours; docs/algorithms.md 5.1): stamps of all processes
// are brought together on rank 0, grouped by stream and sequence number, checked against each other, and the
// arrivals are broadcast. At most 2^20 stamps are looked at, chosen by leading zeros of a hash of their
// numbers, so the choice does not depend on the rank that reads them. Cost: a sort of the stamps.
#include "merge/idleness/transfer_arrivals.hpp"

#include "cct/message.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>
#include <tuple>

namespace culprit::merge {

using measurement::Epoch;
using measurement::EpochKind;

namespace {

constexpr auto kFence = static_cast<std::uint32_t>(EpochKind::fence_stamp);
constexpr auto kSent = static_cast<std::uint32_t>(EpochKind::sent_stamp);
constexpr auto kReceived = static_cast<std::uint32_t>(EpochKind::received_stamp);

// Bits of a stamp, as docs/formats.md has them.
constexpr std::uint32_t kRoot = 1, kWhole = 2, kAny = 4;
constexpr std::uint32_t flow_of(std::uint32_t bits) {
  return bits >> 4 & 15;
}
constexpr std::uint32_t operations_of(std::uint32_t bits) {
  return bits >> 8 & 255;
}
constexpr std::uint32_t check_of(std::uint32_t bits) {
  return bits >> 16;
}
enum Flow : std::uint32_t { barrier, one_to_all, all_to_one, all_to_all, prefix, neighbors };

std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) {
  hash = (hash ^ number) * 0x9e3779b97f4a7c15U;
  hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9U;
  return hash ^ hash >> 32;
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 1;
  for (const char c : text) hash = mixed(hash, static_cast<unsigned char>(c));
  return hash;
}

std::uint32_t bits_of(const Epoch& stamp) {
  return static_cast<std::uint32_t>(stamp.peers);
}

}  // namespace

bool TransferArrivals::is_stamp(EpochKind kind) {
  return measurement::is_transfer_stamp(kind) || kind == EpochKind::fence_stamp;
}

TransferArrivals::Call TransferArrivals::call_of(const Epoch& stamp) {
  const std::uint32_t bits = bits_of(stamp);
  const bool parts = stamp.kind == EpochKind::collective_stamp && flow_of(bits) == neighbors;
  return {.operations = operations_of(bits),
          .whole = (bits & kWhole) != 0,
          .any = (bits & kAny) != 0,
          .last_part = parts ? std::max(1U, check_of(bits)) : 1};
}

/// Messages of one number stay together, as in the runtime.
unsigned TransferArrivals::level_of(const Stamp& stamp) {
  const bool message = stamp.kind == kSent || stamp.kind == kReceived;
  const std::uint64_t stream = message ? 0 : stamp.stream;
  return static_cast<unsigned>(std::countl_zero(mixed(mixed(1, stream), stamp.number)));
}

void TransferArrivals::thin(unsigned level) {
  level_ = level;
  std::erase_if(stamps_, [&](const Stamp& stamp) { return level_of(stamp) < level; });
}

void TransferArrivals::add(const measurement::Measurement& file) {
  const std::uint64_t host = hash_of(file.process.host);
  for (const measurement::ThreadProfile& thread : file.threads) {
    for (const Epoch& epoch : thread.epochs) {
      if (!is_stamp(epoch.kind)) continue;
      const auto kind = static_cast<std::uint32_t>(epoch.kind);
      const Stamp stamp{.stream = epoch.window,
                        .number = epoch.size_class,
                        .members = static_cast<std::uint32_t>(epoch.peers >> 32),
                        .kind = kind,
                        .bits = bits_of(epoch),
                        .started = kind == kFence ? epoch.count : epoch.least_ns,
                        .enter = epoch.count,
                        .exit = epoch.total_ns,
                        .host = host};
      ++by_level_[level_of(stamp)];
      if (level_of(stamp) >= level_) stamps_.push_back(stamp);
      while (stamps_.size() > most_ && level_ + 1 < kLevels) thin(level_ + 1);
    }
  }
}

void TransferArrivals::agree(exchange::Communicator& comm) {
  std::uint64_t left = 0;
  for (std::uint64_t& count : by_level_) left += count = comm.all_sum(count);
  unsigned level = 0;
  while (left > most_ && level + 1 < kLevels) left -= by_level_[level++];
  thin(level);
  cct::MessageWriter mine;
  mine.values(stamps_);
  stamps_.clear();
  exchange::Bytes everyones;
  const std::vector<exchange::Bytes> all = comm.gather(mine.take(), 0);
  if (comm.rank() == 0) {
    for (const exchange::Bytes& bytes : all) {
      const auto part = cct::MessageReader(bytes).values<Stamp>();
      stamps_.insert(stamps_.end(), part.begin(), part.end());
    }
    std::ranges::sort(stamps_, {}, [](const Stamp& s) { return std::tuple(s.stream, s.number, s.kind); });
    const Stamp* const end = stamps_.data() + stamps_.size();
    for (const Stamp* first = stamps_.data(); first != end;) {
      const Stamp* last = first;
      while (last != end && last->stream == first->stream && last->number == first->number) ++last;
      first->kind == kSent || first->kind == kReceived ? find_message(first, last)
                                                       : find_collective(first, last);
      first = last;
    }
    cct::MessageWriter message;
    message.values(known_);
    everyones = message.take();
  }
  comm.broadcast(everyones, 0);
  known_ = cct::MessageReader(everyones).values<Known>();
  stamps_ = {};
}

void TransferArrivals::find_collective(const Stamp* first, const Stamp* last) {
  const std::span calls(first, last);
  const auto alike = [&](const Stamp& call) {
    return call.kind == first->kind && call.members == first->members && call.host == first->host &&
           flow_of(call.bits) == flow_of(first->bits);
  };
  if (calls.size() != first->members || !std::ranges::all_of(calls, alike)) return;
  Known known{.stream = first->stream,
              .number = first->number,
              .kind = first->kind,
              .last_start = 0,
              .last_enter = 0,
              .root_start = 0};
  std::uint64_t first_exit = ~std::uint64_t{0};
  for (const Stamp& call : calls) {
    known.last_start = std::max(known.last_start, call.started);
    known.last_enter = std::max(known.last_enter, call.enter);
    if ((call.bits & kRoot) != 0) known.root_start = call.started;
    first_exit = std::min(first_exit, call.exit);
  }
  // Nobody leaves before the last one came, or these are not the calls of one collective.
  if (flow_of(first->bits) == all_to_all && first_exit < known.last_start) return;
  known_.push_back(known);
}

void TransferArrivals::find_message(const Stamp* first, const Stamp* last) {
  if (last - first != 2 || first[0].kind != kSent || first[1].kind != kReceived) return;
  const Stamp& sent = first[0];
  const Stamp& received = first[1];
  // Both sides meet, but for messages that are stored in between; those and wrong pairs look alike.
  const bool meet = sent.started <= received.exit && received.started <= sent.exit;
  if (!meet || sent.host != received.host || check_of(sent.bits) != check_of(received.bits)) return;
  for (const Stamp& side : {sent, received}) {
    known_.push_back({.stream = side.stream,
                      .number = side.number,
                      .kind = side.kind,
                      .last_start = side.started,
                      .last_enter = side.enter,
                      .root_start = 0});
  }
}

const TransferArrivals::Known* TransferArrivals::find(std::uint64_t stream, std::uint32_t number,
                                                      std::uint32_t kind) const {
  const auto key = [](const Known& known) { return std::tuple(known.stream, known.number, known.kind); };
  const auto found = std::ranges::lower_bound(known_, std::tuple(stream, number, kind), {}, key);
  return found != known_.end() && key(*found) == std::tuple(stream, number, kind) ? &*found : nullptr;
}

std::optional<Arrival> TransferArrivals::of(const Epoch& stamp) const {
  const auto kind = static_cast<std::uint32_t>(stamp.kind);
  const std::uint32_t other = kind == kSent ? kReceived : kind == kReceived ? kSent : kind;
  const Known* const known = find(stamp.window, stamp.size_class, other);
  if (known == nullptr) return std::nullopt;
  Arrival arrival{.surely = 0, .at_most = std::max(known->last_start, known->last_enter)};
  const std::uint32_t bits = bits_of(stamp);
  const bool root = (bits & kRoot) != 0;
  if (kind == kSent || kind == kReceived || flow_of(bits) == all_to_all || flow_of(bits) == barrier ||
      (flow_of(bits) == all_to_one && root)) {
    arrival.surely = known->last_start;
  } else if (flow_of(bits) == one_to_all && !root) {
    arrival.surely = known->root_start;
  }
  return arrival;
}

}  // namespace culprit::merge
