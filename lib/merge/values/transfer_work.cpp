// Makes communication work of the part of sampled idleness in which large transfers move data (ours;
// docs/algorithms.md 5.1, docs/blame.md). Per frontier frame of a thread: calls with known arrivals waited
// until the last they depend on had begun; the others work as long on average, or as long as their bytes
// cost. The frame's idleness is scaled to the share that is waiting. Cost: a map entry per stamped call.
#include "merge/values/transfer_work.hpp"

#include "measurement/transfer_cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace culprit::merge {

using database::ContextId;
using measurement::EpochKind;
using measurement::WaitKind;

namespace {

/// Calls with known arrivals, from which on their average stands for the frame's other calls.
constexpr double kEnoughCalls = 16;

/// The large transfers of one frontier frame, and what was sampled in it.
struct Frame {
  double calls = 0, duration_ns = 0;  ///< that may wait
  double cost_ns = 0;                 ///< of these, by what their bytes cost without waiting
  double own_ns = 0;                  ///< of calls that wait for nobody
  struct {
    double calls = 0, duration_ns = 0, waiting_ns = 0;
  } known;             ///< those of which it is known who came when
  double time_ns = 0;  ///< sampled; the frame's other calls included
  double idle_ns = 0;

  [[nodiscard]] double work_ns() const;
  [[nodiscard]] double waiting() const;
};

/// What the transfers did beside waiting. Which calls are known was chosen blindly: the others work as long
/// as they do, on average, and wait the rest of their time.
double Frame::work_ns() const {
  const double others = std::max(0.0, calls - known.calls);
  if (known.calls == 0) return own_ns + std::min(cost_ns, duration_ns);
  const double worked = known.duration_ns - known.waiting_ns;
  // Calls that were polled are shorter than their stamps say.
  if (others == 0) return own_ns + duration_ns * (known.duration_ns > 0 ? worked / known.duration_ns : 0);
  const double each = known.calls >= kEnoughCalls ? worked / known.calls : cost_ns / calls;
  return own_ns + worked + std::min(others * each, std::max(0.0, duration_ns - known.duration_ns));
}

/// The part of the sampled idleness that is waiting. The durations hold no sampling noise; where more was
/// sampled, the rest is other calls.
double Frame::waiting() const {
  const double all = std::max(time_ns, duration_ns + own_ns);
  if (idle_ns <= 0 || all <= 0) return 1;
  const double waited = time_ns * std::max(0.0, 1 - work_ns() / all);
  return std::min(1.0, waited / idle_ns);
}

/// One call of which it may be known who came when, from the stamps of its operations.
struct StampedCall {
  cct::NodeId node = 0;
  std::uint64_t exit = 0;
  std::uint32_t missing = 0;  ///< operations
  bool usable = true, any = false;
  std::uint32_t last_part = 1;
  std::uint64_t surely = 0, at_most = 0;  ///< it waited until

  void add(const measurement::Epoch& stamp, const TransferArrivals& arrivals);
  [[nodiscard]] double waited(std::uint64_t enter, double cost_ns) const;
};

void StampedCall::add(const measurement::Epoch& stamp, const TransferArrivals& arrivals) {
  const TransferArrivals::Call call = TransferArrivals::call_of(stamp);
  const bool first = exit == 0;
  if (first) missing = call.operations;
  node = stamp.node;
  exit = std::max<std::uint64_t>(stamp.total_ns, 1);
  any = call.any;
  last_part = std::max(last_part, call.last_part);
  const std::optional<Arrival> arrival = arrivals.of(stamp);
  usable = usable && call.whole && arrival.has_value() && missing > 0;
  if (!usable) return;
  --missing;
  const auto decide = [&](std::uint64_t& until, std::uint64_t also) {
    if (first) {
      until = also;
    } else {
      until = any ? std::min(until, also) : std::max(until, also);
    }
  };
  decide(surely, arrival->surely);
  decide(at_most, arrival->at_most);
}

/// Of the call's time in ns. Where it is open whether it waited for those who came, what their part of its
/// bytes cost is not: the others' may have been moved while it waited.
double StampedCall::waited(std::uint64_t enter, double cost_ns) const {
  if (exit <= enter) return 0;
  const auto until = [&](std::uint64_t time) {
    return static_cast<double>(std::min(std::max(time, enter), exit) - enter);
  };
  const double least = surely < exit ? until(surely) : 0;
  const double most = std::max(least, until(at_most));
  return std::clamp(static_cast<double>(exit - enter) - cost_ns / last_part, least, most);
}

using Frames = std::map<ContextId, Frame>;

void add_transfers(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                   const Shape& shape, const TransferCosts& costs, Frames& frames) {
  for (const measurement::Epoch& epoch : thread.epochs) {
    if (!measurement::is_transfer(epoch.kind) || epoch.kind == EpochKind::transfer_cost) continue;
    const ContextId frontier = frontier_of(shape, context_of(shape, thread, united, epoch.node));
    if (frontier == database::kNone) continue;
    Frame& frame = frames[frontier];
    const auto amount = static_cast<double>(epoch.total_ns);
    if (epoch.window == measurement::kOwnMessages) {
      if (epoch.kind == EpochKind::transfer) frame.own_ns += amount;
    } else if (epoch.kind == EpochKind::transfer) {
      frame.calls += static_cast<double>(epoch.count);
      frame.duration_ns += amount;
    } else {
      frame.cost_ns += 1e-3 * amount * costs.cost(epoch.window, epoch.size_class);
    }
  }
}

/// After add_transfers().
void add_known(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
               const Shape& shape, const TransferArrivals& arrivals, Frames& frames) {
  std::map<std::uint64_t, StampedCall> calls;  // by enter
  for (const measurement::Epoch& epoch : thread.epochs) {
    if (TransferArrivals::is_stamp(epoch.kind)) calls[epoch.count].add(epoch, arrivals);
  }
  for (const auto& [enter, call] : calls) {
    if (!call.usable || call.missing != 0) continue;
    const auto found = frames.find(frontier_of(shape, context_of(shape, thread, united, call.node)));
    if (found == frames.end() || found->second.calls == 0) continue;
    Frame& frame = found->second;
    frame.known.calls += 1;
    frame.known.duration_ns += static_cast<double>(call.exit - std::min(enter, call.exit));
    frame.known.waiting_ns += call.waited(enter, frame.cost_ns / frame.calls);
  }
}

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
                             const Shape& shape, const Transfers& transfers,
                             std::span<const RecordedRow> rows) {
  Frames frames;
  add_transfers(thread, united, shape, transfers.costs, frames);
  add_known(thread, united, shape, transfers.arrivals, frames);
  const auto visit = [&](auto change) {
    for (const RecordedRow& row : rows) {
      const auto found = frames.find(frontier_of(shape, row.context));
      if (found != frames.end()) change(found->second, row);
    }
  };
  visit([](Frame& frame, const RecordedRow& row) {
    frame.time_ns += static_cast<double>(*row.time);
    frame.idle_ns += static_cast<double>(*row.idleness);
  });
  visit([](const Frame& frame, const RecordedRow& row) {
    const std::uint64_t idle = *row.idleness;
    const auto waited =
        std::min(idle, static_cast<std::uint64_t>(std::llround(frame.waiting() * static_cast<double>(idle))));
    *row.idleness = waited;
    *row.communication += idle - waited;
  });
}

}  // namespace culprit::merge
