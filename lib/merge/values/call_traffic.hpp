#pragma once

#include "cct/tree.hpp"
#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "measurement/measurement.hpp"
#include "merge/values/shape.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

// MPI calls by the scope at which they are shown.
namespace culprit::merge {

/// The metrics of what runs without time lines count of MPI calls (trace_values.hpp), in their order.
const std::vector<std::string>& call_metrics();

/// What MPI calls took and moved, added up.
class CallTraffic {
 public:
  /// `call` is of further threads.
  void add(const database::CallTraffic& call);
  /// Collective: those of all ranks on rank 0, most time first; the others get nothing.
  [[nodiscard]] std::vector<database::CallTraffic> gather(exchange::Communicator& comm) const;

 private:
  std::map<database::ContextId, database::CallTraffic> calls_;
};

/// What the wrappers of one thread counted at one of its nodes.
struct CountedCalls {
  cct::NodeId node = 0;
  std::uint64_t calls = 0, sent = 0, received = 0;
};
std::vector<CountedCalls> counted_calls(const measurement::ThreadProfile& thread);
bool has_counted_calls(const measurement::ThreadProfile& thread);

/// One thread, with its own time at each of its contexts, in ns.
struct TimedThread {
  const measurement::ThreadProfile& thread;
  std::span<const cct::NodeId> united;  ///< the node of the united tree of each of its nodes
  std::uint32_t location = 0;
  std::span<const database::ContextId> contexts;
  std::span<const std::uint64_t> time;
};
/// Adds one thread's counted calls with what it spent in them. Of calls that wait the longest is known, where
/// each was followed (docs/algorithms.md 5.7).
void add_counted_calls(CallTraffic& traffic, const Shape& shape, const TimedThread& of);

}  // namespace culprit::merge
