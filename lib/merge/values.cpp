#include "merge/values.hpp"

#include "cct/message.hpp"
#include "cct/tree_union.hpp"
#include "database/tile.hpp"
#include "measurement/measurement.hpp"
#include "merge/own_frames.hpp"
#include "merge/read_ahead.hpp"
#include "merge/together.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace culprit::merge {
namespace {

/// The first process of each tile, and the number of processes.
std::vector<std::size_t> find_tiles(std::span<const ProcessSummary> processes, std::uint64_t locations) {
  std::uint64_t cells = 0;
  for (const ProcessSummary& process : processes) cells += process.cells;
  const std::uint32_t most = database::tile_locations(locations, cells);
  // Tiles are written in rounds: one with far more values than others would make all ranks wait.
  constexpr std::uint64_t kFewCells = 1 << 16;  // not worth a tile of their own
  const std::uint64_t most_cells =
      std::max(kFewCells, cells * most / std::max<std::uint64_t>(locations, 1) * 5 / 4);
  std::vector<std::size_t> first{0};
  std::uint64_t held = 0;
  std::uint64_t held_cells = 0;
  for (std::size_t p = 0; p < processes.size(); ++p) {
    if (held >= most || (held > 0 && held_cells + processes[p].cells > most_cells)) {
      first.push_back(p);
      held = held_cells = 0;
    }
    held += processes[p].threads.size();
    held_cells += processes[p].cells;
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
      std::string paths;
      std::vector<std::uint32_t> threads;
      std::uint32_t traced = 0;
      for (std::size_t p = begin; p < end; ++p) {
        traced |= processes[p].trace_bytes != 0 ? 1 : 0;
        paths.append(processes[p].path).push_back('\0');
        threads.push_back(static_cast<std::uint32_t>(processes[p].threads.size()));
      }
      message.value(static_cast<std::uint32_t>(locations[begin]));
      message.value(traced);
      message.text(paths);
      message.values(threads);
      message.values(std::span(roles.of).subspan(locations[begin], locations[end] - locations[begin]));
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

/// The paths of a share's files, one after the other.
class Paths {
 public:
  explicit Paths(const Share& share) : share_(share) {}

  /// Null after the last.
  const char* next() {
    while (round_ < share_.rounds.size() && file_ == share_.rounds[round_].threads.size()) {
      ++round_;
      file_ = offset_ = 0;
    }
    if (round_ == share_.rounds.size()) return nullptr;
    const char* path = share_.rounds[round_].paths.c_str() + offset_;
    offset_ += std::char_traits<char>::length(path) + 1;
    ++file_;
    return path;
  }

 private:
  const Share& share_;
  std::size_t round_ = 0, file_ = 0, offset_ = 0;
};

/// The second pass of one rank.
class Pass {
 public:
  Pass(const Share& share, const cct::SharedTree& shared, const Shape& shape,
       ThreadAccumulation& accumulation, bool tiles, const std::function<void()>& step)
      : accumulation_(accumulation),
        tiles_(tiles),
        step_(step),
        paths_(share),
        ahead_(reader_, [this] { return paths_.next(); }),
        builder_(parents_of(shape), database::tile_scopes(shape.contexts, shape.flat),
                 shape.columns.metrics()) {
    tree_.unite(shared);
  }

  /// The tile of one round, if it holds anything and tiles are wanted. Valid until the next.
  std::span<const database::Tile> run(const Share::Tile& planned) {
    location_ = planned.first_location;
    planned.visit_files(
        [this](const char* path, std::span<const std::uint32_t> roles) { add_file(path, roles); });
    database::TileRows& rows = builder_.collected();
    if (rows.locations() == 0) return {};
    rows.arrange();
    accumulation_.add_tile(rows);
    if (tiles_) tile_ = builder_.take(std::move(tile_));
    rows.clear();
    return {&tile_, tiles_ ? std::size_t{1} : 0};
  }

  [[nodiscard]] const std::vector<LostFile>& lost() const { return lost_; }

 private:
  const measurement::Measurement& read_again(const std::string& path);
  void add_file(const std::string& path, std::span<const std::uint32_t> roles);
  void add_thread(const measurement::ThreadProfile& thread, std::span<const cct::ModuleId> modules,
                  std::uint32_t role);

  ThreadAccumulation& accumulation_;
  bool tiles_;
  const std::function<void()>& step_;
  measurement::Reader reader_;
  Paths paths_;
  ReadAhead ahead_;
  cct::TreeUnion tree_;
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
  std::vector<cct::ModuleKey> keys;
  keys.reserve(file.modules.size());
  for (const measurement::Module& module : file.modules) keys.push_back(module.key);
  const std::vector<cct::ModuleId> modules = tree_.add_modules(keys);
  accumulation_.begin_process(file);
  // Threads beyond the planned ones started after the first pass, in a process that still runs; nobody
  // counts on them.
  const measurement::ThreadProfile none;
  for (std::size_t t = 0; t < roles.size(); ++t)
    add_thread(t < file.threads.size() ? file.threads[t] : none, modules, roles[t]);
  ahead_.step();
  step_();
}

void Pass::add_thread(const measurement::ThreadProfile& thread, std::span<const cct::ModuleId> modules,
                      std::uint32_t role) {
  std::span<const cct::NodeId> united;
  if (!thread.nodes.empty()) united = tree_.unite(thread.nodes, modules);
  accumulation_.add(thread, united, location_++, role);
  accumulation_.list_exclusive(builder_.collected());
  if (tiles_) builder_.encode_locations();
}

/// Collective: all ranks' on every rank.
std::vector<LostFile> share_lost(exchange::Communicator& comm, const std::vector<LostFile>& lost) {
  cct::MessageWriter own;
  own.value(std::uint64_t{lost.size()});
  for (const LostFile& file : lost) {
    own.text(file.path);
    own.text(file.why);
  }
  std::vector<LostFile> all;
  const exchange::Bytes message = own.take();
  const std::vector<exchange::Bytes> copies(static_cast<std::size_t>(comm.size()), message);
  for (const exchange::Bytes& bytes : comm.all_to_all(copies)) {
    cct::MessageReader reader(bytes);
    for (auto left = reader.value<std::uint64_t>(); left != 0; --left) {
      std::string path = reader.text();
      all.push_back({.path = std::move(path), .why = reader.text()});
    }
  }
  return all;
}

}  // namespace

std::size_t Share::files() const {
  return std::accumulate(rounds.begin(), rounds.end(), std::size_t{0},
                         [](std::size_t sum, const Tile& tile) { return sum + tile.threads.size(); });
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
    tile.traced = message.value<std::uint32_t>();
    tile.paths = message.text();
    tile.threads = message.values<std::uint32_t>();
    tile.roles = message.values<std::uint32_t>();
  }
  return share;
}

void accumulate_values(exchange::Communicator& comm, const Share& share, const cct::SharedTree& shared,
                       const Shape& shape, ThreadAccumulation& accumulation, database::Writer* writer,
                       const std::function<void()>& step) {
  Pass pass(share, shared, shape, accumulation, writer != nullptr, step);
  for (const Share::Tile& planned : share.rounds) {
    std::span<const database::Tile> tiles;
    together(comm, [&] { tiles = pass.run(planned); });
    if (writer != nullptr) writer->add_tiles(tiles);
  }
  if (comm.all_max(pass.lost().size()) != 0) throw FilesLost(share_lost(comm, pass.lost()));
}

}  // namespace culprit::merge
