// Writes a database with all ranks at once. A prefix sum over the sizes of their tiles gives each rank its
// place in the file, so that ranks write without regard to each other, and the bytes do not depend on who
// writes. Rank 0 writes everything else. Until it is complete, the file has another name and is its owner's
// alone. If anything fails on one rank, all ranks throw: none waits for one that gave up.
#include "database/writer.hpp"

#include "database/consistency.hpp"
#include "database/encoding.hpp"
#include "database/format.hpp"
#include "database/reader.hpp"
#include "database/section_table.hpp"
#include "database/sections.hpp"
#include "database/tile_values.hpp"
#include "files/at_death.hpp"
#include "files/new_file.hpp"
#include "files/write_failure.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <unistd.h>

namespace culprit::database {
namespace {

using format::Section;

/// Runs `write`; a failure names the file that the user gave, not the temporary one.
template <class Write>
void naming(const std::filesystem::path& target, Write write) {
  try {
    write();
  } catch (const files::WriteFailure& failure) {
    throw files::WriteFailure(target, failure.code().value());
  }
}

/// Runs `local` (which must not communicate) on every rank; if it throws on one, every rank throws.
template <class Local>
void collectively(exchange::Communicator& comm, const std::filesystem::path& target, Local local) {
  std::exception_ptr own;
  exchange::Bytes message;
  try {
    naming(target, local);
  } catch (const std::bad_alloc&) {
    own =
        std::make_exception_ptr(std::runtime_error("write: " + target.string() + ": " + files::kOutOfMemory));
  } catch (const std::exception&) {
    own = std::current_exception();
  }
  try {
    if (own) std::rethrow_exception(own);
  } catch (const std::exception& error) {
    const auto text = std::as_bytes(std::span(error.what(), std::char_traits<char>::length(error.what())));
    message.assign(text.begin(), text.end());
  }
  const std::uint64_t failed = comm.all_max(own ? static_cast<std::uint64_t>(comm.rank()) + 1 : 0);
  if (failed == 0) return;
  comm.broadcast(message, static_cast<int>(failed - 1));
  if (own) std::rethrow_exception(own);
  throw std::runtime_error(std::string(reinterpret_cast<const char*>(message.data()), message.size()));
}

/// Rank 0's choice.
std::filesystem::path temporary_beside(exchange::Communicator& comm, const std::filesystem::path& path) {
  Encoder name;
  name.put_string(files::unforeseen_name_beside(path).filename().string());
  exchange::Bytes bytes = name.take();
  comm.broadcast(bytes, 0);
  Decoder from(bytes, "rank 0's temporary name");
  return path.parent_path() / from.get_string();
}

EachLocation those_of(const Experiment& experiment) {
  return [&experiment](const auto& visit) { std::ranges::for_each(experiment.locations, visit); };
}

/// Rank 0's own hold on the file, once all ranks have written their tiles and closed it.
class Rest {
 public:
  explicit Rest(const std::filesystem::path& path) : path_(path), descriptor_(files::open_created(path)) {
    if (!descriptor_.good()) fail();
  }

