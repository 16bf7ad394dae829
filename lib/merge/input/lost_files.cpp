// Finds files that must not count beside another, among processes in canonical order (docs/algorithms.md 16):
// copies of one measurement, and processes that claim the same rank of a run at the same time. A process that
// a rank forks, or becomes by exec, may claim its rank. Cost: one comparison with the last process and one
// with the rank's last owner. A file that is lost after its contents were used ends the merge on all ranks of
// the analysis; merge.cpp begins again without it.
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

void Duplicates::leave_out(const ProcessSummary& process, const std::string& why) {
  found_.push_back({.path = process.path, .why = process.path + ": " + why});
}

void Duplicates::add(const ProcessSummary& process) {
  const std::uint64_t length = process.end_ns > process.start_ns ? process.end_ns - process.start_ns : 0;
  Counted now{.path = process.path,
              .host = process.launch->host,
              .pid = process.pid,
              .start_ns = process.start_ns,
              .key = process.key,
              .begin = process.start_realtime_ns,
              .end = process.start_realtime_ns + static_cast<std::int64_t>(length),
              .rank = process.rank};
  const bool same_process = last_ && last_->host == now.host && last_->pid == now.pid;
  if (same_process && last_->start_ns == now.start_ns && last_->key == now.key && last_->begin == now.begin) {
    leave_out(process, "is a copy of " + last_->path + ", and is left out (remove one of them)");
    return;
  }
  const bool owns = process.rank && !process.forked;
  const bool owned = owns && owner_ && owner_->rank == now.rank;
  if (owned && !(owner_->host == now.host && owner_->pid == now.pid) && now.begin < owner_->end &&
      owner_->begin < now.end) {
    leave_out(process, "is of rank " + std::to_string(*process.rank) + " of the same run as " + owner_->path +
                           ", and is left out (keep one run per directory)");
    return;
  }
  if (owns && (!owned || owner_->end < now.end)) owner_ = now;
  last_ = std::move(now);
}

}  // namespace culprit::merge
