// Encodes rows of values that are sparse (docs/formats.md, "Value lists"). Indices: all, a bitmap or gaps,
// packed or not, whichever is shortest. Of a column it is tried first whether it is zero, equals an earlier
// one, or is the difference of two, as metrics often are; then whether its differences to the first are
// smaller. A trial ends at the first value that differs. A reader forms a column when it is asked for.
#include "database/value_list.hpp"

#include "database/packed.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace culprit::database {
namespace {

enum Indices : std::uint8_t { kAll = 0, kBitmap = 1, kGaps = 2, kPackedGaps = 3 };
enum Form : std::uint8_t { kZeros = 0, kPacked = 1, kEqual = 2, kDifference = 3, kNear = 4 };

constexpr std::size_t bitmap_size(std::uint32_t universe) {
  return (std::size_t{universe} + 7) / 8;
}

constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return bytes::zigzag(static_cast<std::int64_t>(difference));
}
constexpr std::uint64_t unzigzag(std::uint64_t coded) {
  return static_cast<std::uint64_t>(bytes::unzigzag(coded));
}

void put_bitmap(std::span<const std::uint32_t> indices, std::uint32_t universe, Encoder& into) {
  std::byte* bits = into.extend(bitmap_size(universe));
  for (const std::uint32_t index : indices) bits[index / 8] |= std::byte{1} << (index % 8);
}

using Column = std::span<const std::uint64_t>;
using Columns = std::span<const Column>;

bool is_zero(Column column) {
  constexpr std::size_t kAtOnce = 16;  // without a branch for each
  std::size_t i = 0;
  for (; i + kAtOnce <= column.size(); i += kAtOnce) {
    std::uint64_t any = 0;
    for (std::size_t j = 0; j < kAtOnce; ++j) any |= column[i + j];
    if (any != 0) return false;
  }
  return std::ranges::all_of(column.subspan(i), [](std::uint64_t value) { return value == 0; });
}

bool is_difference(Column of, Column a, Column b) {
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i] != a[i] - b[i]) return false;
  }
  return true;
}

/// Writes column `c` as a column equal to an earlier one or the difference of two, if it is one.
bool put_derived(Columns columns, std::size_t c, Encoder& into) {
  for (std::size_t a = 0; a < c; ++a) {
    if (!std::ranges::equal(columns[c], columns[a])) continue;
    into.put<std::uint8_t>(kEqual);
    into.put_varint(a);
    return true;
  }
  for (std::size_t a = 0; a < c; ++a) {
    for (std::size_t b = 0; b < c; ++b) {
      if (a == b || !is_difference(columns[c], columns[a], columns[b])) continue;
      into.put<std::uint8_t>(kDifference);
      into.put_varint(a);
      into.put_varint(b);
      return true;
    }
  }
  return false;
}

/// Whether the differences to `base` are shorter than the numbers: judged by some of them.
bool is_near(Column column, Column base) {
  constexpr std::size_t kJudged = 64;
  const std::size_t step = std::max<std::size_t>(1, column.size() / kJudged);
  std::uint64_t near = 0;
  std::uint64_t plain = 0;
  for (std::size_t i = 0; i < column.size(); i += step) {
    near += bits_of(zigzag(column[i] - base[i]));
    plain += bits_of(column[i]);
  }
  return near < plain;
}

}  // namespace

void ValueListWriter::put_indices(std::span<const std::uint32_t> indices, std::uint32_t universe,
                                  Encoder& into) {
  into.put_varint(indices.size());
  if (indices.size() == universe) return into.put<std::uint8_t>(kAll);
  numbers_.resize(indices.size());
  std::size_t plain = 0;
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    numbers_[i] = indices[i] - next;
    plain += bytes::varint_size(numbers_[i]);
    next = indices[i] + 1;
  }
  packed_.clear();
  put_packed(numbers_, packed_);
  if (bitmap_size(universe) <= std::min(plain, packed_.size())) {
    into.put<std::uint8_t>(kBitmap);
    put_bitmap(indices, universe, into);
  } else if (packed_.size() < plain) {
    into.put<std::uint8_t>(kPackedGaps);
    into.append(packed_.bytes());
  } else {
    into.put<std::uint8_t>(kGaps);
    for (const std::uint64_t gap : numbers_) into.put_varint(gap);
  }
}

