#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/sparse_rows.hpp"

#include <cstdint>
#include <vector>

namespace culprit::merge {

/// The contiguous range of contexts that each rank owns: rank r has [first[r], first[r + 1]).
std::vector<database::ContextId> context_ranges(std::size_t contexts, int ranks);

/// Inclusive per-thread values on their way from profile-major order, as they arise, to context-major order:
/// packed per owning rank as they come, exchanged once.
class ContextValues {
 public:
  explicit ContextValues(std::vector<database::ContextId> ranges);

  /// Adds one thread's non-zero inclusive values (rows: contexts; the first `metrics` columns). Locations
  /// must ascend.
  void add(std::uint32_t location, const SparseRows& inclusive, std::size_t metrics);

  /// Collective: sends every rank what it owns. Returns, per context of this rank's range, its values
  /// ascending by (location, metric). Empties this.
  std::vector<std::vector<database::Value>> exchange(exchange::Communicator& comm);

 private:
  std::vector<database::ContextId> ranges_;
  std::vector<exchange::Bytes> outgoing_;
  std::vector<std::uint32_t> counts_;  ///< values per context, so that receivers can reserve
  exchange::Bytes thread_;             ///< scratch: one thread's values for one rank
};

}  // namespace culprit::merge
