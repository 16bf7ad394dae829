#include "merge/context_values.hpp"

#include "cct/message.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

namespace culprit::merge {

using database::ContextId;

namespace {

constexpr std::size_t kMaxVarint = 10;

/// Seven bits per byte, low ones first; the high bit says that more follow. Returns the end.
std::byte* put(std::byte* at, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<std::byte>(value | 0x80);
  *at++ = static_cast<std::byte>(value);
  return at;
}

class Cursor {
 public:
  explicit Cursor(const exchange::Bytes& bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  [[nodiscard]] bool done() const { return at_ == end_; }
  std::uint64_t get() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at_ == end_) throw std::runtime_error("exchanging values: a message ends early");
      const auto byte = static_cast<std::uint64_t>(*at_++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
};

}  // namespace

std::vector<ContextId> context_ranges(std::size_t contexts, int ranks) {
  std::vector<ContextId> first;
  const auto parts = static_cast<std::size_t>(ranks);
  for (std::size_t r = 0; r <= parts; ++r) first.push_back(static_cast<ContextId>(contexts * r / parts));
  return first;
}

ContextValues::ContextValues(std::vector<ContextId> ranges)
    : ranges_(std::move(ranges)), counts_(ranges_.back()) {
  for (std::size_t rank = 0; rank + 1 < ranges_.size(); ++rank) {
    first_block_.push_back(blocks_.size());
    for (ContextId begin = ranges_[rank]; begin < ranges_[rank + 1]; begin += kBlock) {
      blocks_.push_back({.begin = begin, .end = std::min(begin + kBlock, ranges_[rank + 1]), .packed = {}});
    }
  }
  first_block_.push_back(blocks_.size());
}

// Per thread and block: location, then for each context its distance from the one before plus one (from the
// block's first: plus one), the number of its metrics, and each metric and value; 0 ends the thread.
void ContextValues::add(std::uint32_t location, const SparseRows& inclusive, std::size_t metrics) {
  scratch_.resize((metrics * 2 + 2) * kMaxVarint * (kBlock + 2));
  auto block = blocks_.begin();
  std::byte* at = nullptr;
  ContextId next = 0;
  inclusive.ascending([&](std::size_t row) {
    const std::uint64_t* values = inclusive[row];
    std::uint32_t present = 0;
    for (std::size_t m = 0; m < metrics; ++m) present += values[m] != 0 ? 1 : 0;
    if (present == 0) return;
    if (row >= block->end) {
      flush(*block, at);
      at = nullptr;
      while (row >= block->end) ++block;
    }
    if (at == nullptr) {
      at = put(scratch_.data(), location);
      next = block->begin;
    }
    at = put(at, row - next + 1);
    next = static_cast<ContextId>(row + 1);
    at = put(at, present);
    for (std::size_t m = 0; m < metrics; ++m) {
      if (values[m] == 0) continue;
      at = put(at, m);
      at = put(at, values[m]);
    }
    counts_[row] += present;
  });
  if (at != nullptr) flush(*block, at);
}

void ContextValues::flush(Block& block, std::byte* end) {
  if (end == nullptr) return;
  end = put(end, 0);
  block.packed.insert(block.packed.end(), scratch_.data(), end);
}

/// Counts of the rank's range, then its blocks. The blocks are given up as they are packed.
exchange::Bytes ContextValues::message_to(std::size_t rank) {
  cct::MessageWriter message;
  message.values(
      std::span<const std::uint32_t>(counts_).subspan(ranges_[rank], ranges_[rank + 1] - ranges_[rank]));
  for (std::size_t b = first_block_[rank]; b < first_block_[rank + 1]; ++b) {
    message.values(std::exchange(blocks_[b].packed, {}));
  }
  return message.take();
}

namespace {

/// Adds one rank's values in one block to the block's lists.
void unpack(const exchange::Bytes& bytes, std::span<std::vector<database::Value>> lists) {
  Cursor cursor(bytes);
  while (!cursor.done()) {
    const auto location = static_cast<std::uint32_t>(cursor.get());
    std::uint64_t next = 0;
    for (std::uint64_t step = cursor.get(); step != 0; step = cursor.get()) {
      next += step;
      if (next > lists.size()) throw std::runtime_error("exchanging values: a context out of range");
      std::vector<database::Value>& list = lists[next - 1];
      for (std::uint64_t left = cursor.get(); left != 0; --left) {
        const auto metric = static_cast<std::uint32_t>(cursor.get());
        list.push_back({.index = location, .metric = metric, .value = cursor.get()});
      }
    }
  }
}

}  // namespace

std::vector<std::vector<database::Value>> ContextValues::exchange(exchange::Communicator& comm) {
  const auto here = static_cast<std::size_t>(comm.rank());
  std::vector<exchange::Bytes> outgoing;
  for (std::size_t rank = 0; rank + 1 < ranges_.size(); ++rank) outgoing.push_back(message_to(rank));
  const std::vector<exchange::Bytes> incoming = comm.all_to_all(std::move(outgoing));
  std::vector<std::unique_ptr<cct::MessageReader>> readers;
  std::vector<std::size_t> expected(ranges_[here + 1] - ranges_[here], 0);
  for (const exchange::Bytes& bytes : incoming) {
    readers.push_back(std::make_unique<cct::MessageReader>(bytes));
    const auto counts = readers.back()->values<std::uint32_t>();
    for (std::size_t x = 0; x < expected.size(); ++x) expected[x] += counts.at(x);
  }
  std::vector<std::vector<database::Value>> lists(expected.size());
  for (std::size_t b = first_block_[here]; b < first_block_[here + 1]; ++b) {
    const std::size_t begin = blocks_[b].begin - ranges_[here];
    const std::size_t size = blocks_[b].end - blocks_[b].begin;
    for (std::size_t x = begin; x < begin + size; ++x) lists[x].reserve(expected[x]);
    for (const auto& reader : readers)
      unpack(reader->values<std::byte>(), std::span(lists).subspan(begin, size));
  }
  std::ranges::fill(counts_, 0);
  return lists;
}

}  // namespace culprit::merge
