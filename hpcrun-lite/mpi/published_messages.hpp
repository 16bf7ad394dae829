#pragma once

#include "measurement/published_calls_layout.hpp"
#include "mpi/call_facts.hpp"
#include "mpi/handle_table.hpp"
#include "runtime/api.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

// The last operations of a thread, as published: what it sent, or began to send or to receive, in this order.
namespace culprit::mpi::publishing {

namespace calls = measurement::calls;
using calls::Call;
using calls::CallKind;
using calls::store;

inline std::int32_t source_of(int rank) {
  return rank == MPI_ANY_SOURCE ? calls::kAnySource : rank == MPI_PROC_NULL ? calls::kNobody : rank;
}
inline std::int32_t tag_of(int tag) {
  return tag == MPI_ANY_TAG ? calls::kAnyTag : tag;
}

inline calls::Message published(CallKind kind, const Message& message, std::uint64_t request,
                                std::uint64_t bytes) {
  return {.request = request,
          .comm = key_of(message.comm),
          .peer = source_of(message.peer),
          .tag = tag_of(message.tag),
          .kind = static_cast<std::uint32_t>(kind),
          .bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, UINT32_MAX))};
}
/// What is no message that could be named: its request's handle may have been a message's before.
inline calls::Message unnamed(CallKind kind, std::uint64_t request) {
  return {.request = request,
          .comm = 0,
          .peer = calls::kNobody,
          .tag = 0,
          .kind = static_cast<std::uint32_t>(kind),
          .bytes = 0};
}

/// Notes an operation among the thread's last ones. Its request is stored last: a reader that comes by
/// meanwhile finds none.
inline void note(Call& call, const calls::Message& operation) {
  const std::uint64_t number = calls::load(call.messages_noted);
  calls::Message& place = call.message[number % calls::kMessages];
  store(place.request, std::uint64_t{0});
  std::atomic_thread_fence(std::memory_order_release);
  store(place.comm, operation.comm);
  store(place.peer, operation.peer);
  store(place.tag, operation.tag);
  store(place.kind, operation.kind);
  store(place.bytes, operation.bytes);
  std::atomic_ref(place.request).store(operation.request, std::memory_order_release);
  std::atomic_ref(call.messages_noted).store(number + 1, std::memory_order_release);
}
inline void note(Call& call, CallKind kind, const Message& message, std::uint64_t request,
                 std::uint64_t bytes) {
  note(call, published(kind, message, request, bytes));
}
inline void note_unnamed(Call& call, CallKind kind, std::uint64_t request) {
  note(call, unnamed(kind, request));
}

// Of the last operations of all of the process's threads:

/// What the request stands for may not come about, as it is cancelled: for a reader it may be any message.
void doubt_request(std::uint64_t request);
/// The communicator of this handle is another one from here on, or none.
void forget_communicator(std::uint64_t handle);

}  // namespace culprit::mpi::publishing