  void write_at(std::uint64_t offset, ByteSpan data) const {
    while (!data.empty()) {
      const ssize_t written =
          ::pwrite(descriptor_.get(), data.data(), data.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      data = data.subspan(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    }
  }

  /// Whether the mask of modes alone would have let more read it. Where the file system has no permissions,
  /// it stays as it is.
  [[nodiscard]] bool allow(const files::Readership& readers) const {
    constexpr mode_t kAll = 0666;
    const mode_t mode = readers.mode(kAll, descriptor_.get());
    (void)files::allow(descriptor_.get(), mode);
    return (kAll & ~mode & ~files::mask_of_modes()) != 0;
  }

  /// Network file systems report a failed write-back here at the latest.
  void close() {
    if (::close(descriptor_.release()) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const { throw files::WriteFailure(path_, errno); }

  std::filesystem::path path_;
  files::Descriptor descriptor_;
};

}  // namespace

struct Writer::State {
  exchange::Communicator& comm;
  std::filesystem::path path, temporary;
  std::unique_ptr<exchange::OutputFile> file;  ///< until the tiles end
  std::uint64_t end = format::kHeaderSize;     ///< the same on every rank
  std::uint64_t locations = 0;                 ///< in tiles, of all ranks
  std::span<const Tile> placed;                ///< this rank's that are not written yet
  std::vector<Bytes> placed_sums;              ///< their checksums
  std::uint64_t placed_at = 0;
  bool tiles_ended = false, has_experiment = false, finished = false;

  // On rank 0.
  Encoder tile_index;
  std::unique_ptr<files::Unfinished> unfinished;
  std::unique_ptr<Rest> rest;
  std::unique_ptr<SectionTable> sections;

  // When the tiles have ended.
  MappedFile mapped;
  std::unique_ptr<TileValues> values;

  void enter_tiles(std::span<const Tile> tiles, std::uint64_t offset, std::uint64_t first, Encoder& index);
  void write_placed();
  void close_tiles();
  void add_section(Section section, ByteSpan bytes);
  void add_locations(const EachLocation& locations, const std::vector<std::string>& hosts);
  void write_experiment(const Experiment& experiment, const EachLocation& each_location);
};

Writer::Writer(exchange::Communicator& comm, const std::filesystem::path& path)
    : state_(new State{.comm = comm,
                       .path = path,
                       .temporary = {},
                       .file = {},
                       .placed = {},
                       .placed_sums = {},
                       .tile_index = {},
                       .unfinished = {},
                       .rest = {},
                       .sections = {},
                       .mapped = {},
                       .values = {}}) {
  state_->temporary = temporary_beside(comm, path);
  if (comm.rank() == 0) state_->unfinished = std::make_unique<files::Unfinished>(state_->temporary);
  naming(path, [&] { state_->file = comm.create_file(state_->temporary); });
}

Writer::~Writer() {
  if (state_->finished) return;
  state_->file.reset();
  state_->rest.reset();
  if (state_->comm.rank() != 0) return;
  std::error_code ignored;
  std::filesystem::remove(state_->temporary, ignored);
}

/// What the index says of tiles that are going to be placed there.
void Writer::State::enter_tiles(std::span<const Tile> tiles, std::uint64_t offset, std::uint64_t first,
                                Encoder& index) {
  placed_at = offset;
  placed_sums.clear();
  for (const Tile& tile : tiles) {
    std::uint64_t sum = 0;
    placed_sums.push_back(checksums_of(tile.bytes, sum));
    index.put(offset);
    index.put<std::uint64_t>(tile.bytes.size());
    index.put(sum);
    index.put(static_cast<std::uint32_t>(first));
    index.put(tile.locations);
    offset += tile.bytes.size() + placed_sums.back().size();
    first += tile.locations;
  }
}

void Writer::State::write_placed() {
  std::uint64_t offset = placed_at;
  const std::span<const Tile> tiles = std::exchange(placed, {});
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    for (const Bytes* part : {&tiles[i].bytes, &std::as_const(placed_sums)[i]}) {
      file->write_at(offset, *part);
      offset += part->size();
    }
  }
}

void Writer::place_tiles(std::span<const Tile> tiles) {
  State& s = *state_;
  std::uint64_t size = 0;
  std::uint64_t locations = 0;
  for (const Tile& tile : tiles) {
    size += part_size(tile.bytes.size());
    locations += tile.locations;
  }
  const std::uint64_t offset = s.end + s.comm.exclusive_scan(size);
  const std::uint64_t first = s.locations + s.comm.exclusive_scan(locations);
  Encoder index;
  collectively(s.comm, s.path, [&] {
    if (s.tiles_ended) throw std::logic_error("a tile added after the last");
    if (first + locations >= kNone) throw std::length_error("more locations than can be numbered");
    s.write_placed();
    s.enter_tiles(tiles, offset, first, index);
    s.placed = tiles;
  });
  for (const exchange::Bytes& part : s.comm.gather(index.bytes(), 0)) s.tile_index.append(part);
  s.end += s.comm.all_sum(size);
  s.locations += s.comm.all_sum(locations);
}

void Writer::write_placed() {
  naming(state_->path, [&] { state_->write_placed(); });
}

/// Collective: from here on the file is rank 0's.
void Writer::State::close_tiles() {
  if (std::exchange(tiles_ended, true)) return;
  collectively(comm, path, [&] { write_placed(); });
  naming(path, [&] { file->close(); });
  file.reset();
  collectively(comm, path, [&] {
    if (comm.rank() != 0) return;
    rest = std::make_unique<Rest>(temporary);
    sections = std::make_unique<SectionTable>(end);
  });
}

const TileValues& Writer::end_tiles(std::span<const ContextId> parents, std::size_t metrics) {
  State& s = *state_;
  s.close_tiles();
  exchange::Bytes index = s.tile_index.bytes();
  s.comm.broadcast(index, 0);
  collectively(s.comm, s.path, [&] {
    if (s.locations > 0) s.mapped = MappedFile(s.temporary, true);
    s.values = std::make_unique<TileValues>(index, s.mapped.bytes(), parents.size(), metrics, s.temporary);
  });
  return *s.values;
}

void Writer::release_values() const {
  state_->mapped.release();
}

void Writer::State::add_section(Section section, ByteSpan bytes) {
  const std::uint64_t place = sections->place();
  rest->write_at(place, sections->add(section, bytes));
}

/// In pieces: there may be millions.
void Writer::State::add_locations(const EachLocation& each_location, const std::vector<std::string>& hosts) {
  constexpr std::uint64_t kPiece = 4 * format::kChunk;
  std::uint64_t place = sections->place();
  rest->write_at(place, sections->begin(Section::locations));
  const auto extend = [&](ByteSpan piece) {
    rest->write_at(sections->place(), piece);
    sections->extend(piece);
  };
  std::uint64_t count = 0;
  Encoder pending;
  each_location([&](const Location& location) {
    encode_location(location, hosts, pending);
    ++count;
    if (pending.size() < kPiece) return;
    const Bytes bytes = pending.take();
    extend(ByteSpan(bytes).first(kPiece));
    pending.clear();
    pending.append(ByteSpan(bytes).subspan(kPiece));
  });
  extend(pending.bytes());
  place = sections->place();
  rest->write_at(place, sections->end());
  if (locations != count)
    throw std::logic_error("the tiles must hold the values of as many locations as there are");
}

void Writer::State::write_experiment(const Experiment& experiment, const EachLocation& each_location) {
  check_consistency(experiment, each_location);
  const std::vector<std::string> hosts = hosts_of(each_location);
  const SectionBytes bytes = encode_experiment(experiment, hosts);
  for (std::uint32_t number = 1; number <= format::kLastSection; ++number) {
    if (!format::is_known(number)) continue;
    const auto section = static_cast<Section>(number);
    if (section == Section::locations) {
      add_locations(each_location, hosts);
    } else {
      add_section(section, section == Section::tile_index ? tile_index.bytes() : bytes[slot(section)]);
    }
  }
}

void Writer::add_experiment(const Experiment& experiment, const EachLocation& locations) {
  State& s = *state_;
  s.close_tiles();
  collectively(s.comm, s.path, [&] {
    if (std::exchange(s.has_experiment, true)) throw std::logic_error("an experiment added twice");
    if (s.comm.rank() == 0) s.write_experiment(experiment, locations ? locations : those_of(experiment));
  });
}

bool Writer::finish(const files::Readership& readers) {
  State& s = *state_;
  bool narrowed = false;
  collectively(s.comm, s.path, [&] {
    if (!s.has_experiment) throw std::logic_error("a database without an experiment");
    if (s.comm.rank() != 0) return;
    const std::uint64_t place = s.sections->place();
    s.rest->write_at(place, s.sections->table());
    s.rest->write_at(0, s.sections->header());
    narrowed = s.rest->allow(readers);
    s.rest->close();
    if (::rename(s.temporary.c_str(), s.path.c_str()) != 0) throw files::WriteFailure(s.path, errno);
    s.unfinished->done();
  });
  s.finished = true;
  return narrowed;
}

}  // namespace culprit::database
