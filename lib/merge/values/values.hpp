#pragma once

#include "cct/canonical.hpp"
#include "database/writer.hpp"
#include "exchange/communicator.hpp"
#include "merge/values/accumulate.hpp"
#include "merge/values/partition.hpp"

#include <functional>

namespace culprit::merge {

/// Collective: second pass over the input. Rereads this rank's files, accumulates their values, one thread at
/// a time, and writes each round's tiles (`writer` null: nothing).
void accumulate_values(exchange::Communicator& comm, const Partition& partition,
                       const cct::SharedTree& shared, ThreadAccumulation& accumulation,
                       database::Writer* writer, const std::function<void()>& step);

}  // namespace culprit::merge
