// Accumulators of one-sided communication and of large transfers: call paths walked outside the handler.
#include "measurement/transfer_cost.hpp"
#include "runtime/api.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/held_off.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"

namespace culprit::runtime {
namespace {

/// Calls `add` with the thread's tree and the node of its call path. Inlined: the walk starts
/// in the caller's frame, which vanishes from the path as all of ours.
template <typename Add>
[[gnu::always_inline]] inline void at_call_path(CulpritPath& path, Add add) {
  Thread* thread = this_thread();
  if (thread == nullptr || !own_memory() || sampling_stopped()) return;
  const char place = 0;  // on the stack of the caller
  hold_handler_off(thread, &place);
  if (begin_recording(thread)) {
    if (ensure_tree(thread)) add(*thread->tree, call_path(thread, unwind::registers_here(), path));
    end_path(thread);
  }
  let_handler_on(thread);
}

using measurement::EpochKind;
using measurement::NodeIndex;
using measurement::ThreadTree;

/// Returns the tree's level from then on.
unsigned keep_stamps(ThreadTree& tree, NodeIndex node, const CulpritStamp* stamps, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    tree.stamps().keep(node, {.kind = static_cast<EpochKind>(stamps[i].kind),
                              .instance = stamps[i].instance,
                              .members = stamps[i].members,
                              .peer = stamps[i].peer,
                              .window = stamps[i].window,
                              .order = stamps[i].order,
                              .enter_ns = stamps[i].enter_ns,
                              .exit_ns = stamps[i].exit_ns,
                              .last_ns = stamps[i].last_ns});
  }
  return tree.stamps().level();
}

void add_transfer(ThreadTree& tree, NodeIndex node, const CulpritTransfer& transfer) {
  const std::uint64_t bytes = transfer.sent + transfer.received;
  if (bytes == 0) return;
  const auto add = [&](NodeIndex where, EpochKind kind, std::uint64_t amount, std::uint64_t cost) {
    tree.accumulators().count_epoch(where, {.kind = kind,
                                            .size_class = transfer.size_class,
                                            .window = transfer.family,
                                            .peers = cost,
                                            .time_ns = amount});
  };
  add(node, EpochKind::transfer, transfer.time_ns, 0);
  if (transfer.sent != 0) add(node, EpochKind::transfer_sent, transfer.sent, 0);
  if (transfer.received != 0) add(node, EpochKind::transfer_received, transfer.received, 0);
  add(tree.root(), EpochKind::transfer_cost, transfer.time_ns,
      measurement::cost_class(transfer.time_ns, bytes));
}

}  // namespace
}  // namespace culprit::runtime

using culprit::measurement::EpochKind;
using culprit::measurement::NodeIndex;
using culprit::measurement::ThreadTree;
using culprit::runtime::add_transfer;
using culprit::runtime::at_call_path;
using culprit::runtime::keep_stamps;

__attribute__((noinline)) unsigned culprit_rt_count_epochs(const CulpritEpoch* epochs, std::size_t count,
                                                           const CulpritStamp* stamps,
                                                           std::size_t stamp_count, CulpritPath* path) {
  unsigned level = 0;
  at_call_path(*path, [&](ThreadTree& tree, NodeIndex node) {
    for (std::size_t i = 0; i < count; ++i) {
      tree.accumulators().count_epoch(node, {.kind = static_cast<EpochKind>(epochs[i].kind),
                                             .size_class = epochs[i].size_class,
                                             .window = epochs[i].window,
                                             .peers = epochs[i].peers,
                                             .time_ns = epochs[i].time_ns});
    }
    level = keep_stamps(tree, node, stamps, stamp_count);
  });
  return level;
}

__attribute__((noinline)) unsigned culprit_rt_count_transfer(const CulpritTransfer* transfer,
                                                             const CulpritStamp* stamps,
                                                             std::size_t stamp_count, CulpritPath* path) {
  unsigned level = 0;
  at_call_path(*path, [&](ThreadTree& tree, NodeIndex node) {
    if (transfer != nullptr) add_transfer(tree, node, *transfer);
    level = keep_stamps(tree, node, stamps, stamp_count);
  });
  return level;
}
