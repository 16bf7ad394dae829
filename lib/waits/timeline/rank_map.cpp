// Numbers all time lines, the same on all ranks of the analysis: by rank in MPI_COMM_WORLD, then by thread.
// One exchange of each process's rank and number of threads.
#include "waits/timeline/rank_map.hpp"

#include "exchange/message_exchange.hpp"

#include <algorithm>

namespace culprit::waits {

namespace {

struct Claim {
  std::int32_t rank;
  std::uint32_t threads;
};

}  // namespace

RankMap::RankMap(exchange::Communicator& analysis, std::span<const std::unique_ptr<ProcessTrace>> own) {
  std::vector<Claim> claims;
  for (const auto& process : own) {
    if (process->rank() >= 0) {
      claims.push_back({process->rank(), static_cast<std::uint32_t>(process->threads())});
    }
  }
  const exchange::Bytes mine = exchange::bytes_of(std::span<const Claim>(claims));
  const auto all = analysis.all_to_all(std::vector(static_cast<std::size_t>(analysis.size()), mine));

  std::vector<std::uint32_t> threads;
  for (std::size_t from = 0; from < all.size(); ++from) {
    for (const Claim& claim : exchange::items_of<Claim>(all[from])) {
      const auto rank = static_cast<std::size_t>(claim.rank);
      if (rank >= owner_.size()) {
        owner_.resize(rank + 1, -1);
        threads.resize(rank + 1, 0);
      }
      if (owner_[rank] >= 0) continue;
      owner_[rank] = static_cast<int>(from);
      threads[rank] = claim.threads;
    }
  }
  first_.reserve(threads.size() + 1);
  Location next = 0;
  for (const std::uint32_t count : threads) {
    rank_of_.insert(rank_of_.end(), count, static_cast<std::int32_t>(first_.size()));
    first_.push_back(next);
    next += count;
  }
  first_.push_back(next);
}

}  // namespace culprit::waits
