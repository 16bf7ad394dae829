// POP's efficiencies of the whole run (docs/algorithms.md 10): load balance = mean O / max O, communication =
// max O / R, with O a rank's time outside MPI and R the run's length. Transfer = what the critical path
// spends outside MPI calls (at least max O) / R; serialization = communication / transfer. Parallel = mean U
// / R, with U what of O its thread did not wait for others of its process. Six reductions of one number each.
#include "waits/path/efficiency.hpp"

#include <algorithm>
#include <limits>

namespace culprit::waits {

namespace {

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

Efficiency efficiency(exchange::Communicator& analysis, const TimeMap& map, const CriticalPath& path) {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0, sum = 0, waited = 0, most = 0;
  for (const TimeMapRow& row : map.rows) {
    first = std::min(first, row.left_first_ns);
    last = std::max(last, row.left_last_ns);
    sum += row.outside_ns;
    waited += row.thread_waits_ns;
    most = std::max(most, row.outside_ns);
  }
  first = ~analysis.all_max(~first);
  last = analysis.all_max(last);
  sum = analysis.all_sum(sum);
  waited = analysis.all_sum(waited);
  most = analysis.all_max(most);
  const std::uint64_t processes = analysis.all_sum(map.rows.size());

  Efficiency found;
  if (processes == 0 || last <= first) return found;
  found.run_ns = last - first;
  const auto run = static_cast<double>(found.run_ns);
  const double mean = static_cast<double>(sum) / static_cast<double>(processes);
  found.load_balance = ratio(mean, static_cast<double>(most));
  found.communication = ratio(static_cast<double>(most), run);
  found.parallel = ratio(static_cast<double>(sum - waited) / static_cast<double>(processes), run);
  // Without transfers the run would take as long as the critical path computes; and as long as the rank does
  // that computes longest, which the path may have left where others were waited for in calls that moved
  // data.
  found.transfer = ratio(static_cast<double>(std::max(path.length_ns() - path.calls_ns, most)), run);
  found.serialization = ratio(found.communication, found.transfer);
  return found;
}

}  // namespace culprit::waits
