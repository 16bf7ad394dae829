// Keeps summaries of processes in sorted runs (docs/algorithms.md 16): 4096 at a time are sorted into
// canonical order, packed as differences and spilled; rank 0 gets all ranks' runs in pieces of 1 MiB and
// merges them by a heap (process_table.cpp). Memory: one run, and a block of 4 KiB of each (docs/scaling.md).
#include "merge/input/process_runs.hpp"

#include "cct/message.hpp"
#include "merge/input/collectively.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace culprit::merge {
namespace {

constexpr int kRunsTag = 204;

/// Large enough for a network's full speed.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

void send(exchange::Communicator& comm, const PackedRuns& runs, std::exception_ptr& failure) {
  exchange::Bytes piece;
  for (std::uint64_t at = 0; at < runs.bytes.size(); at += piece.size()) {
    piece.resize(std::min(kPiece, runs.bytes.size() - at));
    try {
      runs.bytes.read(at, piece);
    } catch (const std::exception&) {
      failure = std::current_exception();
      comm.send(0, kRunsTag, {});  // no more will come
      return;
    }
    comm.send(0, kRunsTag, piece);
  }
}

/// What cannot be kept is received nevertheless: the sender waits for that.
void receive(exchange::Communicator& comm, int from, std::uint64_t bytes, storage::SpilledBytes& into,
             std::exception_ptr& failure) {
  for (std::uint64_t at = 0; at < bytes;) {
    const exchange::Bytes piece = comm.receive(from, kRunsTag);
    if (piece.empty()) return;
    at += piece.size();
    try {
      if (!failure) into.append(piece);
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  }
}

}  // namespace

bool ProcessCursor::next() {
  if (at_ >= end_) return false;
  std::uint32_t size = 0;
  bytes_->read(at_, std::as_writable_bytes(std::span(&size, 1)));
  packed_.resize(size);
  bytes_->read(at_ + kPackedSize, packed_);
  unpack(packed_, *shared_, process_);
  at_ += kPackedSize + size;
  return true;
}

void ProcessRuns::add(ProcessSummary&& process) {
  pending_.push_back(std::move(process));
  if (pending_.size() >= most_) pack();
}

void ProcessRuns::pack() {
  if (pending_.empty()) return;
  std::ranges::sort(pending_, canonically_before);
  packer_.begin();
  database::Encoder packed;
  for (const ProcessSummary& process : pending_) {
    packer_.add(process, packed);
    runs_.bytes.append(packed.bytes());
    packed.clear();
  }
  runs_.ends.push_back(runs_.bytes.size());
  pending_.clear();
}

PackedRuns ProcessRuns::take() {
  pack();
  pending_.shrink_to_fit();
  runs_.shared = packer_.shared();
  return std::move(runs_);
}

std::vector<PackedRuns> gather(exchange::Communicator& comm, Summarizer& summarizer, PackedRuns&& mine,
                               storage::Spill& spill) {
  std::vector<PackedRuns> all;
  std::exception_ptr failure;
  if (comm.rank() != 0) {
    cct::MessageWriter message;
    summarizer.write(message, mine.shared);
    message.values(mine.ends);
    comm.send(0, kRunsTag, message.take());
    send(comm, mine, failure);
  } else {
    all.push_back(std::move(mine));
    for (int rank = 1; rank < comm.size(); ++rank) {
      const exchange::Bytes message = comm.receive(rank, kRunsTag);
      cct::MessageReader reader(message);
      PackedRuns& theirs = all.emplace_back(spill);
      theirs.shared = summarizer.read(reader);
      theirs.ends = reader.values<std::uint64_t>();
      receive(comm, rank, theirs.ends.empty() ? 0 : theirs.ends.back(), theirs.bytes, failure);
    }
  }
  collectively(comm, [&] {
    if (failure) std::rethrow_exception(failure);
  });
  return all;
}

}  // namespace culprit::merge
