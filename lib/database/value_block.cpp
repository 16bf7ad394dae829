#include "database/value_block.hpp"

#include <algorithm>

namespace culprit::database {
namespace {

/// The values from `first` on that share its index.
std::span<const Value> group_from(std::span<const Value> values, std::size_t first) {
  std::size_t last = first + 1;
  while (last < values.size() && values[last].index == values[first].index) ++last;
  return values.subspan(first, last - first);
}

bool same_metrics(std::span<const Value> a, std::span<const Value> b) {
  return std::ranges::equal(a, b, {}, &Value::metric, &Value::metric);
}

void check_order(std::span<const Value> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].value == 0) throw std::invalid_argument("a zero in a list of values");
    if (i == 0) continue;
    const Value& before = values[i - 1];
    const bool ascending = before.index < values[i].index ||
                           (before.index == values[i].index && before.metric < values[i].metric);
    if (!ascending) throw std::invalid_argument("a list of values out of order");
  }
}

}  // namespace

void encode_values(std::span<const Value> values, Encoder& into) {
  check_order(values);
  std::span<const Value> previous;
  std::uint64_t next_index = 0;
  for (std::size_t first = 0; first < values.size();) {
    const std::span<const Value> group = group_from(values, first);
    into.put_varint(group.front().index - next_index);
    next_index = std::uint64_t{group.front().index} + 1;
    if (same_metrics(group, previous)) {
      into.put_varint(0);
    } else {
      into.put_varint(group.size());
      std::uint64_t next_metric = 0;
      for (const Value& value : group) {
        into.put_varint(value.metric - next_metric);
        next_metric = std::uint64_t{value.metric} + 1;
      }
    }
    for (const Value& value : group) into.put_varint(value.value);
    previous = group;
    first += group.size();
  }
}

namespace {

/// Adds a gap to a running index; the sum must stay below `bound`.
std::uint32_t advance(std::uint64_t next, std::uint64_t gap, std::uint64_t bound, const Decoder& from) {
  if (next >= bound || gap >= bound - next) from.fail("refers to something that does not exist");
  return static_cast<std::uint32_t>(next + gap);
}

}  // namespace

std::vector<Value> decode_values(ByteSpan block, std::uint32_t count, const ValueBounds& bounds) {
  Decoder from(block, "a block of values");
  if (count > block.size()) from.fail("claims more than it holds");
  std::vector<Value> values;
  values.reserve(count);
  std::vector<std::uint32_t> metrics;
  std::uint64_t next_index = 0;
  while (from.remaining() > 0) {
    const std::uint32_t index = advance(next_index, from.get_varint(), bounds.indices, from);
    next_index = std::uint64_t{index} + 1;
    if (const std::uint64_t size = from.get_varint(); size > 0) {
      if (size > from.remaining()) from.fail("claims more than it holds");
      metrics.clear();
      std::uint64_t next_metric = 0;
      for (std::uint64_t i = 0; i < size; ++i) {
        metrics.push_back(advance(next_metric, from.get_varint(), bounds.metrics, from));
        next_metric = std::uint64_t{metrics.back()} + 1;
      }
    }
    if (metrics.empty()) from.fail("repeats metrics it never named");
    if (metrics.size() > count - values.size()) from.fail("holds more values than its index says");
    for (const std::uint32_t metric : metrics) {
      values.push_back({index, metric, from.get_varint()});
      if (values.back().value == 0) from.fail("holds a zero");
    }
  }
  if (values.size() != count) from.fail("holds fewer values than its index says");
  return values;
}

}  // namespace culprit::database
