#pragma once

#include "database/database.hpp"
#include "database/tile_values.hpp"
#include "database/writer.hpp"
#include "exchange/communicator.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

namespace culprit::merge {

/// Inclusive work (REALTIME - idleness, ns) of single contexts, by location: rank 0 asks, every rank looks it
/// up in its share of the tiles.
class WorkByThread {
 public:
  /// `values`: those of `writer`'s tiles; both must outlive this.
  WorkByThread(exchange::Communicator& comm, const database::Writer& writer,
               const database::TileValues& values)
      : comm_(comm), writer_(writer), values_(values) {}

  /// Collective: runs `ask` on rank 0, where it may call of(); the other ranks answer until it ends. If it
  /// throws, every rank throws std::runtime_error with its message.
  void run(const std::function<void()>& ask);

  /// Rank 0, within run(): the work at the top of `subtree`, one number per location. Valid until the next
  /// call. Throws std::runtime_error where a rank cannot read its share.
  const std::vector<std::uint64_t>& of(const database::TileValues::Subtree& subtree);

 private:
  /// What was asked for lately, the latest first: walking down a tree asks for each context twice.
  struct Known {
    database::ContextId context = 0;
    std::vector<std::uint64_t> work;
  };

  using Visit = std::function<void(std::uint32_t first, std::span<const std::uint64_t> work)>;

  void serve();
  /// The work of the locations of this rank's tiles, tile by tile.
  void look_up(const database::TileValues::Subtree& subtree, const Visit& visit);
  [[nodiscard]] exchange::Bytes answer(const exchange::Bytes& question);
  [[nodiscard]] std::vector<std::uint64_t> ask_all(const database::TileValues::Subtree& subtree);
  void put(const database::TileValues::Share& share, std::span<const std::uint64_t> part,
           std::vector<std::uint64_t>& into) const;
  [[nodiscard]] database::TileValues::Share share(int rank) const {
    return {.first = static_cast<std::size_t>(rank), .step = static_cast<std::size_t>(comm_.size())};
  }

  exchange::Communicator& comm_;
  const database::Writer& writer_;
  const database::TileValues& values_;
  std::list<Known> known_;
  std::unordered_map<database::ContextId, std::list<Known>::iterator> by_context_;
};

}  // namespace culprit::merge
