#include "merge/transfer_work.hpp"

#include "measurement/transfer_cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace culprit::merge {

using database::ContextId;
using measurement::EpochKind;
using measurement::WaitKind;

namespace {

/// The large transfers of one frontier frame, and what was sampled in it.
struct Frame {
  double cost_ns = 0;      ///< of all transfers, without waiting
  double duration_ns = 0;  ///< of their calls
  double time_ns = 0;      ///< sampled; the frame's other calls included
  double idle_ns = 0;

  /// The part of the sampled idleness that is waiting. The durations hold no sampling noise; where more was
  /// sampled, the rest is other calls.
  [[nodiscard]] double waiting() const {
    const double all = std::max(time_ns, duration_ns);
    if (idle_ns <= 0 || all <= 0) return 1;
    const double waited = time_ns * std::max(0.0, 1 - cost_ns / all);
    return std::min(1.0, waited / idle_ns);
  }
};

}  // namespace

ContextId frontier_of(const Shape& shape, ContextId context) {
  if (shape.contexts[context].wait == WaitKind::none) return database::kNone;
  while (true) {
    const ContextId parent = shape.contexts[context].parent;
    if (parent == database::kNone || shape.contexts[parent].wait == WaitKind::none) return context;
    context = parent;
  }
}

ContextId context_of(const Shape& shape, const measurement::ThreadProfile& thread,
                     std::span<const cct::NodeId> united, std::size_t node) {
  while (united[node] >= shape.own.size()) node = thread.nodes[node].parent;
  return shape.own[united[node]];
}

bool has_transfers(const measurement::ThreadProfile& thread) {
  return std::ranges::any_of(
      thread.epochs, [](const measurement::Epoch& epoch) { return measurement::is_transfer(epoch.kind); });
}

void count_transfers_as_work(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                             const Shape& shape, const TransferCosts& costs,
                             std::span<const RecordedRow> rows) {
  std::map<ContextId, Frame> frames;
  for (const measurement::Epoch& epoch : thread.epochs) {
    if (!measurement::is_transfer(epoch.kind) || epoch.kind == EpochKind::transfer_cost) continue;
    const ContextId frontier = frontier_of(shape, context_of(shape, thread, united, epoch.node));
    if (frontier == database::kNone) continue;
    const auto amount = static_cast<double>(epoch.total_ns);
    const bool to_itself = epoch.window == measurement::kOwnMessages;
    if (epoch.kind == EpochKind::transfer) {
      frames[frontier].duration_ns += amount;
      if (to_itself) frames[frontier].cost_ns += amount;  // waits for nobody
    } else if (!to_itself) {
      frames[frontier].cost_ns += 1e-3 * amount * costs.cost(epoch.window, epoch.size_class);
    }
  }
  const auto visit = [&](auto change) {
    for (const RecordedRow& row : rows) {
      const auto found = frames.find(frontier_of(shape, row.context));
      if (found != frames.end()) change(found->second, row.values);
    }
  };
  visit([](Frame& frame, const std::uint64_t* row) {
    frame.time_ns += static_cast<double>(row[Columns::kRealtime]);
    frame.idle_ns += static_cast<double>(row[Columns::kIdleness]);
  });
  visit([](const Frame& frame, std::uint64_t* row) {
    const std::uint64_t idle = row[Columns::kIdleness];
    const auto waited =
        std::min(idle, static_cast<std::uint64_t>(std::llround(frame.waiting() * static_cast<double>(idle))));
    row[Columns::kIdleness] = waited;
    row[Columns::kCommunication] += idle - waited;
  });
}

}  // namespace culprit::merge
