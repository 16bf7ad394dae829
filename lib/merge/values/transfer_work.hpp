#pragma once

#include "cct/tree.hpp"
#include "measurement/measurement.hpp"
#include "merge/idleness/transfer_costs.hpp"
#include "merge/values/shape.hpp"

#include <cstdint>
#include <span>

namespace culprit::merge {

/// The outermost wait or communication frame around a context; kNone where there is none.
database::ContextId frontier_of(const Shape& shape, database::ContextId context);

/// The context of a thread's node. What the united tree does not hold belongs to its nearest ancestor.
database::ContextId context_of(const Shape& shape, const measurement::ThreadProfile& thread,
                               std::span<const cct::NodeId> united, std::size_t node);

/// One context's own values of a thread.
struct RecordedRow {
  database::ContextId context = 0;
  const std::uint64_t* time = nullptr;
  std::uint64_t *idleness = nullptr, *communication = nullptr;
};

bool has_transfers(const measurement::ThreadProfile& thread);

/// Makes the part of one thread's sampled idleness communication work that its large transfers take without
/// waiting (docs/blame.md). `rows`: all contexts where the thread has values.
void count_transfers_as_work(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                             const Shape& shape, const Transfers& transfers,
                             std::span<const RecordedRow> rows);

}  // namespace culprit::merge
