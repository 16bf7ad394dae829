#pragma once

#include "stuck/picture.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// How findings are said. ASCII, but for what names of the program hold.
namespace culprit::stuck {

/// `41 s`, `2.5 s`, `12 min`, `3 h 5 min`.
std::string span_of_time(double seconds);
/// `rank 3`, `node7:4711` where it is no rank.
std::string name_of(const Process& process);
/// `rank 3`, `ranks 0-2, 5`; of many, the first.
std::string ranks_in_words(std::span<const std::int32_t> ranks);
/// `0-2, 5`.
std::string rank_ranges(std::span<const std::int32_t> ranks, std::size_t most = 12);
/// The function and line of the innermost frame that is the program's: `solve at ring.c:31`; empty where
/// nothing is known.
std::string place_of(const std::vector<Frame>& path);
/// `MPI_COMM_WORLD`, `a communicator of ranks 0, 2`, `a window`.
std::string context_in_words(const Picture& picture, std::uint64_t id);
/// `a message with tag 5 from rank 0`.
std::string message_in_words(const Message& message);
/// What a thread is in: `in MPI_Recv (exchange at halo.c:12)`, `in solve at ring.c:31`.
std::string whereabouts(const Thread& thread);
/// The same of a whole process: `in MPI_Finalize`, `ended`.
std::string whereabouts(const Process* process);

}  // namespace culprit::stuck
