#include "measurement/published_calls.hpp"

#include "published_rank.hpp"
#include "stuck/findings.hpp"
#include "stuck/look.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>

// Whatever two processes publish of their calls, there is an answer who waits for whom. The input changes
// bytes of what two ranks publish that wait for each other: a rank, where, how many, and these.
namespace {

namespace calls = culprit::measurement::calls;
namespace stuck = culprit::stuck;

using recording::kPublishingRanks;
using Rank = recording::PublishingRank;

void change(std::array<Rank*, kPublishingRanks> ranks, const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHead = 5;
  while (size > kHead) {
    Rank& rank = *ranks[data[0] % kPublishingRanks];
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
  recording::publish(*first.block, 0);
  recording::publish(*second.block, 1);
  change({&first, &second}, data, size);
  stuck::Picture now = stuck::Job(directory.path()).look(true);
  stuck::find(now, nullptr, {});
  now.over = false;
  for (stuck::Process& process : now.processes) process.life = stuck::Life::running;
  stuck::Picture before = now;
  for (stuck::Process& process : before.processes) process.now_ns -= recording::kWaitBegan;
  stuck::find(now, &before, {});
  return 0;
}
