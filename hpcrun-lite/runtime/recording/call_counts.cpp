// Counts of MPI calls on their way from a thread's table to its tree. Where a call returns to and how deep
// its stack is stand for its call path: calls of one place with stacks of the same depth mostly have one path
// (Mytkowicz et al. 2009), the path of the first of them; calls whose path is known count at that. Cost: a
// look-up per call; ./dev bench calls measures it.
#include "runtime/recording/call_counts.hpp"

#include "runtime/state/process.hpp"

namespace culprit::runtime {
namespace {

constexpr std::uint64_t kMostSmall = UINT32_MAX;

void begin_anew(CulpritCallCount& slot) {
  slot.calls = slot.messages = 0;
  slot.sent = slot.received = slot.bytes = slot.largest = 0;
  slot.smallest = ~std::uint64_t{0};
}

}  // namespace

void hand_over_calls(Thread* thread, CulpritCallCount& slot, measurement::NodeIndex node) {
  if (slot.vain != 0) thread->tree->accumulators().count_polls_in_vain(node, slot.vain);
  slot.vain = 0;
  if (slot.calls == 0) return;
  const std::uint64_t smallest = slot.smallest < kMostSmall ? slot.smallest : kMostSmall;
  thread->tree->accumulators().count_calls(node, {.calls = slot.calls,
                                                  .messages = slot.messages,
                                                  .bytes = slot.bytes,
                                                  .sent = slot.sent,
                                                  .received = slot.received,
                                                  .smallest = static_cast<std::uint32_t>(smallest),
                                                  .largest = slot.largest});
  begin_anew(slot);
}

void hand_over_bytes(Thread* thread, CulpritCallCount& slot, measurement::NodeIndex node) {
  if (slot.calls != 0) thread->tree->accumulators().count_bytes(node, slot.calls, slot.received, slot.sent);
  begin_anew(slot);
}

void hand_over_partner(Thread* thread, CulpritPartnerCount& partner) {
  if (partner.messages != 0 && partner.rank >= 0) {
    thread->tree->accumulators().count_partner(partner.communicator, partner.members,
                                               static_cast<std::uint32_t>(partner.rank), partner.messages,
                                               partner.bytes);
  }
  partner.messages = partner.bytes = 0;
}

void hand_over_all_calls(Thread* thread) {
  if (thread->tree == nullptr || !thread->tree->life().usable()) return;
  CulpritCallTable& table = thread->calls.counted;
  if (table.has_io) {
    for (CulpritCallCount& slot : table.io) {
      if (slot.tree == thread->tree_number) hand_over_bytes(thread, slot, slot.node);
    }
  }
  if (!thread->calls_are_counted) return;
  for (CulpritCallCount& slot : table.slots) {
    if (slot.tree == thread->tree_number) hand_over_calls(thread, slot, slot.node);
  }
  for (CulpritPartnerCount& partner : table.partners) {
    if (partner.generation != 0) hand_over_partner(thread, partner);
  }
}

void hand_over_calls_of_all_threads() {
  if (!file.open()) return;  // a rank that is not wanted has no trees any more
  for (Thread* thread = first_thread(); thread != nullptr; thread = thread->pool.next) {
    if (thread->pool.used.load(std::memory_order_acquire)) hand_over_all_calls(thread);
  }
}

void forget_calls(Thread* thread) {
  CulpritCallTable& table = thread->calls.counted;
  if (table.has_io) {
    for (CulpritCallCount& slot : table.io) slot = {};
    table.has_io = table.changes_io = false;
  }
  if (!thread->calls_are_counted) return;
  for (CulpritCallCount& slot : table.slots) {
    if (slot.key != 0) slot = {};
  }
  for (CulpritPartnerCount& partner : table.partners) partner = {};
  thread->calls_are_counted = false;
}

}  // namespace culprit::runtime
