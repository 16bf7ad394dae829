#pragma once

#include "exchange/communicator.hpp"

#include <functional>
#include <string>
#include <vector>

namespace culprit::merge {

/// Collective: runs `work`, which must not communicate, on every rank. If it threw on any, throws
/// std::runtime_error with the message of the lowest such rank on every rank, so that no rank waits for one
/// that gave up.
void together(exchange::Communicator& comm, const std::function<void()>& work);

/// Collective: every rank gets what rank 0 makes for it, one message after the other, so that rank 0 holds no
/// more than one. Throws as together() does where `make` throws.
exchange::Bytes hand_out(exchange::Communicator& comm, const std::function<exchange::Bytes(int rank)>& make);

/// Collective: all ranks' lines on rank 0, in rank order; the others get nothing.
std::vector<std::string> gather_lines(exchange::Communicator& comm, const std::vector<std::string>& lines);

}  // namespace culprit::merge
