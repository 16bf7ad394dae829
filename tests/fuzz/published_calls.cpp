#include "measurement/published_calls.hpp"

#include "recording.hpp"
#include "stuck/findings.hpp"
#include "stuck/look.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

// Whatever two processes publish of their calls, there is an answer who waits for whom. The input changes
// bytes of what two ranks publish that wait for each other: a rank, where, how many, and these.
namespace {

namespace calls = culprit::measurement::calls;
namespace stuck = culprit::stuck;

constexpr std::int32_t kRanks = 2;
constexpr std::uint64_t kHandle = 0x4400, kBegin = 1'000'000'000, kRequest = 0x9900;

void publish(calls::Calls& block, std::int32_t rank) {
  std::memset(static_cast<void*>(&block), 0, sizeof block);
  block.context[0].handle = kHandle;
  block.context[0].id = stuck::kWorldContext;
  block.context[0].rank = rank;
  block.context[0].size = kRanks;
  calls::Call& call = block.call[0];
  call.tid = 4711 + static_cast<std::uint64_t>(rank);
  call.entered = 5;
  call.left = 4;
  call.kind = calls::CallKind::receive;
  std::memcpy(call.name, "MPI_Recv", 9);
  call.context = kHandle;
  call.peer = 1 - rank;
  call.seen = 2 * call.entered;
  call.since = recording::kStart + kBegin;
  call.messages_noted = 1;
  call.message[0].request = kRequest;
  call.message[0].comm = kHandle;
  call.message[0].peer = 1 - rank;
}

/// A rank whose process was killed.
struct Rank {
  Rank(const std::filesystem::path& path, std::int32_t number) : file(path, description(number)) {
    file->set_rank(number, kRanks, "0123", "MPI");
    file->add_thread(4711 + static_cast<std::uint64_t>(number), true, {}, recording::kStart);
    block = file->add_calls();
  }
  static culprit::measurement::ProcessDescription description(std::int32_t number) {
    auto made = recording::process(2);
    made.pid += static_cast<std::uint64_t>(number);
    made.key += static_cast<std::uint64_t>(number);
    return made;
  }
  recording::File file;
  calls::Calls* block = nullptr;
};

void change(std::array<Rank*, kRanks> ranks, const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHead = 5;
  while (size > kHead) {
    Rank& rank = *ranks[data[0] % kRanks];
    const std::size_t at =
        (data[1] | std::size_t{data[2]} << 8U | std::size_t{data[3]} << 16U) % sizeof(calls::Calls);
    const std::size_t count = std::min({std::size_t{data[4]} + 1, size - kHead, sizeof(calls::Calls) - at});
    std::memcpy(reinterpret_cast<char*>(rank.block) + at, data + kHead, count);
    data += kHead + count;
    size -= kHead + count;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const recording::Directory directory(recording::scratch());
  static Rank first(directory / "rank-0.culprit", 0), second(directory / "rank-1.culprit", 1);
  publish(*first.block, 0);
  publish(*second.block, 1);
  change({&first, &second}, data, size);
  stuck::Picture now = stuck::Job(directory.path()).look(true);
  stuck::find(now, nullptr, {});
  now.over = false;
  for (stuck::Process& process : now.processes) process.life = stuck::Life::running;
  stuck::Picture before = now;
  for (stuck::Process& process : before.processes) process.now_ns -= kBegin;
  stuck::find(now, &before, {});
  return 0;
}
