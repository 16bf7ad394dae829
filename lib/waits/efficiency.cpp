#include "waits/efficiency.hpp"

#include <algorithm>
#include <limits>

namespace culprit::waits {

namespace {

/// What a time line did outside MPI between its MPI_Init and its MPI_Finalize, or its last call.
std::uint64_t useful(const TimeLine& line) {
  std::uint64_t sum = 0, left_ns = TimeLine::kNever;
  bool finalized = false;
  line.events.for_each([&](const Event& event) {
    if (!finalized && event.enter_ns > left_ns) sum += event.enter_ns - left_ns;
    left_ns = event.exit_ns;
    finalized = finalized || event.finalize;
  });
  return sum;
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

Efficiency efficiency(exchange::Communicator& analysis, const Roster& roster, const Forward& forward,
                      const CriticalPath& path) {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0, sum = 0, most = 0, processes = 0;
  for (const TimeLine& line : forward.ledger.lines()) {
    if (roster.location_of(roster.rank_of(line.location), 0) != line.location || line.events.empty())
      continue;
    const std::uint64_t own = useful(line);
    first = std::min(first, line.events.front().exit_ns);
    last = std::max(last, line.events.back().exit_ns);
    sum += own;
    most = std::max(most, own);
    ++processes;
  }
  first = ~analysis.all_max(~first);
  last = analysis.all_max(last);
  sum = analysis.all_sum(sum);
  most = analysis.all_max(most);
  processes = analysis.all_sum(processes);

  Efficiency found;
  if (processes == 0 || last <= first) return found;
  found.run_ns = last - first;
  const auto run = static_cast<double>(found.run_ns);
  const double mean = static_cast<double>(sum) / static_cast<double>(processes);
  found.load_balance = ratio(mean, static_cast<double>(most));
  found.communication = ratio(static_cast<double>(most), run);
  found.parallel = ratio(mean, run);
  // Without transfers the run would take as long as the critical path computes; and as long as the rank does
  // that computes longest, which the path may have left where others were waited for in calls that moved
  // data.
  found.transfer = ratio(static_cast<double>(std::max(path.length_ns() - path.calls_ns, most)), run);
  found.serialization = ratio(found.communication, found.transfer);
  return found;
}

}  // namespace culprit::waits
