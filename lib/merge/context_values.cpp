#include "merge/context_values.hpp"

#include <stdexcept>

namespace culprit::merge {

using database::ContextId;

namespace {

/// Seven bits per byte, low ones first; the high bit says that more follow.
void put(exchange::Bytes& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>(value | 0x80));
  bytes.push_back(static_cast<std::byte>(value));
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
    : ranges_(std::move(ranges)), outgoing_(ranges_.size() - 1) {}

// Per thread and rank: location + 1, then for each context: its distance from the one before (from the
// range's first, plus one), the number of its metrics, and each metric and value; 0 ends the thread.
void ContextValues::add(std::uint32_t location, const SparseRows& inclusive, std::size_t metrics) {
  std::size_t rank = 0;
  bool open = false;
  ContextId before = 0;
  inclusive.ascending([&](std::size_t row) {
    const auto context = static_cast<ContextId>(row);
    const std::uint64_t* values = inclusive[row];
    std::size_t present = 0;
    for (std::size_t m = 0; m < metrics; ++m) present += values[m] != 0 ? 1 : 0;
    if (present == 0) return;
    while (context >= ranges_[rank + 1]) {
      if (open) put(outgoing_[rank], 0);
      open = false;
      ++rank;
    }
    exchange::Bytes& bytes = outgoing_[rank];
    if (!open) {
      put(bytes, std::uint64_t{location} + 1);
      before = ranges_[rank];
      open = true;
      put(bytes, std::uint64_t{context} - before + 1);
    } else {
      put(bytes, std::uint64_t{context} - before);
    }
    before = context;
    put(bytes, present);
    for (std::size_t m = 0; m < metrics; ++m) {
      if (values[m] == 0) continue;
      put(bytes, m);
      put(bytes, values[m]);
    }
  });
  if (open) put(outgoing_[rank], 0);
}

std::vector<std::vector<database::Value>> ContextValues::exchange(exchange::Communicator& comm) {
  const auto here = static_cast<std::size_t>(comm.rank());
  const ContextId begin = ranges_[here];
  const std::size_t count = ranges_[here + 1] - begin;
  std::vector<std::vector<database::Value>> lists(count);
  for (const exchange::Bytes& bytes : comm.all_to_all(std::move(outgoing_))) {
    Cursor cursor(bytes);
    while (!cursor.done()) {
      const auto location = static_cast<std::uint32_t>(cursor.get() - 1);
      std::uint64_t at = 0;
      bool first = true;
      for (std::uint64_t step = cursor.get(); step != 0; step = cursor.get()) {
        at += first ? step - 1 : step;
        first = false;
        std::vector<database::Value>& list = lists.at(at);
        for (std::uint64_t left = cursor.get(); left != 0; --left) {
          const auto metric = static_cast<std::uint32_t>(cursor.get());
          list.push_back({.index = location, .metric = metric, .value = cursor.get()});
        }
      }
    }
  }
  outgoing_.assign(ranges_.size() - 1, {});
  return lists;
}

}  // namespace culprit::merge
