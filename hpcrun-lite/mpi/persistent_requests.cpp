#include "mpi/persistent_requests.hpp"

#include "mpi/handle_table.hpp"
#include "mpi/published_messages.hpp"
#include "mpi/transfers.hpp"
#include "runtime/api.hpp"

#include <atomic>
#include <cstdint>

namespace culprit::mpi {
namespace {

namespace calls = measurement::calls;

// 12 000 at one time, in 640 KB of which pages are used where handles fall.
HandleTable<calls::Message, 16, 1024, CallLock> persistent;
/// There was no room for some: nothing is known of what is not found.
std::atomic<bool> overflowed{false};

void keep(const calls::Message& message) {
  if (!persistent.add(message.request, message)) overflowed.store(true, std::memory_order_relaxed);
}

/// What a start begins; of kind `other` where that is no message that could be named. False: it is not known.
bool find_started(MPI_Request before, MPI_Request now, calls::Message& message) {
  const std::uint64_t key = key_of(now);
  if (before != now && persistent.take(key_of(before), message)) {
    message.request = key;
    keep(message);
  }
  if (persistent.find(key, message)) return true;
  message = publishing::unnamed(calls::CallKind::other, key);
  return false;
}

}  // namespace

void keep_persistent(const PersistentSend& facts) {
  keep(
      publishing::published(calls::CallKind::send, facts.sent, key_of(*facts.request), bytes_of(facts.sent)));
}
void keep_persistent(const PersistentReceive& facts) {
  keep(publishing::published(calls::CallKind::receive, facts.received, key_of(*facts.request),
                             bytes_of(facts.received)));
}
void keep_persistent(MPI_Request request) {
  keep(publishing::unnamed(calls::CallKind::other, key_of(request)));
}

void forget_persistent(MPI_Request request) {
  calls::Message message;
  persistent.take(key_of(request), message);
}

void note_started(calls::Call* call, const RequestStart& facts, StartedHandles& given) {
  for (int n = 0; n < facts.count; ++n) {
    calls::Message message;
    const bool known = find_started(given.before(facts, n), facts.requests[n], message);
    if (!known && !overflowed.load(std::memory_order_relaxed)) culprit_rt_note_partitioned_messages();
    if (call != nullptr) publishing::note(*call, message);
  }
}

}  // namespace culprit::mpi
