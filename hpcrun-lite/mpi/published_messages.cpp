#include "mpi/published_messages.hpp"

namespace culprit::mpi::publishing {
namespace {

/// Calls look(call) for all threads that make MPI calls.
void each_thread(auto look) {
  calls::Calls* const all = culprit_rt_published_calls.load(std::memory_order_relaxed);
  if (all == nullptr) return;
  for (Call& call : all->call) {
    if (calls::load(call.tid) != 0) look(call);
  }
}

}  // namespace

// Handles are used again: the last operation of each thread with this one is doubted.
void doubt_request(std::uint64_t request) {
  each_thread([&](Call& call) {
    const std::uint64_t noted = calls::load(call.messages_noted);
    const std::uint64_t kept = std::min<std::uint64_t>(noted, calls::kMessages);
    for (std::uint64_t i = 1; i <= kept; ++i) {
      calls::Message& message = call.message[(noted - i) % calls::kMessages];
      if (calls::load(message.request) == request) return store(message.comm, std::uint64_t{0});
    }
  });
}

// Another thread may be about to note an operation in the same place.
void forget_communicator(std::uint64_t handle) {
  each_thread([&](Call& call) {
    for (calls::Message& message : call.message) {
      std::uint64_t expected = handle;
      std::atomic_ref(message.comm)
          .compare_exchange_strong(expected, calls::kFreed, std::memory_order_relaxed);
    }
  });
}

}  // namespace culprit::mpi::publishing
