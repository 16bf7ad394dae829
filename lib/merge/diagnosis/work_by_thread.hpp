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
  /// `values`: those of `writer`'s tiles; `contexts`: rank 0's. All must outlive this.
  WorkByThread(exchange::Communicator& comm, const database::Writer& writer,
               const database::TileValues& values, std::span<const database::Context> contexts)
      : comm_(comm), writer_(writer), values_(values), contexts_(contexts) {}

  /// Collective: runs `ask` on rank 0, where it may call of(); the other ranks answer until it ends. If it
  /// throws, every rank throws std::runtime_error with its message.
  void run(const std::function<void()>& ask);

  /// Rank 0, within run(): the work at `context`, one number per location. Valid until the next call. Throws
  /// std::runtime_error where a rank cannot read its share.
  const std::vector<std::uint64_t>& of(database::ContextId context);

 private:
  /// What was asked for lately, the latest first: walking down a tree asks for each context twice.
  struct Known {
    database::ContextId context = 0;
    std::vector<std::uint64_t> work;
  };

  using Ranges = std::vector<database::TileValues::ContextRange>;
  using Visit = std::function<void(std::uint32_t first, std::span<const std::uint64_t> work)>;

  void serve();
  /// The work of the locations of this rank's tiles, tile by tile.
  void look_up(const Ranges& ranges, const Visit& visit);
  [[nodiscard]] exchange::Bytes answer(const exchange::Bytes& question);
  [[nodiscard]] std::vector<std::uint64_t> ask_all(const Ranges& ranges);
  [[nodiscard]] std::vector<std::uint64_t> find(database::ContextId context);
  void put(const database::TileValues::Share& share, std::span<const std::uint64_t> part,
           std::vector<std::uint64_t>& into) const;
  [[nodiscard]] database::TileValues::Share share(int rank) const {
    return {.first = static_cast<std::size_t>(rank), .step = static_cast<std::size_t>(comm_.size())};
  }

  exchange::Communicator& comm_;
  const database::Writer& writer_;
  const database::TileValues& values_;
  std::span<const database::Context> contexts_;
  std::size_t looked_at_ = 0;  // tiles
  std::list<Known> known_;
  std::unordered_map<database::ContextId, std::list<Known>::iterator> by_context_;
};

}  // namespace culprit::merge
