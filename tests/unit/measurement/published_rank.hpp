#pragma once

#include "measurement/published_calls.hpp"
#include "recording.hpp"

#include <cstdint>
#include <cstring>
#include <filesystem>

// Two ranks that wait for each other, by what their processes publish.
namespace recording {

namespace calls = measurement::calls;

inline constexpr std::int32_t kPublishingRanks = 2;
inline constexpr std::uint64_t kWaitBegan = 1'000'000'000;  ///< after kStart

/// Of a rank that is in MPI_Recv and waits for the other one.
inline void publish(calls::Calls& block, std::int32_t rank) {
  constexpr std::uint64_t kHandle = 0x4400, kRequest = 0x9900, kWorld = 1;
  std::memset(static_cast<void*>(&block), 0, sizeof block);
  block.context[0].handle = kHandle;
  block.context[0].id = kWorld;
  block.context[0].rank = rank;
  block.context[0].size = kPublishingRanks;
  calls::Call& call = block.call[0];
  call.tid = 4711 + static_cast<std::uint64_t>(rank);
  call.entered = 5;
  call.left = 4;
  call.kind = calls::CallKind::receive;
  std::memcpy(call.name, "MPI_Recv", 9);
  call.context = kHandle;
  call.peer = 1 - rank;
  call.seen = 2 * call.entered;
  call.since = kStart + kWaitBegan;
  call.messages_noted = 1;
  call.message[0].request = kRequest;
  call.message[0].comm = kHandle;
  call.message[0].peer = 1 - rank;
}

/// A rank whose process was killed.
struct PublishingRank {
  PublishingRank(const std::filesystem::path& path, std::int32_t number) : file(path, description(number)) {
    file->set_rank(number, kPublishingRanks, "0123", "MPI");
    file->add_thread(4711 + static_cast<std::uint64_t>(number), true, {}, kStart);
    block = file->add_calls();
  }
  static measurement::ProcessDescription description(std::int32_t number) {
    auto made = process(2);
    made.pid += static_cast<std::uint64_t>(number);
    made.key += static_cast<std::uint64_t>(number);
    return made;
  }
  File file;
  calls::Calls* block = nullptr;
};

}  // namespace recording