void ValueListWriter::put_column(const ValueRows& rows, std::size_t c, Encoder& into) {
  const Column column = rows.columns[c];
  if (is_zero(column)) return into.put<std::uint8_t>(kZeros);
  if (put_derived(rows.columns, c, into)) return;
  if (c > 0 && is_near(column, rows.columns[0])) {
    numbers_.resize(column.size());
    for (std::size_t i = 0; i < column.size(); ++i) numbers_[i] = zigzag(column[i] - rows.columns[0][i]);
    into.put<std::uint8_t>(kNear);
    into.put_varint(0);
    return put_packed(numbers_, into);
  }
  into.put<std::uint8_t>(kPacked);
  put_packed(column, into);
}

void ValueListWriter::write(const ValueRows& rows, std::uint32_t universe, Encoder& into) {
  put_indices(rows.indices, universe, into);
  for (std::size_t c = 0; c < rows.columns.size(); ++c) put_column(rows, c, into);
}

void ValueListReader::read_indices(Decoder& from, std::uint32_t universe) {
  const std::uint64_t count = from.get_varint();
  const auto form = from.get<std::uint8_t>();
  if (count > universe || (form == kAll && count != universe)) from.fail("claims more than there is");
  indices_.clear();
  if (form == kAll) {
    indices_.resize(count);
    std::iota(indices_.begin(), indices_.end(), 0U);
  } else if (form == kBitmap) {
    const ByteSpan bits = from.take(bitmap_size(universe));
    for (std::uint32_t byte = 0; byte < bits.size(); ++byte) {
      for (auto left = static_cast<unsigned>(bits[byte]); left != 0; left &= left - 1) {
        indices_.push_back(byte * 8 + static_cast<unsigned>(std::countr_zero(left)));
      }
    }
    if (indices_.size() != count || (count != 0 && indices_.back() >= universe)) {
      from.fail("does not hold as many rows as it says");
    }
  } else if (form == kGaps || form == kPackedGaps) {
    if (form == kPackedGaps) get_packed(from, count, gaps_);
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t gap = form == kGaps ? from.get_varint() : gaps_[i];
      if (next >= universe || gap >= universe - next) from.fail("refers to something that does not exist");
      indices_.push_back(static_cast<std::uint32_t>(next + gap));
      next += gap + 1;
    }
  } else {
    from.fail("states its rows in an unknown way");
  }
}

void ValueListReader::read(ByteSpan list, std::uint32_t universe, std::size_t metrics) {
  Decoder from(list, "a list of values");
  read_indices(from, universe);
  columns_.resize(metrics);
  for (std::size_t c = 0; c < metrics; ++c) {
    Column& column = columns_[c];
    column.ready = false;
    column.form = from.get<std::uint8_t>();
    if (column.form > kNear) from.fail("states a column in an unknown way");
    const auto earlier = [&] {
      const std::uint64_t number = from.get_varint();
      if (number >= c) from.fail("has a column that follows from a later one");
      return static_cast<std::uint32_t>(number);
    };
    if (column.form >= kEqual) column.a = earlier();
    if (column.form == kDifference) column.b = earlier();
    if (column.form != kPacked && column.form != kNear) continue;
    const std::size_t before = from.remaining();
    skip_packed(from, indices_.size());
    column.packed = list.subspan(list.size() - before, before - from.remaining());
  }
  from.expect_end();
}

void ValueListReader::form(Column& column) {
  column.ready = true;
  if (column.form == kZeros) return column.values.assign(indices_.size(), 0);
  if (column.form == kPacked || column.form == kNear) {
    Decoder from(column.packed, "a list of values");
    get_packed(from, indices_.size(), column.values);
    if (column.form == kPacked) return;
  } else {
    column.values.resize(indices_.size());
  }
  // Of earlier columns, so this ends.
  Column& a = columns_[column.a];
  if (!a.ready) form(a);
  if (column.form == kEqual) {
    std::ranges::copy(a.values, column.values.begin());
  } else if (column.form == kNear) {
    for (std::size_t i = 0; i < column.values.size(); ++i) {
      column.values[i] = a.values[i] + unzigzag(column.values[i]);
    }
  } else {
    Column& b = columns_[column.b];
    if (!b.ready) form(b);
    for (std::size_t i = 0; i < column.values.size(); ++i) column.values[i] = a.values[i] - b.values[i];
  }
}

std::span<const std::uint64_t> ValueListReader::column(std::size_t metric) {
  Column& asked = columns_[metric];
  if (!asked.ready) form(asked);
  return asked.values;
}

}  // namespace culprit::database
