#include "merge/values.hpp"

#include "cct/message.hpp"
#include "cct/tree_union.hpp"
#include "database/tile.hpp"
#include "measurement/measurement.hpp"
#include "merge/own_frames.hpp"
#include "merge/together.hpp"

#include <numeric>
#include <stdexcept>

namespace culprit::merge {
namespace {

/// The first process of each tile, and the number of processes.
std::vector<std::size_t> find_tiles(std::span<const ProcessSummary> processes, std::uint64_t locations) {
  std::uint64_t cells = 0;
  for (const ProcessSummary& process : processes) cells += process.cells;
  const std::uint32_t most = database::tile_locations(locations, cells);
  std::vector<std::size_t> first{0};
  std::uint64_t held = 0;
  for (std::size_t p = 0; p < processes.size(); ++p) {
    if (held >= most) {
      first.push_back(p);
      held = 0;
    }
    held += processes[p].threads.size();
  }
  first.push_back(processes.size());
  return first;
}

/// Rank 0: the message with each rank's share.
std::vector<exchange::Bytes> share_messages(std::span<const ProcessSummary> processes, const Roles& roles,
                                            std::size_t ranks) {
  const std::vector<std::size_t> tiles = find_tiles(processes, roles.of.size());
  const std::size_t rounds = (tiles.size() - 1 + ranks - 1) / ranks;
  std::vector<std::size_t> locations(processes.size() + 1, 0);
  for (std::size_t p = 0; p < processes.size(); ++p)
    locations[p + 1] = locations[p] + processes[p].threads.size();
  std::vector<exchange::Bytes> messages;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    cct::MessageWriter message;
    message.value(static_cast<std::uint32_t>(roles.roles.size()));
    message.value(std::uint64_t{rounds});
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t tile = round * ranks + rank;
      const std::size_t begin = tile + 1 < tiles.size() ? tiles[tile] : processes.size();
      const std::size_t end = tile + 1 < tiles.size() ? tiles[tile + 1] : begin;
      message.value(static_cast<std::uint32_t>(locations[begin]));
      message.value(std::uint64_t{end - begin});
      for (std::size_t p = begin; p < end; ++p) {
        message.text(processes[p].path);
        message.values(std::span(roles.of).subspan(locations[p], processes[p].threads.size()));
      }
    }
    messages.push_back(message.take());
  }
  return messages;
}

std::vector<database::ContextId> parents_of(const Shape& shape) {
  std::vector<database::ContextId> parents;
  parents.reserve(shape.contexts.size());
  for (const Shape::Scope& scope : shape.contexts) parents.push_back(scope.parent);
  return parents;
}

/// The second pass of one rank.
class Pass {
 public:
  Pass(const cct::SharedTree& shared, const Shape& shape, ThreadAccumulation& accumulation, bool tiles,
       const std::function<void()>& step)
      : accumulation_(accumulation),
        tiles_(tiles),
        step_(step),
        builder_(parents_of(shape), shape.columns.metrics()) {
    tree_.unite(shared);
  }

  /// The tile of one round, if it holds anything and tiles are wanted.
  std::vector<database::Tile> run(const Share::Tile& planned) {
    location_ = planned.first_location;
    for (const Share::File& file : planned.files) add_file(file);
    database::TileRows& rows = builder_.collected();
    if (rows.locations() == 0) return {};
    rows.arrange();
    accumulation_.add_tile(rows);
    std::vector<database::Tile> tiles;
    if (tiles_) tiles.push_back(builder_.take());
    rows.clear();
    return tiles;
  }

 private:
  void add_file(const Share::File& planned);
  void add_thread(const measurement::ThreadProfile& thread, std::span<const cct::ModuleId> modules,
                  std::uint32_t role);

  ThreadAccumulation& accumulation_;
  bool tiles_;
  const std::function<void()>& step_;
  cct::TreeUnion tree_;
  measurement::Reader reader_;
  database::TileBuilder builder_;
  std::uint32_t location_ = 0;
};

measurement::Measurement& read_again(measurement::Reader& reader, const std::string& path) {
  try {
    measurement::Measurement& file = reader.read(path);
    drop_own_frames(file);
    return file;
  } catch (const measurement::MeasurementError& error) {
    throw std::runtime_error("reading: " + path + ": changed while it was being merged: " + error.what());
  }
}

void Pass::add_file(const Share::File& planned) {
  const measurement::Measurement& file = read_again(reader_, planned.path);
  std::vector<cct::ModuleKey> keys;
  keys.reserve(file.modules.size());
  for (const measurement::Module& module : file.modules) keys.push_back(module.key);
  const std::vector<cct::ModuleId> modules = tree_.add_modules(keys);
  accumulation_.begin_process(file);
  // Threads beyond the planned ones started after the first pass, in a process that still runs; nobody
  // counts on them.
  const measurement::ThreadProfile none;
  for (std::size_t t = 0; t < planned.roles.size(); ++t)
    add_thread(t < file.threads.size() ? file.threads[t] : none, modules, planned.roles[t]);
  step_();
}

void Pass::add_thread(const measurement::ThreadProfile& thread, std::span<const cct::ModuleId> modules,
                      std::uint32_t role) {
  std::span<const cct::NodeId> united;
  if (!thread.nodes.empty()) united = tree_.unite(thread.nodes, modules);
  accumulation_.add(thread, united, location_++, role);
  database::TileRows& rows = builder_.collected();
  rows.add_location();
  accumulation_.visit_exclusive([&](database::ContextId context, std::span<const std::uint64_t> values) {
    rows.add_row(context, values);
  });
}

}  // namespace

std::size_t Share::files() const {
  return std::accumulate(rounds.begin(), rounds.end(), std::size_t{0},
                         [](std::size_t sum, const Tile& tile) { return sum + tile.files.size(); });
}

Share deal(exchange::Communicator& comm, std::span<const ProcessSummary> processes, const Roles& roles) {
  std::vector<exchange::Bytes> outgoing(static_cast<std::size_t>(comm.size()));
  if (comm.rank() == 0) outgoing = share_messages(processes, roles, outgoing.size());
  const std::vector<exchange::Bytes> incoming = comm.all_to_all(std::move(outgoing));
  cct::MessageReader message(incoming.at(0));
  Share share;
  share.role_count = message.value<std::uint32_t>();
  share.rounds.resize(message.value<std::uint64_t>());
  for (Share::Tile& tile : share.rounds) {
    tile.first_location = message.value<std::uint32_t>();
    tile.files.resize(message.value<std::uint64_t>());
    for (Share::File& file : tile.files) {
      file.path = message.text();
      file.roles = message.values<std::uint32_t>();
    }
  }
  return share;
}

void accumulate_values(exchange::Communicator& comm, const Share& share, const cct::SharedTree& shared,
                       const Shape& shape, ThreadAccumulation& accumulation, database::Writer* writer,
                       const std::function<void()>& step) {
  Pass pass(shared, shape, accumulation, writer != nullptr, step);
  for (const Share::Tile& planned : share.rounds) {
    std::vector<database::Tile> tiles;
    together(comm, [&] { tiles = pass.run(planned); });
    if (writer != nullptr) writer->add_tiles(tiles);
  }
}

}  // namespace culprit::merge
