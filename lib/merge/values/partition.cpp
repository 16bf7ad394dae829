// Partitions a run's processes among the ranks of the analysis (docs/algorithms.md 16). For their values: by
// tiles of the database, one for each rank and round, so that the database's bytes do not depend on the
// number of ranks. For their time lines, which stay where they are until all are analysed: by bytes of
// traces.
#include "merge/values/partition.hpp"

#include "cct/message.hpp"
#include "database/tile.hpp"
#include "merge/input/collectively.hpp"
#include "merge/input/divide.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

namespace culprit::merge {
namespace {

/// Rank 0: the messages with the tiles, one after the other.
class TilePartition {
 public:
  TilePartition(const ProcessTable& processes, const Roles& roles, const std::vector<std::uint64_t>& ends)
      : roles_(roles), ends_(ends), next_(processes.begin()) {}

  exchange::Bytes take() {
    TileFiles tile;
    tile.first_location = static_cast<std::uint32_t>(locations_);
    const std::uint64_t end = tile_ < ends_.size() ? ends_[tile_++] : taken_;
    for (; taken_ < end; ++taken_, ++next_) {
      tile.paths.append(next_->path).push_back('\0');
      tile.threads.push_back(static_cast<std::uint32_t>(next_->threads.size()));
      locations_ += next_->threads.size();
    }
    cct::MessageWriter message;
    message.value(tile.first_location);
    message.text(tile.paths);
    message.values(tile.threads);
    message.values(std::span(roles_.sums).subspan(tile.first_location, locations_ - tile.first_location));
    return message.take();
  }

 private:
  const Roles& roles_;
  const std::vector<std::uint64_t>& ends_;
  ProcessTable::Iterator next_;
  std::size_t tile_ = 0;
  std::uint64_t taken_ = 0, locations_ = 0;
};

TileFiles to_tile(const exchange::Bytes& bytes) {
  cct::MessageReader message(bytes);
  TileFiles tile;
  tile.first_location = message.value<std::uint32_t>();
  tile.paths = message.text();
  tile.threads = message.values<std::uint32_t>();
  tile.sums = message.values<std::uint32_t>();
  return tile;
}

/// Rank 0: the messages with the files whose time lines a rank gets, one rank after the other.
class TracePartition {
 public:
  TracePartition(const ProcessTable& processes, std::uint64_t trace_bytes, int ranks)
      : trace_bytes_(trace_bytes), ranks_(static_cast<std::size_t>(ranks)), next_(processes.begin()) {}

  exchange::Bytes take(int rank) {
    std::string paths;
    std::vector<std::uint32_t> threads;
    std::vector<std::uint8_t> of_rank;
    for (; next_ != std::default_sentinel; ++next_) {
      // By its middle, so that one that is longer than a share makes the share of as few others as possible
      // longer.
      const std::uint64_t bytes = next_->trace_bytes;
      if (part_of(taken_ + bytes / 2, trace_bytes_, ranks_) > static_cast<std::size_t>(rank)) break;
      taken_ += bytes;
      if (bytes == 0) continue;
      paths.append(next_->path).push_back('\0');
      threads.push_back(static_cast<std::uint32_t>(next_->threads.size()));
      of_rank.push_back(next_->rank && !next_->forked ? 1 : 0);  // what a rank forked does not stand for it
    }
    cct::MessageWriter message;
    message.text(paths);
    message.values(threads);
    message.values(of_rank);
    return message.take();
  }

 private:
  std::uint64_t trace_bytes_;
  std::size_t ranks_;
  ProcessTable::Iterator next_;
  std::uint64_t taken_ = 0;
};

}  // namespace

void Partition::find_tiles() {
  const std::uint64_t locations = processes_.threads();
  const std::uint64_t cells = processes_.cells();
  const std::uint32_t most = database::tile_locations(locations, cells);
  // Tiles are written in rounds: one with far more values than others would make all ranks wait.
  constexpr std::uint64_t kFewCells = 1 << 16;  // not worth a tile of their own
  const std::uint64_t most_cells =
      std::max(kFewCells, cells * most / std::max<std::uint64_t>(locations, 1) * 5 / 4);
  const auto ranks = static_cast<std::size_t>(comm_.size());
  std::uint64_t held = 0;
  std::uint64_t held_cells = 0;
  std::uint64_t before = 0;
  std::uint32_t location = 0;
  for (const ProcessSummary& process : processes_) {
    if (held >= most || (held > 0 && held_cells + process.cells > most_cells)) {
      tiles_.push_back(before);
      held = held_cells = 0;
    }
    if (locations_.size() == tiles_.size()) locations_.push_back(location);
    location += static_cast<std::uint32_t>(process.threads.size());
    held += process.threads.size();
    held_cells += process.cells;
    files_ += tiles_.size() % ranks == 0 ? 1 : 0;
    trace_bytes_ += process.trace_bytes;
    ++before;
  }
  tiles_.push_back(before);
  all_.rounds = (tiles_.size() + ranks - 1) / ranks;
  all_.traced = trace_bytes_ != 0 ? 1 : 0;
  all_.role_count = static_cast<std::uint32_t>(roles_.roles.size());
}

Partition::Partition(exchange::Communicator& comm, const ProcessTable& processes, const Roles& roles)
    : comm_(comm), processes_(processes), roles_(roles) {
  collectively(comm, [&] {
    if (comm.rank() == 0) find_tiles();
  });
  cct::MessageWriter message;
  message.value(all_);
  message.values(locations_);
  exchange::Bytes bytes = message.take();
  comm.broadcast(bytes, 0);
  cct::MessageReader reader(bytes);
  all_ = reader.value<ForAll>();
  locations_ = reader.values<std::uint32_t>();
}

int Partition::rank_of(std::uint32_t location) const {
  const auto behind = std::ranges::upper_bound(locations_, location);
  return static_cast<int>((behind - locations_.begin() - 1) % comm_.size());
}

void Partition::for_each_traced(const std::function<void(const TracedFile&)>& visit) const {
  if (!traced()) return;
  std::optional<TracePartition> next_part;
  const exchange::Bytes part = scatter(comm_, [&](int rank) {
    if (!next_part) next_part.emplace(processes_, trace_bytes_, comm_.size());
    return next_part->take(rank);
  });
  collectively(comm_, [&] {
    cct::MessageReader message(part);
    const std::string paths = message.text();
    const auto threads = message.values<std::uint32_t>();
    const auto of_rank = message.values<std::uint8_t>();
    const char* path = paths.c_str();
    for (std::size_t file = 0; file < threads.size(); ++file) {
      visit({.path = path, .threads = threads[file], .of_rank = of_rank.at(file) != 0});
      path += std::char_traits<char>::length(path) + 1;
    }
  });
}

void Partition::for_each_round(const std::function<void(const TileFiles&)>& visit) const {
  std::optional<TilePartition> next_part;
  for (std::uint64_t round = 0; round < all_.rounds; ++round) {
    const TileFiles tile = to_tile(scatter(comm_, [&](int /*rank*/) {
      if (!next_part) next_part.emplace(processes_, roles_, tiles_);
      return next_part->take();
    }));
    visit(tile);
  }
}

}  // namespace culprit::merge
