#pragma once

#include "database/database.hpp"
#include "database/tile_values.hpp"
#include "database/writer.hpp"
#include "exchange/communicator.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <span>
#include <vector>

namespace culprit::merge {

/// Work (REALTIME - idleness, ns) in some contexts, or their idleness, by location: rank 0 asks, every rank
/// looks it up in its share of the tiles.
class WorkByThread {
 public:
  using Ranges = std::vector<database::ContextRange>;

  /// `values`: those of `writer`'s tiles. All must outlive this.
  WorkByThread(exchange::Communicator& comm, const database::Writer& writer,
               const database::TileValues& values)
      : comm_(comm), writer_(writer), values_(values) {}

  /// Collective: runs `ask` on rank 0, where it may call of(); the other ranks answer until it ends. If it
  /// throws, every rank throws std::runtime_error with its message.
  void run(const std::function<void()>& ask);

  /// Rank 0, within run(): the work in the contexts `ranges` (ascending, disjoint), one number per location.
  /// Where `within`, which holds all of them, was asked for lately, the rest of it may be read instead. Valid
  /// until the next call. Throws std::runtime_error where a rank cannot read its share.
  const std::vector<std::uint64_t>& of(const Ranges& ranges, const Ranges& within);

  /// The same of idleness, which is read anew each time.
  std::vector<std::uint64_t> idleness(const Ranges& ranges) { return ask_all(What::idleness, ranges); }

 private:
  enum class What : std::uint8_t { work, idleness };

  /// What was asked for lately, the latest first: walking down a tree asks for each context twice.
  struct Known {
    Ranges ranges;
    std::vector<std::uint64_t> work;
  };

  using Visit = std::function<void(std::uint32_t first, std::span<const std::uint64_t> times)>;

  void serve();
  /// Of the locations of this rank's tiles, tile by tile.
  void look_up(What what, const Ranges& ranges, const Visit& visit);
  [[nodiscard]] exchange::Bytes answer(const exchange::Bytes& question);
  [[nodiscard]] std::vector<std::uint64_t> ask_all(What what, const Ranges& ranges);
  [[nodiscard]] std::vector<std::uint64_t> find(const Ranges& ranges, const Ranges& within);
  void put(const database::TileValues::Share& share, std::span<const std::uint64_t> part,
           std::vector<std::uint64_t>& into) const;
  [[nodiscard]] database::TileValues::Share share(int rank) const {
    return {.first = static_cast<std::size_t>(rank), .step = static_cast<std::size_t>(comm_.size())};
  }

  exchange::Communicator& comm_;
  const database::Writer& writer_;
  const database::TileValues& values_;
  std::size_t looked_at_ = 0;  // tiles
  std::list<Known> known_;
  std::map<Ranges, std::list<Known>::iterator> by_ranges_;
};

}  // namespace culprit::merge
