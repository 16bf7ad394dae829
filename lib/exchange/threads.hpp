#pragma once

#include "exchange/communicator.hpp"

#include <functional>

namespace culprit::exchange {

/// Runs `work` on `ranks` threads, each with its own rank of a communicator whose messages stay in memory.
/// Returns when all have ended. If one throws, the others' pending and later operations throw ExchangeError
/// and the first exception is rethrown here.
void run_on_threads(int ranks, const std::function<void(Communicator&)>& work);

}  // namespace culprit::exchange
