#pragma once

#include "exchange/communicator.hpp"

#include <filesystem>

// What every backend of exchange must do; run on each rank of a communicator. Throws std::logic_error, naming
// what was wrong: Catch2's assertions must not be used from several threads.
namespace culprit::exchange::suite {

/// Every operation, with messages of no bytes, few and `large` bytes. `directory` (the same on every rank)
/// takes the files.
void run(Communicator& comm, std::size_t large, const std::filesystem::path& directory);

/// Rank `failing` throws std::domain_error; the others wait for it, each in another operation. On return or
/// by any exception but PeerFailed something is wrong. With one rank only the domain_error is left.
void fail(Communicator& comm, int failing);

}  // namespace culprit::exchange::suite
