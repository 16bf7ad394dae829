// All dependencies between the calls of a run, for a replay (docs/algorithms.md 18). A collective instance is
// one thing that its members join and depend on, so that what is kept grows with members, not with pairs.
// Cost: a hash look-up per nonblocking operation and per part in a collective.
#include "waits/timeline/dependencies.hpp"

#include <algorithm>
#include <bit>

namespace culprit::waits {

using measurement::trace::OperationKind;

std::uint16_t size_code(std::uint64_t bytes) {
  constexpr std::uint64_t kExact = 2048;
  constexpr int kExactBits = 11;     // of the numbers below it
  constexpr int kMantissaBits = 10;  // of those above, behind the first
  if (bytes < kExact) return static_cast<std::uint16_t>(bytes);
  const int bits = static_cast<int>(std::bit_width(bytes));
  const std::uint64_t mantissa = (bytes >> (bits - 1 - kMantissaBits)) & ((1U << kMantissaBits) - 1);
  const auto octave = static_cast<std::uint64_t>(bits - 1 - kExactBits);
  return static_cast<std::uint16_t>(kExact + (octave << kMantissaBits) + mantissa);
}

void Dependencies::completed(std::int32_t rank, std::uint64_t id, EventId call) {
  const auto [entry, first] = operations_.try_emplace({static_cast<std::uint64_t>(rank), id});
  Half& half = entry.value();
  if (first) {
    half.call = call;
    return;
  }
  if (!half.call.known()) {
    half.dependency.event = call.index;
    add(call.location, half.dependency);
  }
  operations_.erase(entry);
}

void Dependencies::of_operation(std::int32_t rank, std::uint64_t id, const Dependency& dependency) {
  const auto [entry, first] = operations_.try_emplace({static_cast<std::uint64_t>(rank), id});
  Half& half = entry.value();
  if (first) {
    half.dependency = dependency;
    return;
  }
  if (half.call.known()) {
    Dependency complete = dependency;
    complete.event = half.call.index;
    add(half.call.location, complete);
  }
  operations_.erase(entry);
}

void Dependencies::join(const Part& part) {
  const auto [entry, added] =
      open_.try_emplace({part.context, part.number}, Open{static_cast<std::uint32_t>(instances_.size())});
  const std::uint32_t number = entry->second.instance;
  if (added) {
    CollectiveRecord& made = instances_.emplace_back();
    made.kind = part.kind;
    made.expected = part.size;
  }
  enter(number, part);
  if (instances_[number].joined == instances_[number].expected) open_.erase(entry);
  lines_[part.call.location].joined.push_back({.event = part.call.index,
                                               .instance = number,
                                               .rank = part.rank,
                                               .root = part.root,
                                               .bystander = part.bystander});
  const bool needs_nobody = part.bystander || (part.kind == OperationKind::one_to_all && part.root) ||
                            (part.kind == OperationKind::all_to_one && !part.root);
  if (needs_nobody) return;
  const Dependency dependency{.event = part.call.index,
                              .pattern = part.pattern,
                              .on = Dependency::On::instance,
                              .size = part.operation != 0 ? Dependency::kNonblocking : std::uint16_t{0},
                              .cause = {kNoLocation, number}};
  if (part.operation != 0) {
    of_operation(part.process_rank, part.operation, dependency);
  } else {
    add(part.call.location, dependency);
  }
}

void Dependencies::enter(std::uint32_t instance, const Part& part) {
  CollectiveRecord& record = instances_[instance];
  ++record.joined;
  if (record.kind != part.kind) record.contradictory = true;
  if (part.bystander) return;
  record.latest_ns = std::max(record.latest_ns, part.enter_ns);
  if (part.operation == 0) record.first_out_ns = std::min(record.first_out_ns, part.exit_ns);
  if (part.root) {
    if (record.root_ns != CollectiveRecord::kNever) record.contradictory = true;
    record.root_ns = part.enter_ns;
  }
  if (part.kind != OperationKind::prefix) return;
  std::vector<std::uint64_t>& enters = prefixes_[instance];
  const auto rank = static_cast<std::size_t>(part.rank);
  if (rank >= record.expected || rank >= lines_.size()) {  // only damage can say so
    record.contradictory = true;
    return;
  }
  if (rank >= enters.size()) enters.resize(rank + 1, CollectiveRecord::kNever);
  enters[rank] = part.enter_ns;
}

}  // namespace culprit::waits
