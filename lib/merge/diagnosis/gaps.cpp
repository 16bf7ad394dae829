// Adds up the gaps between waiting calls of all threads and finds those that vary from one iteration to the
// next (docs/algorithms.md 5.8).
#include "merge/diagnosis/gaps.hpp"

#include "cct/message.hpp"
#include "merge/input/together.hpp"

#include <map>

namespace culprit::merge {

void find_gaps(exchange::Communicator& comm, const std::vector<blame::GapSums>& own,
               const Summaries& summaries, database::Experiment& experiment) {
  cct::MessageWriter message;
  message.values(own);
  const std::vector<exchange::Bytes> all = comm.gather(message.take(), 0);
  together(comm, [&] {
    if (comm.rank() != 0) return;
    std::map<blame::GapSums::Key, blame::GapSums> sums;
    for (const exchange::Bytes& bytes : all) {
      for (const auto& some : cct::MessageReader(bytes).values<blame::GapSums>()) {
        const auto [known, fresh] = sums.try_emplace(some.key(), some);
        if (!fresh) known->second.add(some);
      }
    }
    std::vector<blame::GapSums> gaps;
    gaps.reserve(sums.size());
    for (const auto& [key, each] : sums) gaps.push_back(each);
    std::vector<std::uint64_t> idle;
    for (const RoleTotals& role : summaries.roles) {
      idle.push_back(role.idleness.empty() ? 0 : static_cast<std::uint64_t>(role.idleness[0].sum));
    }
    const auto idleness = [&](std::uint32_t role, database::ContextId context) {
      return static_cast<std::uint64_t>(summaries.roles.at(role).idleness.at(context).sum);
    };
    experiment.varying_gaps = blame::find_varying_gaps(gaps, idleness, idle);
  });
}

}  // namespace culprit::merge
