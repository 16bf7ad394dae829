#include "merge/input/lost_files.hpp"

#include "cct/message.hpp"

namespace culprit::merge {
namespace {

/// Collective: those of all ranks, on every rank.
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

void give_up_lost(exchange::Communicator& comm, const std::vector<LostFile>& lost) {
  if (comm.all_max(lost.size()) != 0) throw FilesLost(share_lost(comm, lost));
}

}  // namespace culprit::merge
