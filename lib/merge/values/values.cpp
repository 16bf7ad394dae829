// The second pass over the measurements (docs/algorithms.md 16): partitions processes by tiles of the
// database in rounds, one tile per rank of the analysis and round, so that the database's bytes do not depend
// on the number of ranks; rereads a tile's files, accumulates and encodes thread by thread, and writes the
// tile at the offset that a scan of the sizes gives. Time lines are partitioned by bytes instead. Cost: 0.25
// ms of CPU time per profile of 2000 frames, all steps included (docs/scaling.md).
#include "merge/values/values.hpp"

#include "cct/message.hpp"
#include "cct/tree_union.hpp"
#include "database/tile.hpp"
#include "measurement/measurement.hpp"
#include "merge/input/divide.hpp"
#include "merge/input/file_modules.hpp"
#include "merge/input/own_frames.hpp"
#include "merge/input/read_ahead.hpp"
#include "merge/input/together.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

namespace culprit::merge {
namespace {

/// Rank 0: the messages with the tiles, one after the other.
class Dealer {
 public:
  Dealer(const ProcessTable& processes, const Roles& roles, const std::vector<std::uint64_t>& ends)
      : roles_(roles), ends_(ends), next_(processes.begin()) {}

  exchange::Bytes deal() {
    DealtTile tile;
    tile.first_location = static_cast<std::uint32_t>(locations_);
    const std::uint64_t end = tile_ < ends_.size() ? ends_[tile_++] : dealt_;
    for (; dealt_ < end; ++dealt_, ++next_) {
      tile.paths.append(next_->path).push_back('\0');
      tile.threads.push_back(static_cast<std::uint32_t>(next_->threads.size()));
      locations_ += next_->threads.size();
    }
    cct::MessageWriter message;
    message.value(tile.first_location);
    message.text(tile.paths);
    message.values(tile.threads);
    message.values(std::span(roles_.of).subspan(tile.first_location, locations_ - tile.first_location));
    return message.take();
  }

 private:
  const Roles& roles_;
  const std::vector<std::uint64_t>& ends_;
  ProcessTable::Iterator next_;
  std::size_t tile_ = 0;
  std::uint64_t dealt_ = 0, locations_ = 0;
};

DealtTile to_tile(const exchange::Bytes& bytes) {
  cct::MessageReader message(bytes);
  DealtTile tile;
  tile.first_location = message.value<std::uint32_t>();
  tile.paths = message.text();
  tile.threads = message.values<std::uint32_t>();
  tile.roles = message.values<std::uint32_t>();
  return tile;
}

/// Nobody can have waited in MPI for a process that is no rank: its trace is not opened.
std::uint64_t bytes_to_analyse(const ProcessSummary& process) {
  return process.rank ? process.trace_bytes : 0;
}

/// Rank 0: the messages with the files whose time lines a rank gets, one rank after the other.
class TraceDealer {
 public:
  TraceDealer(const ProcessTable& processes, std::uint64_t trace_bytes, int ranks)
      : trace_bytes_(trace_bytes), ranks_(static_cast<std::size_t>(ranks)), next_(processes.begin()) {}

  exchange::Bytes deal(int rank) {
    std::string paths;
    std::vector<std::uint32_t> threads;
    for (; next_ != std::default_sentinel; ++next_) {
      // By its middle, so that one that is longer than a share makes the share of as few others as possible
      // longer.
      const std::uint64_t bytes = bytes_to_analyse(*next_);
      if (part_of(dealt_ + bytes / 2, trace_bytes_, ranks_) > static_cast<std::size_t>(rank)) break;
      dealt_ += bytes;
      if (bytes == 0) continue;
      paths.append(next_->path).push_back('\0');
      threads.push_back(static_cast<std::uint32_t>(next_->threads.size()));
    }
    cct::MessageWriter message;
    message.text(paths);
    message.values(threads);
    return message.take();
  }

 private:
  std::uint64_t trace_bytes_;
  std::size_t ranks_;
  ProcessTable::Iterator next_;
  std::uint64_t dealt_ = 0;
};

std::vector<database::ContextId> parents_of(const Shape& shape) {
  std::vector<database::ContextId> parents;
  parents.reserve(shape.contexts.size());
  for (const Shape::Scope& scope : shape.contexts) parents.push_back(scope.parent);
  return parents;
}

/// The paths of a tile's files, one after the other.
class Paths {
 public:
  explicit Paths(const DealtTile& tile) : tile_(tile) {}

  /// Null after the last.
  const char* next() {
    if (file_ == tile_.threads.size()) return nullptr;
    const char* path = tile_.paths.c_str() + offset_;
    offset_ += std::char_traits<char>::length(path) + 1;
    ++file_;
    return path;
  }

 private:
  const DealtTile& tile_;
  std::size_t file_ = 0, offset_ = 0;
};

/// The second pass of one rank.
class Pass {
 public:
  /// `writer`: gets the tiles, if anybody wants them.
  Pass(const exchange::Communicator& comm, const cct::SharedTree& shared, const Shape& shape,
       ThreadAccumulation& accumulation, database::Writer* writer, const std::function<void()>& step)
      : comm_(comm),
        accumulation_(accumulation),
        writer_(writer),
        step_(step),
        builder_(parents_of(shape), database::tile_scopes(shape.contexts, shape.flat),
                 shape.columns.metrics()) {
    tree_.unite(shared);
  }

