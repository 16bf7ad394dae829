// The second pass over the measurements (docs/algorithms.md 16): rereads a tile's files, accumulates and
// encodes thread by thread, and writes the tile at the offset that a scan of the sizes gives. Cost: 0.25 ms
// of CPU time per profile of 2000 frames, all steps included (docs/scaling.md).
#include "merge/values/values.hpp"

#include "cct/message.hpp"
#include "cct/tree_union.hpp"
#include "database/tile.hpp"
#include "measurement/measurement.hpp"
#include "merge/input/collectively.hpp"
#include "merge/input/lost_files.hpp"
#include "merge/input/own_frames.hpp"
#include "merge/input/read_ahead.hpp"

#include <span>
#include <stdexcept>
#include <utility>

namespace culprit::merge {
namespace {

std::vector<database::ContextId> parents_of(const Shape& shape) {
  std::vector<database::ContextId> parents;
  parents.reserve(shape.contexts.size());
  for (const Shape::Scope& scope : shape.contexts) parents.push_back(scope.parent);
  return parents;
}

/// The paths of a tile's files, one after the other.
class Paths {
 public:
  explicit Paths(const TileFiles& tile) : tile_(tile) {}

  /// Null after the last.
  const char* next() {
    if (file_ == tile_.threads.size()) return nullptr;
    const char* path = tile_.paths.c_str() + offset_;
    offset_ += std::char_traits<char>::length(path) + 1;
    ++file_;
    return path;
  }

 private:
  const TileFiles& tile_;
  std::size_t file_ = 0, offset_ = 0;
};

/// The second pass of one rank.
class Pass {
 public:
  /// `writer`: gets the tiles, if anybody wants them.
  Pass(const exchange::Communicator& comm, const cct::SharedTree& shared, ThreadAccumulation& accumulation,
       database::Writer* writer, const std::function<void()>& step)
      : comm_(comm),
        accumulation_(accumulation),
        writer_(writer),
        step_(step),
        builder_(parents_of(accumulation.shape()),
                 database::tile_scopes(accumulation.shape().contexts, accumulation.shape().flat),
                 accumulation.shape().columns.metrics()) {
    tree_.unite(shared);
  }

  /// The tile of one round, if it holds anything and tiles are wanted. Valid until the next. The one before
  /// is written while this one's files are read, by each rank at another time.
  std::span<const database::Tile> run(const TileFiles& planned) {
    location_ = planned.first_location;
    Paths paths(planned);
    ReadAhead ahead(reader_, [&] { return paths.next(); });
    std::size_t left = planned.threads.size() * static_cast<std::size_t>(comm_.rank()) /
                       static_cast<std::size_t>(comm_.size());
    planned.visit_files([&](const char* path, std::span<const std::uint32_t> sums) {
      if (left-- == 0) write_last();
      add_file(path, sums);
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
  void add_file(const std::string& path, std::span<const std::uint32_t> sums);
  void add_thread(const measurement::ThreadProfile& thread, std::span<const cct::ModuleId> modules,
                  std::uint32_t sums);

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

void Pass::add_file(const std::string& path, std::span<const std::uint32_t> sums) {
  const measurement::Measurement& file = read_again(path);
  const std::span<const cct::ModuleId> modules = modules_.of(file, tree_);
  accumulation_.begin_process(file);
  // Threads beyond the planned ones started after the first pass, in a process that still runs; nobody
  // counts on them.
  const measurement::ThreadProfile none;
  for (std::size_t t = 0; t < sums.size(); ++t)
    add_thread(t < file.threads.size() ? file.threads[t] : none, modules, sums[t]);
  step_();
}

void Pass::add_thread(const measurement::ThreadProfile& thread, std::span<const cct::ModuleId> modules,
                      std::uint32_t sums) {
  std::span<const cct::NodeId> united;
  if (!thread.nodes.empty()) united = tree_.unite(thread.nodes, modules);
  accumulation_.add(thread, united, location_++, sums);
  accumulation_.list_exclusive(builder_.collected());
  if (writer_ != nullptr) builder_.encode_locations();
}

}  // namespace

void accumulate_values(exchange::Communicator& comm, const Partition& partition,
                       const cct::SharedTree& shared, ThreadAccumulation& accumulation,
                       database::Writer* writer, const std::function<void()>& step) {
  Pass pass(comm, shared, accumulation, writer, step);
  partition.for_each_round([&](const TileFiles& planned) {
    std::span<const database::Tile> tiles;
    collectively(comm, [&] { tiles = pass.run(planned); });
    if (writer != nullptr) writer->place_tiles(tiles);
  });
  collectively(comm, [&] { pass.write_last(); });
  give_up_lost(comm, pass.lost());
}

}  // namespace culprit::merge
