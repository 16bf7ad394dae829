// The static structure of all that was sampled (docs/algorithms.md 15, 16). Modules, and parts of those with
// many addresses, go to the rank with the least to do so far, the largest first; rank 0 puts them together.
// Cost: the recovery of each rank's share, and one message per rank.
#include "merge/attribution/recover_structure.hpp"

#include "cct/message.hpp"
#include "merge/input/collectively.hpp"
#include "structure/combine.hpp"
#include "structure/serialize.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <span>
#include <sstream>
#include <thread>
#include <utility>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>

namespace culprit::merge {
namespace {

using Modules = std::vector<RecoveredStructure::Module>;

/// Every rank's copy of rank 0's places.
std::vector<Place> broadcast_places(exchange::Communicator& comm, const std::vector<Place>& places) {
  cct::MessageWriter writer;
  writer.value(std::uint64_t{places.size()});
  for (const Place& place : places) {
    writer.value(place.module);
    writer.value(place.offset);
  }
  exchange::Bytes message = writer.take();
  comm.broadcast(message, 0);
  cct::MessageReader reader(message);
  std::vector<Place> all(reader.value<std::uint64_t>());
  for (Place& place : all) {
    place.module = reader.value<cct::ModuleId>();
    place.offset = reader.value<std::uint64_t>();
  }
  return all;
}

/// The addresses to ask for, per module.
Modules collect_addresses(const cct::SharedTree& shared, const std::vector<Place>& more) {
  Modules modules(shared.modules.size());
  const auto add = [&modules](cct::ModuleId module, std::uint64_t offset) {
    if (module < modules.size()) modules[module].addresses.push_back(offset);
  };
  for (const cct::Node& node : shared.tree.nodes()) {
    if (node.frame.kind != cct::FrameKind::region) add(node.frame.module, node.frame.offset);
  }
  for (const Place& place : more) add(place.module, place.offset);
  for (RecoveredStructure::Module& module : modules) {
    std::ranges::sort(module.addresses);
    const auto rest = std::unique(module.addresses.begin(), module.addresses.end());
    module.addresses.erase(rest, module.addresses.end());
  }
  return modules;
}

/// A part of a module's addresses: those from `first` up to `last`.
struct Part {
  cct::ModuleId module = 0;
  std::size_t first = 0, last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
};

/// The parts that each rank recovers: the largest first, each to the rank with the least to do so far. A
/// module that holds most of what was sampled must not keep one rank busy while the others wait for it.
std::vector<std::vector<Part>> partition(const Modules& modules, std::size_t ranks) {
  // A module costs its opening and reading even where few of its addresses were sampled.
  constexpr std::size_t kAddressesOfAModule = 200;
  // With fewer, opening the module would be most of the work.
  constexpr std::size_t kAddressesOfAPart = 250;
  std::vector<Part> parts;
  for (cct::ModuleId id = 0; id < modules.size(); ++id) {
    const std::size_t all = modules[id].addresses.size();
    const std::size_t count = std::min(ranks, (all + kAddressesOfAPart - 1) / kAddressesOfAPart);
    for (std::size_t i = 0; i < count; ++i) parts.push_back({id, all * i / count, all * (i + 1) / count});
  }
  std::ranges::stable_sort(parts, std::ranges::greater(), &Part::size);
  std::vector<std::vector<Part>> shares(ranks);
  std::vector<std::size_t> load(ranks, 0);
  for (const Part& part : parts) {
    const auto least = static_cast<std::size_t>(std::ranges::min_element(load) - load.begin());
    shares[least].push_back(part);
    load[least] += part.size() + kAddressesOfAModule;
  }
  return shares;
}

/// The structure of each part of the share, by as many threads as `common` allows; all requests are like it.
std::vector<structure::ModuleStructure> recover_share(const cct::SharedTree& shared, const Modules& modules,
                                                      const std::vector<Part>& share,
                                                      const structure::Request& common,
                                                      const std::function<void()>& step) {
  std::vector<structure::ModuleStructure> recovered(share.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&](bool first) {
    for (std::size_t i = next++; i < share.size(); i = next++) {
      const cct::ModuleKey& key = shared.modules[share[i].module];
      const std::span addresses =
          std::span(modules[share[i].module].addresses).subspan(share[i].first, share[i].size());
      structure::Request request = common;
      request.path = key.path;
      request.build_id = key.build_id;
      request.addresses.assign(addresses.begin(), addresses.end());
      // The first part is the largest and seldom ends before the others; the threads that those leave idle
      // help.
      request.threads = i == 0 ? common.threads : 1;
      recovered[i] = structure::recover(request);
      if (first) step();
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t t = 1; t < std::min(common.threads, share.size()); ++t) helpers.emplace_back(work, false);
  work(true);
  helpers.clear();
  return recovered;
}

/// The structures of a rank as a message to rank 0: a Boost.Serialization archive.
exchange::Bytes pack(const std::vector<structure::ModuleStructure>& structures) {
  std::ostringstream stream;
  boost::archive::binary_oarchive(stream, boost::archive::no_header) << structures;
  const std::string text = stream.str();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<structure::ModuleStructure> unpack(const exchange::Bytes& message) {
  std::istringstream stream(std::string(reinterpret_cast<const char*>(message.data()), message.size()));
  std::vector<structure::ModuleStructure> structures;
  boost::archive::binary_iarchive(stream, boost::archive::no_header) >> structures;
  return structures;
}

/// The module of these parts.
structure::ModuleStructure join(std::map<std::size_t, structure::ModuleStructure>&& parts) {
  std::vector<structure::ModuleStructure> ordered;
  ordered.reserve(parts.size());
  for (auto& [first, part] : parts) ordered.push_back(std::move(part));
  return ordered.empty() ? structure::ModuleStructure{} : structure::combine(std::move(ordered));
}

}  // namespace

const structure::Point* RecoveredStructure::point(const Place& place) const {
  if (place.module >= modules_.size()) return nullptr;
  const Module& module = modules_[place.module];
  const auto found = std::ranges::lower_bound(module.addresses, place.offset);
  if (found == module.addresses.end() || *found != place.offset) return nullptr;
  const auto index = static_cast<std::size_t>(found - module.addresses.begin());
  return index < module.structure.points.size() ? &module.structure.points[index] : nullptr;
}

const structure::Procedure* RecoveredStructure::procedure(const Place& place) const {
  const structure::Point* const found = point(place);
  if (found == nullptr) return nullptr;
  const std::vector<structure::Procedure>& all = modules_[place.module].structure.procedures;
  return found->procedure < all.size() ? &all[found->procedure] : nullptr;
}

Place RecoveredStructure::entry(const Place& place) const {
  const structure::Procedure* const found = procedure(place);
  if (found == nullptr || found->source == structure::NameSource::none) return {};
  return {place.module, found->low};
}

const std::vector<Place>& RecoveredStructure::jumps(const Place& call, const Place& callee) const {
  static const std::vector<Place> kNothing;
  const auto found = jumps_.find({call, callee});
  return found == jumps_.end() ? kNothing : found->second;
}

void RecoveredStructure::add(cct::ModuleId module, const std::vector<std::uint64_t>& addresses,
                             structure::ModuleStructure more) {
  Module& mine = modules_[module];
  std::vector<structure::ModuleStructure> both;
  both.push_back(std::move(mine.structure));
  both.push_back(std::move(more));
  mine.structure = structure::combine(std::move(both));
  mine.addresses.insert(mine.addresses.end(), addresses.begin(), addresses.end());
  std::map<std::uint64_t, structure::Point> points;
  for (std::size_t i = 0; i < mine.addresses.size(); ++i)
    points.emplace(mine.addresses[i], mine.structure.points[i]);
  mine.addresses.clear();
  mine.structure.points.clear();
  for (const auto& [address, point] : points) {
    mine.addresses.push_back(address);
    mine.structure.points.push_back(point);
  }
}

RecoveredStructure recover_structure(exchange::Communicator& comm, const cct::SharedTree& shared,
                                     const std::vector<Place>& more, bool loops,
                                     const std::filesystem::path& cache, const std::function<void()>& step) {
  Modules modules = collect_addresses(shared, broadcast_places(comm, more));
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto shares = partition(modules, ranks);
  const std::vector<Part>& share = shares[static_cast<std::size_t>(comm.rank())];
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  structure::Request common;
  common.loops = loops;
  common.cache = cache;
  common.threads = std::max<std::size_t>(1, cores / ranks);
  std::vector<structure::ModuleStructure> mine;
  collectively(comm, [&] { mine = recover_share(shared, modules, share, common, step); });

  const std::vector<exchange::Bytes> messages =
      comm.gather(comm.rank() == 0 ? exchange::Bytes() : pack(mine), 0);
  std::vector<std::map<std::size_t, structure::ModuleStructure>> parts(
      modules.size());  // by their first address
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    std::vector<structure::ModuleStructure> theirs =
        rank == 0 ? std::exchange(mine, {}) : unpack(messages[rank]);
    for (std::size_t i = 0; i < shares[rank].size(); ++i) {
      const Part& part = shares[rank][i];
      parts[part.module][part.first] = std::move(theirs.at(i));
    }
  }
  if (comm.rank() == 0) {
    for (cct::ModuleId id = 0; id < modules.size(); ++id) modules[id].structure = join(std::move(parts[id]));
  }
  if (comm.rank() != 0) modules.clear();
  return RecoveredStructure(std::move(modules));
}

}  // namespace culprit::merge
