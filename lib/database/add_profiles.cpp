#include "database/writer.hpp"

#include <algorithm>

namespace culprit::database {
namespace {

/// Where the profiles of ranks and those of tiles meet.
struct Ranges {
  std::uint64_t first = 0;     ///< this rank's first profile
  std::uint64_t per_tile = 1;  ///< profiles
};

/// Splits `values`, ascending by context, into rows.
void add_rows(std::span<const Value> values, std::size_t metrics, TileBuilder& builder) {
  std::vector<std::uint64_t> row(metrics);
  builder.add_location();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    if (value.value == 0) throw std::invalid_argument("a zero in a list of values");
    if (value.metric >= metrics) throw std::invalid_argument("a value of a metric that does not exist");
    if (i > 0 && value.index == values[i - 1].index && value.metric <= values[i - 1].metric) {
      throw std::invalid_argument("a list of values out of order");
    }
    row[value.metric] = value.value;
    if (i + 1 < values.size() && values[i + 1].index == value.index) continue;
    builder.add_row(value.index, row);
    std::ranges::fill(row, 0);
  }
}

/// What each rank gets: profiles go to the rank that holds the first one of their tile.
std::vector<exchange::Bytes> pack(std::span<const std::vector<Value>> profiles, const Ranges& ranges,
                                  const std::vector<std::uint64_t>& firsts) {
  std::vector<Encoder> outgoing(firsts.size());
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    const std::uint64_t head = (ranges.first + p) / ranges.per_tile * ranges.per_tile;
    // The last rank that begins at or before it; ranks without profiles begin where the next one does.
    const auto owner = std::ranges::upper_bound(firsts, head) - firsts.begin() - 1;
    Encoder& into = outgoing[static_cast<std::size_t>(owner)];
    into.put(static_cast<std::uint64_t>(profiles[p].size()));
    into.append(std::as_bytes(std::span(profiles[p])));
  }
  std::vector<exchange::Bytes> bytes;
  bytes.reserve(outgoing.size());
  for (Encoder& each : outgoing) bytes.push_back(each.take());
  return bytes;
}

std::vector<std::uint64_t> gather_firsts(exchange::Communicator& comm, std::uint64_t first) {
  Encoder own;
  own.put(first);
  exchange::Bytes all;
  for (const exchange::Bytes& bytes : comm.gather(own.bytes(), 0))
    all.insert(all.end(), bytes.begin(), bytes.end());
  comm.broadcast(all, 0);
  std::vector<std::uint64_t> firsts(all.size() / sizeof(std::uint64_t));
  std::memcpy(firsts.data(), all.data(), firsts.size() * sizeof(std::uint64_t));
  return firsts;
}

std::vector<Tile> make_tiles(const std::vector<exchange::Bytes>& incoming, std::span<const ContextId> parents,
                             std::size_t metrics, std::uint64_t per_tile) {
  std::vector<Tile> tiles;
  TileBuilder builder(parents, metrics);
  for (const exchange::Bytes& bytes : incoming) {
    Decoder from(bytes, "a message with profiles");
    while (from.remaining() > 0) {
      std::vector<Value> values(from.get<std::uint64_t>());
      const ByteSpan taken = from.take(values.size() * sizeof(Value));
      if (!values.empty()) std::memcpy(values.data(), taken.data(), taken.size());
      if (builder.locations() == per_tile) tiles.push_back(builder.take());
      add_rows(values, metrics, builder);
    }
  }
  if (builder.locations() > 0) tiles.push_back(builder.take());
  return tiles;
}

}  // namespace

void Writer::add_profiles(std::span<const ContextId> parents, std::size_t metrics,
                          std::span<const std::vector<Value>> profiles) {
  exchange::Communicator& comm = communicator();
  std::uint64_t values = 0;
  for (const std::vector<Value>& profile : profiles) values += profile.size();
  const Ranges ranges{.first = comm.exclusive_scan(profiles.size()),
                      .per_tile = tile_locations(comm.all_sum(profiles.size()), comm.all_sum(values))};
  const std::vector<std::uint64_t> firsts = gather_firsts(comm, ranges.first);
  const std::vector<exchange::Bytes> incoming = comm.all_to_all(pack(profiles, ranges, firsts));
  std::vector<Tile> tiles;
  together([&] { tiles = make_tiles(incoming, parents, metrics, ranges.per_tile); });
  add_tiles(tiles);
}

}  // namespace culprit::database