  /// The tile of one round, if it holds anything and tiles are wanted. Valid until the next. The one before
  /// is written while this one's files are read, by each rank at another time.
  std::span<const database::Tile> run(const DealtTile& planned) {
    location_ = planned.first_location;
    Paths paths(planned);
    ReadAhead ahead(reader_, [&] { return paths.next(); });
    std::size_t left = planned.threads.size() * static_cast<std::size_t>(comm_.rank()) /
                       static_cast<std::size_t>(comm_.size());
    planned.visit_files([&](const char* path, std::span<const std::uint32_t> roles) {
      if (left-- == 0) write_last();
      add_file(path, roles);
      ahead.step();
    });
    write_last();
    database::TileRows& rows = builder_.collected();
    if (rows.locations() == 0) return {};
    rows.arrange();
    accumulation_.add_tile(rows);
    if (writer_ != nullptr) tile_ = builder_.take(std::move(tile_));
    rows.clear();
    return {&tile_, writer_ != nullptr ? std::size_t{1} : 0};
  }

  /// The tile of the last round, unless it is written.
  void write_last() const {
    if (writer_ != nullptr) writer_->write_placed();
  }

  [[nodiscard]] const std::vector<LostFile>& lost() const { return lost_; }

 private:
  const measurement::Measurement& read_again(const std::string& path);
  void add_file(const std::string& path, std::span<const std::uint32_t> roles);
  void add_thread(const measurement::ThreadProfile& thread, std::span<const cct::ModuleId> modules,
                  std::uint32_t role);

  const exchange::Communicator& comm_;
  ThreadAccumulation& accumulation_;
  database::Writer* writer_;
  const std::function<void()>& step_;
  measurement::Reader reader_;
  cct::TreeUnion tree_;
  FileModules modules_;
  database::TileBuilder builder_;
  database::Tile tile_;
  std::uint32_t location_ = 0;
  std::vector<LostFile> lost_;
};

/// What was measured, or nothing where that is lost.
const measurement::Measurement& Pass::read_again(const std::string& path) {
  try {
    measurement::Measurement& file = reader_.read(path);
    drop_own_frames(file);
    return file;
  } catch (const measurement::MeasurementError& error) {
    lost_.push_back({.path = path, .why = path + ": changed while it was being merged: " + error.what()});
    static const measurement::Measurement nothing;
    return nothing;
  }
}

void Pass::add_file(const std::string& path, std::span<const std::uint32_t> roles) {
  const measurement::Measurement& file = read_again(path);
  const std::span<const cct::ModuleId> modules = modules_.of(file, tree_);
  accumulation_.begin_process(file);
  // Threads beyond the planned ones started after the first pass, in a process that still runs; nobody
  // counts on them.
  const measurement::ThreadProfile none;
  for (std::size_t t = 0; t < roles.size(); ++t)
    add_thread(t < file.threads.size() ? file.threads[t] : none, modules, roles[t]);
  step_();
}

void Pass::add_thread(const measurement::ThreadProfile& thread, std::span<const cct::ModuleId> modules,
                      std::uint32_t role) {
  std::span<const cct::NodeId> united;
  if (!thread.nodes.empty()) united = tree_.unite(thread.nodes, modules);
  accumulation_.add(thread, united, location_++, role);
  accumulation_.list_exclusive(builder_.collected());
  if (writer_ != nullptr) builder_.encode_locations();
}

}  // namespace

void Dealing::find_tiles() {
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
    trace_bytes_ += bytes_to_analyse(process);
    ++before;
  }
  tiles_.push_back(before);
  all_.rounds = (tiles_.size() + ranks - 1) / ranks;
  all_.traced = trace_bytes_ != 0 ? 1 : 0;
  all_.role_count = static_cast<std::uint32_t>(roles_.roles.size());
}

Dealing::Dealing(exchange::Communicator& comm, const ProcessTable& processes, const Roles& roles)
    : comm_(comm), processes_(processes), roles_(roles) {
  together(comm, [&] {
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

int Dealing::rank_of(std::uint32_t location) const {
  const auto behind = std::ranges::upper_bound(locations_, location);
  return static_cast<int>((behind - locations_.begin() - 1) % comm_.size());
}

void Dealing::for_each_traced(const std::function<void(const char*, std::uint32_t)>& visit) const {
  std::optional<TraceDealer> dealer;
  const exchange::Bytes dealt = hand_out(comm_, [&](int rank) {
    if (!dealer) dealer.emplace(processes_, trace_bytes_, comm_.size());
    return dealer->deal(rank);
  });
  together(comm_, [&] {
    cct::MessageReader message(dealt);
    const std::string paths = message.text();
    const char* path = paths.c_str();
    for (const std::uint32_t threads : message.values<std::uint32_t>()) {
      visit(path, threads);
      path += std::char_traits<char>::length(path) + 1;
    }
  });
}

void Dealing::for_each_round(const std::function<void(const DealtTile&)>& visit) const {
  std::optional<Dealer> dealer;
  for (std::uint64_t round = 0; round < all_.rounds; ++round) {
    const DealtTile tile = to_tile(hand_out(comm_, [&](int /*rank*/) {
      if (!dealer) dealer.emplace(processes_, roles_, tiles_);
      return dealer->deal();
    }));
    visit(tile);
  }
}

void accumulate_values(exchange::Communicator& comm, const Dealing& dealing, const cct::SharedTree& shared,
                       const Shape& shape, ThreadAccumulation& accumulation, database::Writer* writer,
                       const std::function<void()>& step) {
  Pass pass(comm, shared, shape, accumulation, writer, step);
  dealing.for_each_round([&](const DealtTile& planned) {
    std::span<const database::Tile> tiles;
    together(comm, [&] { tiles = pass.run(planned); });
    if (writer != nullptr) writer->place_tiles(tiles);
  });
  together(comm, [&] { pass.write_last(); });
  give_up_lost(comm, pass.lost());
}

}  // namespace culprit::merge
