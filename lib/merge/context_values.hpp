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
/// packed as they come, in blocks of contexts small enough that one block's lists are filled within the
/// cache, and exchanged once.
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
  static constexpr database::ContextId kBlock = 256;

  struct Block {
    database::ContextId begin = 0, end = 0;
    exchange::Bytes packed;
  };
  void flush(Block& block, std::byte* end);
  [[nodiscard]] exchange::Bytes message_to(std::size_t rank);

  std::vector<database::ContextId> ranges_;
  std::vector<std::size_t> first_block_;  ///< of each rank's range; one more entry: the number of blocks
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> counts_;  ///< values per context, so that receivers can reserve
  exchange::Bytes scratch_;            ///< one thread's values in one block
};

}  // namespace culprit::merge
