#pragma once

#include "stuck/picture.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Pictures of jobs, made by hand.
namespace culprit::stuck::testing {

inline constexpr std::uint64_t kNow = 100'000'000'000;

/// `ranks` ranks of MPI_COMM_WORLD with one thread each, which has been in no call for a second.
inline Picture job(std::int32_t ranks) {
  Picture picture;
  picture.world_size = static_cast<std::uint32_t>(ranks);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    Process process;
    process.host = "here";
    process.pid = 1000 + static_cast<std::uint64_t>(rank);
    process.rank = rank;
    process.now_ns = kNow;
    process.contexts[kWorldContext] = {.rank = rank, .collectives = 0, .history = {}};
    Thread thread;
    thread.tid = process.pid;
    thread.role = "main";
    thread.since_ns = kNow - 1'000'000'000;
    thread.path = {{.name = "main", .file = "a.c", .line = 7, .module = "a", .inlined = false, .mpi = false}};
    process.threads.push_back(std::move(thread));
    picture.processes.push_back(std::move(process));
    picture.contexts[kWorldContext].members.push_back(rank);
  }
  return picture;
}

/// The same job at an earlier look: its processes have written their heartbeats since.
inline Picture a_second_before(Picture picture) {
  for (Process& process : picture.processes) process.now_ns -= 1'000'000'000;
  return picture;
}

inline Thread& thread_of(Picture& picture, std::int32_t rank) {
  return picture.processes[static_cast<std::size_t>(rank)].threads.front();
}

/// The rank is in the call, since so many seconds.
inline Call& in(Picture& picture, std::int32_t rank, CallKind kind, const std::string& name,
                double seconds = 41) {
  Thread& thread = thread_of(picture, rank);
  thread.inside = true;
  ++thread.number;
  thread.since_ns = kNow - static_cast<std::uint64_t>(seconds * 1e9);
  thread.call = {};
  thread.call.kind = kind;
  thread.call.name = name;
  thread.call.context = kWorldContext;
  return thread.call;
}

inline Message message(CallKind kind, std::int32_t peer, std::int32_t tag,
                       std::uint64_t comm = kWorldContext) {
  return {.kind = kind, .comm = comm, .peer = peer, .tag = tag, .bytes = 8};
}

inline void sends(Picture& picture, std::int32_t rank, std::int32_t peer, std::int32_t tag = 0) {
  in(picture, rank, CallKind::send, "MPI_Send").messages = {message(CallKind::send, peer, tag)};
}
inline void receives(Picture& picture, std::int32_t rank, std::int32_t peer, std::int32_t tag = 0) {
  in(picture, rank, CallKind::receive, "MPI_Recv").messages = {message(CallKind::receive, peer, tag)};
}

/// The rank has begun its next collective, and is in it unless `passed`.
inline void collective(Picture& picture, std::int32_t rank, const std::string& name,
                       std::int32_t root = kNobody, bool passed = false) {
  Membership& membership = picture.processes[static_cast<std::size_t>(rank)].contexts[kWorldContext];
  const std::uint64_t number = ++membership.collectives;
  membership.history[number % measurement::calls::kHistory] =
      std::uint64_t{measurement::calls::hash_of_name(name.c_str())} << 32 | static_cast<std::uint32_t>(root);
  if (passed) return;
  Call& call = in(picture, rank, CallKind::collective, name);
  call.sequence = number;
  call.root = root;
}

}  // namespace culprit::stuck::testing
