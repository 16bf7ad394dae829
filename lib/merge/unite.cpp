#include "merge/unite.hpp"

#include "cct/archive.hpp"
#include "cct/tree_union.hpp"
#include "merge/own_frames.hpp"
#include "merge/together.hpp"

namespace culprit::merge {
namespace {

constexpr int kUnionTag = 201;

void add_file(cct::TreeUnion& all, const measurement::Measurement& file) {
  std::vector<cct::ModuleKey> keys;
  keys.reserve(file.modules.size());
  for (const measurement::Module& module : file.modules) keys.push_back(module.key);
  const std::vector<cct::ModuleId> modules = all.add_modules(keys);
  for (const measurement::ThreadProfile& thread : file.threads) all.unite(thread.nodes, modules);
}

}  // namespace

measurement::Measurement read_measurement(const std::string& path) {
  measurement::Measurement file = measurement::read(path);
  drop_own_frames(file);
  return file;
}

United unite(exchange::Communicator& comm, std::span<const std::string> files, const Step& step) {
  United united;
  cct::TreeUnion local;
  together(comm, [&] {
    for (const std::string& path : files) {
      try {
        add_file(local, read_measurement(path));
      } catch (const measurement::MeasurementError& error) {
        united.damaged.push_back(path);
        united.problems.push_back(path + ": " + error.what());
      }
      step();
    }
  });
  const bool root = exchange::reduce_tree(
      comm, local, kUnionTag, [](const cct::TreeUnion& value) { return cct::pack(value.shared()); },
      [](const exchange::Bytes& bytes) { return cct::unpack(bytes); },
      [](cct::TreeUnion& into, const cct::SharedTree& from) { into.unite(from); });
  exchange::Bytes message;
  if (root) message = cct::pack(cct::canonical(local.shared()).shared);
  comm.broadcast(message, 0);
  united.shared = cct::unpack(message);
  return united;
}

}  // namespace culprit::merge
