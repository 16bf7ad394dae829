#include "merge/input/process_table.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace culprit::merge {

ProcessTable::ProcessTable(std::unique_ptr<storage::Spill> spill, std::vector<PackedRuns> runs,
                           const std::function<bool(const ProcessSummary&)>& keep)
    : packed_(new Packed(std::move(spill))) {
  merge(std::vector<PackedRuns>(std::move(runs)), keep);  // gone before the spill, whatever is thrown
}

void ProcessTable::merge(const std::vector<PackedRuns>& runs,
                         const std::function<bool(const ProcessSummary&)>& keep) {
  std::vector<ProcessCursor> cursors;
  for (const PackedRuns& some : runs) {
    std::uint64_t begin = 0;
    for (const std::uint64_t end : some.ends) {
      ProcessCursor cursor(some.bytes, std::exchange(begin, end), end, some.shared);
      if (cursor.next()) cursors.push_back(std::move(cursor));
    }
  }
  const auto later = [&](std::size_t a, std::size_t b) {
    return canonically_before(cursors[b].process(), cursors[a].process());
  };
  std::vector<std::size_t> heap(cursors.size());  // the one at the first process on top
  std::iota(heap.begin(), heap.end(), std::size_t{0});
  std::ranges::make_heap(heap, later);
  ProcessPacker packer;
  database::Encoder packed;
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, later);
    ProcessCursor& cursor = cursors[heap.back()];
    if (keep(cursor.process())) {
      packed.clear();
      packer.add(cursor.process(), packed);
      packed_->bytes.append(packed.bytes());
      count(cursor.process());
    }
    if (cursor.next()) {
      std::ranges::push_heap(heap, later);
    } else {
      heap.pop_back();
    }
  }
  shared_ = packer.shared();
}

void ProcessTable::count(const ProcessSummary& process) {
  ++size_;
  threads_ += process.threads.size();
  cells_ += process.cells;
  ranked_ = ranked_ || process.rank;
}

ProcessTable::Iterator ProcessTable::begin() const {
  if (!packed_) return Iterator({});
  return Iterator(ProcessCursor(packed_->bytes, 0, packed_->bytes.size(), shared_));
}

}  // namespace culprit::merge
