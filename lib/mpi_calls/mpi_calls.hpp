#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

// The names of MPI calls, and what follows from their facts without the arguments. The facts are read as
// text, since their types need an mpi.h.
namespace culprit::mpi_calls {

struct MpiCall {
  const char* name;        ///< without the suffix of large counts
  std::string_view facts;  ///< as the table has them: BlockingCollective{Flow::prefix, ...

  [[nodiscard]] constexpr bool has(std::string_view words) const {
    return facts.find(words) != std::string_view::npos;
  }
};

#define MPI_VERSION 4  // with all that any MPI has
#define CULPRIT_CALL(name, parameters, arguments, ...) {"MPI_" #name, #__VA_ARGS__},
#define CULPRIT_COUNTED_CALL CULPRIT_CALL
inline constexpr MpiCall kCalls[] = {
#include "mpi_calls/all.def"
};
#undef CULPRIT_COUNTED_CALL
#undef CULPRIT_CALL
#undef MPI_VERSION

/// Null: none of the table.
constexpr const MpiCall* find_call(std::string_view name) {
  const auto* const found = std::ranges::find(kCalls, name, &MpiCall::name);
  return found == std::end(kCalls) ? nullptr : found;
}

/// Whether the root needs data of all others.
constexpr bool gathers(const MpiCall& call) {
  return call.has("Flow::all_to_one");
}

/// Whether a process may leave before all others have entered: data comes from some of them, or only from
/// those before it in rank; or it may be that nothing is sent (MPI_Alltoallv, of which each rank states each
/// amount).
constexpr bool lets_leave_early(const MpiCall& call) {
  if (call.has("Flow::prefix") || call.has("Flow::neighbors")) return true;
  const std::size_t sent = call.facts.find("DataPerRank{");
  return call.has("Flow::all_to_all") && sent != std::string_view::npos &&
         call.facts.find("DataPerRank{", sent + 1) != std::string_view::npos;
}

}  // namespace culprit::mpi_calls
