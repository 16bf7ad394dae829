#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <mpi.h>

// What became of requests and their messages, as statuses and error codes say it. How many bytes a message
// has that arrived: MPI_Get_count of MPI_BYTE, which takes some 10 ns, or the field of the status that it
// reads, where the library that runs is seen to keep it there.
namespace culprit::mpi {

/// Whether a receive failed because its message is longer than its buffer. It has taken the message all the
/// same; how much of it arrived, statuses do not say: MPICH leaves the number that was there.
bool is_truncation_failure(int error);
inline bool is_truncation(int error) {
  return error != MPI_SUCCESS && is_truncation_failure(error);
}
/// Of a request that is complete.
bool was_cancelled(const MPI_Status& status);
/// Whether the request is complete, which it stays, and then its status.
bool is_complete(MPI_Request request, MPI_Status& status);

/// Once MPI can be called: sets an amount, and looks whether the field has it.
void find_status_fields();

/// Set by find_status_fields().
inline std::atomic<bool> status_has_bytes{false};

namespace status_field {

template <typename Status>
concept OfOpenMpi = requires(const Status& status) {
  status._ucount;
};
template <typename Status>
concept OfMpich = requires(const Status& status) {
  status.count_lo;
  status.count_hi_and_cancelled;
};

template <typename Status>
std::uint64_t bytes(const Status& status) {
  if constexpr (OfOpenMpi<Status>) {
    return status._ucount;
  } else if constexpr (OfMpich<Status>) {
    const auto high = static_cast<std::uint64_t>(static_cast<std::uint32_t>(status.count_hi_and_cancelled));
    return (high >> 1) << 32 | static_cast<std::uint32_t>(status.count_lo);
  } else {
    return 0;
  }
}

template <typename Status>
void set_bytes(Status& status, std::uint64_t bytes) {
  if constexpr (OfOpenMpi<Status>) {
    status._ucount = bytes;
  } else if constexpr (OfMpich<Status>) {
    status.count_lo = static_cast<int>(bytes);
    status.count_hi_and_cancelled = static_cast<int>(bytes >> 32 << 1);
  }
}

}  // namespace status_field

/// More than any message has.
inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0} >> 1;

/// By MPI_Get_count; `posted` where that has no number.
std::uint64_t counted_bytes(const MPI_Status& status, std::uint64_t posted);

/// What arrived; `posted` where that is more than can be determined.
inline std::uint64_t arrived(const MPI_Status& status, std::uint64_t posted) {
  return status_has_bytes.load(std::memory_order_relaxed) ? status_field::bytes(status)
                                                          : counted_bytes(status, posted);
}

/// Whether the status of MPI_Isendrecv is that of its message: MPICH 4.0 gives the one that the request's
/// handle had before.
#ifdef OPEN_MPI
inline constexpr bool kExchangeHasStatus = true;
#else
inline constexpr bool kExchangeHasStatus = false;
#endif

// Tools between the program and MPI may leave statuses as they are that the program does not want.

/// Before a call that may not fill it in: arrived_within() has what was posted then.
inline void expect_nothing(MPI_Status& status) {
  status_field::set_bytes(status, kNoLimit);
}
/// What arrived where there was room for `posted` bytes, or kNoLimit.
inline std::uint64_t arrived_within(const MPI_Status& status, std::uint64_t posted) {
  const std::uint64_t bytes = std::min(arrived(status, posted), posted);
  return bytes < kNoLimit ? bytes : 0;
}

}  // namespace culprit::mpi
