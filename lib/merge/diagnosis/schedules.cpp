#include "merge/diagnosis/schedules.hpp"

#include "blame/machine.hpp"
#include "cct/message.hpp"
#include "merge/input/together.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace culprit::merge {
namespace {

using database::ScheduledThread;

/// With what the locations say of them; both ascend by location.
std::vector<blame::ThreadOnHost> place(const std::vector<ScheduledThread>& threads,
                                       const database::EachLocation& locations) {
  std::vector<blame::ThreadOnHost> placed;
  placed.reserve(threads.size());
  std::map<std::string, std::uint32_t> hosts;
  std::uint32_t next = 0;
  locations([&](const database::Location& location) {
    const std::uint32_t number = next++;
    if (placed.size() == threads.size() || threads[placed.size()].location != number) return;
    const auto size = static_cast<std::uint32_t>(hosts.size());
    const std::uint32_t host = hosts.try_emplace(location.host, size).first->second;
    placed.push_back({.facts = threads[placed.size()],
                      .role = location.role,
                      .host = host,
                      .process = std::uint64_t{host} << 32 | (location.pid & 0xffffffff),
                      .is_rank = location.rank >= 0 && location.thread == 0});
  });
  return placed;
}

}  // namespace

void find_machine(exchange::Communicator& comm, const std::vector<ScheduledThread>& own,
                  const database::EachLocation& locations, database::Experiment& experiment) {
  cct::MessageWriter message;
  message.values(own);
  const std::vector<exchange::Bytes> all = comm.gather(message.take(), 0);
  together(comm, [&] {
    if (comm.rank() != 0) return;
    std::vector<ScheduledThread>& threads = experiment.machine.threads;
    for (const exchange::Bytes& bytes : all) {
      const auto some = cct::MessageReader(bytes).values<ScheduledThread>();
      threads.insert(threads.end(), some.begin(), some.end());
    }
    std::ranges::sort(threads, {}, &ScheduledThread::location);
    experiment.machine.suspects = blame::find_machine_suspects(place(threads, locations));
  });
}

}  // namespace culprit::merge
