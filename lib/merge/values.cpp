#include "merge/values.hpp"

#include "cct/message.hpp"
#include "cct/tree_union.hpp"
#include "merge/unite.hpp"

namespace culprit::merge {
namespace {

/// Rank 0: the message with each rank's share of roles; ranks hold contiguous ranges of `division.processes`.
std::vector<exchange::Bytes> share_messages(const std::vector<exchange::Bytes>& file_counts,
                                            const Division& division, const Roles& roles) {
  std::vector<exchange::Bytes> messages;
  std::size_t process = 0;
  std::size_t location = 0;
  for (const exchange::Bytes& bytes : file_counts) {
    cct::MessageWriter message;
    message.value(static_cast<std::uint32_t>(location));
    message.value(static_cast<std::uint32_t>(roles.roles.size()));
    for (auto left = cct::MessageReader(bytes).value<std::uint64_t>(); left != 0; --left, ++process) {
      const std::size_t threads = division.processes.at(process).threads.size();
      message.values(std::span(roles.of).subspan(location, threads));
      location += threads;
    }
    messages.push_back(message.take());
  }
  return messages;
}

}  // namespace

Share deal_roles(exchange::Communicator& comm, const Division& division, const Roles& roles) {
  cct::MessageWriter count;
  count.value(std::uint64_t{division.mine.size()});
  const std::vector<exchange::Bytes> counts = comm.gather(count.take(), 0);
  std::vector<exchange::Bytes> outgoing(static_cast<std::size_t>(comm.size()));
  if (comm.rank() == 0) outgoing = share_messages(counts, division, roles);
  const std::vector<exchange::Bytes> incoming = comm.all_to_all(std::move(outgoing));
  cct::MessageReader message(incoming.at(0));
  Share share;
  share.first_location = message.value<std::uint32_t>();
  share.role_count = message.value<std::uint32_t>();
  for (const std::string& path : division.mine) {
    share.files.push_back({.path = path, .roles = message.values<std::uint32_t>()});
  }
  return share;
}

void accumulate_values(const Share& share, const cct::SharedTree& shared, ThreadAccumulation& accumulation,
                       ContextValues& by_context, const std::function<void()>& step) {
  cct::TreeUnion tree;
  tree.unite(shared);
  std::uint32_t location = share.first_location;
  for (const Share::File& planned : share.files) {
    measurement::Measurement file;
    try {
      file = read_measurement(planned.path);
    } catch (const measurement::MeasurementError& error) {
      throw std::runtime_error("reading: " + planned.path +
                               ": changed while it was being merged: " + error.what());
    }
    std::vector<cct::ModuleKey> keys;
    for (const measurement::Module& module : file.modules) keys.push_back(module.key);
    const std::vector<cct::ModuleId> modules = tree.add_modules(keys);
    accumulation.begin_process(file);
    // Threads beyond the planned ones started after the first pass, in a process that still runs; nobody
    // counts on them.
    file.threads.resize(planned.roles.size());
    for (std::size_t t = 0; t < planned.roles.size(); ++t, ++location) {
      const measurement::ThreadProfile& thread = file.threads[t];
      if (thread.nodes.empty()) {
        accumulation.add(thread, {}, location, planned.roles[t], by_context);
        continue;
      }
      const cct::TreeUnion::Mapping united = tree.unite(thread.nodes, modules);
      accumulation.add(thread, *united, location, planned.roles[t], by_context);
    }
    step();
  }
}

}  // namespace culprit::merge
